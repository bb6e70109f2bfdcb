// What the driver answers when it is used wrongly: the error of the real one, and no harm done.
#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

class Misuse : public CudaTest {};

constexpr const char *kNonsense = ".version 6.3\n.target sm_75\n.address_size 64\n.visible nonsense\n";

TEST_F(Misuse, Memory) {
  const Address device = allocate(64);
  void *host = nullptr;
  ASSERT_EQ(cu("cuMemHostAlloc", &host, size_t{64}, 0u), 0);
  Address other = 0;
  unsigned plain[4] = {};
  const auto host_address = reinterpret_cast<Address>(host);
  expect_all({
      {"no bytes", 1, [&] { return cu("cuMemAlloc_v2", &other, size_t{0}); }},
      {"too many bytes", 2, [&] { return cu("cuMemAlloc_v2", &other, size_t{1} << 50); }},
      {"no result", 1, [&] { return cu("cuMemAlloc_v2", static_cast<Address *>(nullptr), size_t{1}); }},
      {"free: inside of an allocation", 1, [&] { return cu("cuMemFree_v2", device + 4); }},
      {"free: host memory", 1, [&] { return cu("cuMemFree_v2", host_address); }},
      {"free: null", 0, [&] { return cu("cuMemFree_v2", Address{0}); }},
      {"free host: device memory", 1, [&] { return cu("cuMemFreeHost", reinterpret_cast<void *>(device)); }},
      {"free host", 0, [&] { return cu("cuMemFreeHost", host); }},
      {"free host: again", 1, [&] { return cu("cuMemFreeHost", host); }},
      {"unregister: never registered", 713,
       [&] { return cu("cuMemHostUnregister", static_cast<void *>(plain)); }},
      {"device pointer of pageable memory", 1,
       [&] { return cu("cuMemHostGetDevicePointer_v2", &other, static_cast<void *>(plain), 0u); }},
      {"managed: no such attachment", 1, [&] { return cu("cuMemAllocManaged", &other, size_t{64}, 9u); }},
      {"advice about device memory", 1, [&] { return cu("cuMemAdvise", device, size_t{64}, 1, 0); }},
      {"free", 0, [&] { return cu("cuMemFree_v2", device); }},
      {"copy to freed memory", 1,
       [&] { return cu("cuMemcpyHtoD_v2", device, static_cast<const void *>(plain), sizeof plain); }},
      {"fill of freed memory", 1,
       [&] { return cu("cuMemsetD8_v2", device, static_cast<unsigned char>(0), size_t{1}); }},
  });
}

TEST_F(Misuse, Handles) {
  const Handle on = stream(), when = event();
  Handle found = nullptr, graph = nullptr, node = nullptr;
  int value = 0;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
  ASSERT_EQ(cu("cuGraphAddEmptyNode", &node, graph, static_cast<const Handle *>(nullptr), size_t{0}), 0);
  ASSERT_EQ(cu("cuStreamDestroy_v2", on), 0);
  ASSERT_EQ(cu("cuEventDestroy_v2", when), 0);
  const Address values = allocate(64);
  expect_all({
      {"launch on a destroyed stream", 400, [&] { return launch("append", on, values, 1u); }, true},
      {"destroy a stream twice", 400, [&] { return cu("cuStreamDestroy_v2", on); }, true},
      {"record a destroyed event", 400, [&] { return cu("cuEventRecord", when, Handle{}); }, true},
      {"wait for a destroyed event", 400, [&] { return cu("cuStreamWaitEvent", Handle{}, when, 0u); }, true},
      {"destroy an event twice", 400, [&] { return cu("cuEventDestroy_v2", when); }, true},
      {"a kernel that is not there", 500,
       [&] { return cu("cuModuleGetFunction", &found, module, "absent"); }},
      {"function attribute: none such", 1,
       [&] { return cu("cuFuncGetAttribute", &value, 99, function("store")); }},
      {"more shared memory than there is", 1,
       [&] { return cu("cuFuncSetAttribute", function("store"), 8, 1 << 20); }},
      {"read-only function attribute", 1, [&] { return cu("cuFuncSetAttribute", function("store"), 4, 32); }},
      {"a node as a graph", 1, [&] { return cu("cuGraphDestroy", node); }, true},
      {"a graph as an executable", 1, [&] { return cu("cuGraphLaunch", graph, Handle{}); }, true},
      {"destroy a graph", 0, [&] { return cu("cuGraphDestroy", graph); }},
      {"its node is gone with it", 1, [&] { return cu("cuGraphDestroyNode", node); }, true},
      {"text that is no PTX", 218,
       [&] { return cu("cuModuleLoadData", &found, static_cast<const void *>(kNonsense)); }},
      {"no image", 1, [&] { return cu("cuModuleLoadData", &found, static_cast<const void *>(nullptr)); }},
      {"no file", 301, [&] { return cu("cuModuleLoad", &found, "/nowhere.ptx"); }},
  });
}

// Each in a process of its own: what comes before cuInit, or an environment.
void before_init() {
  int value = 0;
  Handle handle = nullptr;
  Address address = 0;
  std::_Exit(wrong_rows({
      {"version", 0, [&] { return cu("cuDriverGetVersion", &value); }},
      {"count", 3, [&] { return cu("cuDeviceGetCount", &value); }},
      {"device", 3, [&] { return cu("cuDeviceGet", &value, 0); }},
      {"current context", 3, [&] { return cu("cuCtxGetCurrent", &handle); }},
      {"create", 3, [&] { return cu("cuCtxCreate_v2", &handle, 0u, 0); }},
      {"allocate", 3, [&] { return cu("cuMemAlloc_v2", &address, size_t{4}); }},
      {"graph", 3, [&] { return cu("cuGraphCreate", &handle, 0u); }},
      {"flags", 1, [&] { return cu("cuInit", 1u); }},
      {"init", 0, [&] { return cu("cuInit", 0u); }},
      {"allocate without a context", 201, [&] { return cu("cuMemAlloc_v2", &address, size_t{4}); }},
  }));
}

TEST(MisuseProcess, BeforeInit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(before_init(), testing::ExitedWithCode(0), "");
}

// A context of each of two devices; `at` makes one current.
struct TwoDevices {
  Handle contexts[2] = {}, modules[2] = {};
  Address values[2] = {};
  std::string text = kernels_text();

  int at(int device) { return cu("cuCtxSetCurrent", contexts[device]); }
  int make(int device) {
    const int failed = cu("cuCtxCreate_v2", &contexts[device], 0u, device) |
                       cu("cuModuleLoadData", &modules[device], static_cast<const void *>(text.c_str())) |
                       cu("cuMemAlloc_v2", &values[device], size_t{64}) |
                       cu("cuMemsetD8_v2", values[device], static_cast<unsigned char>(0), size_t{64});
    return failed;
  }
  // Of the device's module, in the current context.
  int append(int device, Address to, unsigned value) {
    Handle kernel = nullptr;
    if (const int failed = cu("cuModuleGetFunction", &kernel, modules[device], "append")) return failed;
    void *parameters[] = {&to, &value};
    return cu("cuLaunchKernel", kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, Handle{},
              static_cast<void **>(parameters), static_cast<void **>(nullptr));
  }
  int first_value(Address from, unsigned wanted) {
    unsigned got[2] = {};
    const int failed = cu("cuMemcpyDtoH_v2", static_cast<void *>(got), from, sizeof got);
    return failed ? failed : got[1] == wanted ? 0 : -1;
  }
};

void two_devices() {
  setenv("EGPU_SIM_DEVICES", "2", 1);
  TwoDevices two;
  int value = -1;
  Handle when = nullptr, popped = nullptr;
  std::_Exit(wrong_rows({
      {"init", 0, [&] { return cu("cuInit", 0u); }},
      {"count", 0, [&] { return cu("cuDeviceGetCount", &value) | (value < 2); }},
      {"no further device", 101, [&] { return cu("cuCtxCreate_v2", &two.contexts[0], 0u, value); }},
      {"one", 0, [&] { return two.make(0); }},
      {"two", 0, [&] { return two.make(1); }},
      {"where we are", 0, [&] { return cu("cuCtxGetDevice", &value) | (value != 1); }},
      {"own memory", 0, [&] { return two.append(1, two.values[1], 41); }},
      {"copy to the other", 0,
       [&] {
         return cu("cuMemcpyPeer", two.values[0], two.contexts[0], two.values[1], two.contexts[1],
                   size_t{64});
       }},
      {"it has arrived", 0, [&] { return two.first_value(two.values[0], 41); }},
      {"a function of the other's context", 400, [&] { return two.append(0, two.values[0], 1); }},
      {"event of this context", 0, [&] { return cu("cuEventCreate", &when, 0u); }},
      {"access is not on", 705, [&] { return cu("cuCtxDisablePeerAccess", two.contexts[0]); }},
      {"to itself", 201, [&] { return cu("cuCtxEnablePeerAccess", two.contexts[1], 0u); }},
      {"access", 0, [&] { return cu("cuCtxEnablePeerAccess", two.contexts[0], 0u); }},
      {"access again", 704, [&] { return cu("cuCtxEnablePeerAccess", two.contexts[0], 0u); }},
      {"use the other's memory", 0,
       [&] { return two.append(1, two.values[0] + 32, 42) | cu("cuCtxSynchronize"); }},
      {"it has been written", 0, [&] { return two.first_value(two.values[0] + 32, 42); }},
      {"access off", 0, [&] { return cu("cuCtxDisablePeerAccess", two.contexts[0]); }},
      {"pop", 0, [&] { return cu("cuCtxPopCurrent_v2", &popped) | (popped != two.contexts[1]); }},
      {"another context's event", 400, [&] { return two.at(0) | cu("cuEventRecord", when, Handle{}); }},
      {"memory that is not ours", 0, [&] { return two.append(0, two.values[1], 1); }},
      {"faults here", 700, [&] { return cu("cuCtxSynchronize"); }},
      {"and everywhere", 700, [&] { return two.at(1) | cu("cuCtxSynchronize"); }},
  }));
}

TEST(MisuseProcess, TwoDevices) {
  if (is_real_driver()) {
    int count = 0;
    ASSERT_EQ(cu("cuInit", 0u), 0);
    ASSERT_EQ(cu("cuDeviceGetCount", &count), 0);
    if (count < 2) GTEST_SKIP() << "one device only";
  }
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(two_devices(), testing::ExitedWithCode(0), "");
}

void older_device() {
  setenv("EGPU_SIM_CC", "8.6", 1);
  int major = 0, minor = 0;
  Handle context = nullptr, module = nullptr;
  std::string text = kernels_text(), newer = text;
  newer.replace(newer.find("6.3"), 3, "8.0");
  newer.replace(newer.find("sm_75"), 5, "sm_90");
  std::_Exit(wrong_rows({
      {"init", 0, [&] { return cu("cuInit", 0u); }},
      {"major", 0, [&] { return cu("cuDeviceGetAttribute", &major, 75, 0) | (major != 8); }},
      {"minor", 0, [&] { return cu("cuDeviceGetAttribute", &minor, 76, 0) | (minor != 6); }},
      {"context", 0, [&] { return cu("cuCtxCreate_v2", &context, 0u, 0); }},
      {"PTX for an older one", 0,
       [&] { return cu("cuModuleLoadData", &module, static_cast<const void *>(text.c_str())); }},
      {"PTX for a newer one", 218,
       [&] { return cu("cuModuleLoadData", &module, static_cast<const void *>(newer.c_str())); }},
  }));
}

TEST(MisuseProcess, ComputeCapability) {
  EGPU_SIMULATED_ONLY("a device's compute capability is the simulator's to choose");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(older_device(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace egpu::sim
