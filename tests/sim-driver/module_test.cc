// Code: modules, functions, libraries, kernels, launches' checks, cuLink.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {
namespace {

using testing::HasSubstr;

class Code : public CudaTest {
 protected:
  Handle library() {
    Handle made = nullptr;
    int *no_options = nullptr;
    void **no_values = nullptr;
    EXPECT_EQ(cu("cuLibraryLoadData", &made, static_cast<const void *>(text.c_str()), no_options, no_values,
                 0u, no_options, no_values, 0u),
              0);
    return made;
  }
  Handle kernel(Handle of, const char *name) {
    Handle made = nullptr;
    EXPECT_EQ(cu("cuLibraryGetKernel", &made, of, name), 0);
    return made;
  }
};

TEST_F(Code, GlobalsHaveTheirAddressesAndInitialValues) {
  Address address = 0;
  size_t size_bytes = 0;
  EXPECT_EQ(cu("cuModuleGetGlobal_v2", &address, &size_bytes, module, "factor"), 0);
  EXPECT_EQ(size_bytes, 4u);
  EXPECT_EQ(read<unsigned>(address), 7u);
  EXPECT_EQ(cu("cuModuleGetGlobal_v2", &address, &size_bytes, module, "table"), 0);
  EXPECT_EQ(size_bytes, 64u);
  EXPECT_EQ(cu("cuModuleGetGlobal_v2", &address, &size_bytes, module, "nothing"), 500);
  EXPECT_EQ(launch("count", nullptr), 0);
  EXPECT_EQ(launch("count", nullptr), 0);
  EXPECT_EQ(cu("cuModuleGetGlobal_v2", &address, &size_bytes, module, "counter"), 0);
  EXPECT_EQ(read<unsigned>(address), 14u);
}

TEST_F(Code, ParametersArePackedAsThePtxSays) {
  const Address out = allocate(8);
  const uint16_t a = 3;
  const uint64_t b = uint64_t{1} << 40;
  struct {
    uint32_t x, y, z;
  } c{10, 1000, 20};
  const uint8_t d = 5;
  EXPECT_EQ(launch("mixed", nullptr, out, a, b, c, d), 0);
  EXPECT_EQ(read<uint64_t>(out), b + 3 + 10 + 20 + 5);

  const Handle mixed = function("mixed");
  const size_t offsets[] = {0, 8, 16, 24, 36}, sizes[] = {8, 2, 8, 12, 1};
  for (size_t i = 0; i < 5; ++i) {
    size_t offset = 0, size_bytes = 0;
    EXPECT_EQ(cu("cuFuncGetParamInfo", mixed, i, &offset, &size_bytes), 0);
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(size_bytes, sizes[i]);
  }
  size_t unused = 0;
  EXPECT_EQ(cu("cuFuncGetParamInfo", mixed, size_t{5}, &unused, &unused), 1);

  // The same, packed by the caller.
  unsigned char packed[64] = {};
  std::memcpy(packed, &out, 8);
  std::memcpy(packed + 8, &a, 2);
  std::memcpy(packed + 16, &b, 8);
  std::memcpy(packed + 24, &c, 12);
  packed[36] = 6;
  size_t packed_bytes = 37;
  void *extra[] = {kParamPointer, packed, kParamSize, &packed_bytes, kParamEnd};
  const auto packed_launch = [&] {
    return cu("cuLaunchKernel", mixed, 1u, 1u, 1u, 1u, 1u, 1u, 0u, static_cast<Handle>(nullptr),
              static_cast<void **>(nullptr), static_cast<void **>(extra));
  };
  EXPECT_EQ(packed_launch(), 0);
  EXPECT_EQ(read<uint64_t>(out), b + 3 + 10 + 20 + 6);
  const std::pair<size_t, int> sizes_and_results[] = {{8, 0},    {36, 0},   {37, 0},
                                                      {38, 701}, {40, 701}, {64, 701}};
  for (const auto &[size_given, expected] : sizes_and_results) {
    packed_bytes = size_given;
    EXPECT_EQ(packed_launch(), expected) << size_given;
  }
}

struct WrongLaunch {
  const char *name, *kernel;
  unsigned grid[3], block[3], shared_bytes;
  int expected;
};

TEST_F(Code, LaunchesThatCannotBeAreRefused) {
  const WrongLaunch table[] = {
      {"right", "count", {1, 1, 1}, {1, 1, 1}, 0, 0},
      {"no blocks", "count", {0, 1, 1}, {1, 1, 1}, 0, 1},
      {"no threads", "count", {1, 1, 1}, {1, 0, 1}, 0, 1},
      {"largest block", "count", {1, 1, 1}, {1024, 1, 1}, 0, 0},
      {"too many threads", "count", {1, 1, 1}, {1025, 1, 1}, 0, 1},
      {"too many in three dimensions", "count", {1, 1, 1}, {32, 33, 1}, 0, 1},
      {"block too deep", "count", {1, 1, 1}, {1, 1, 65}, 0, 1},
      {"grid too high", "count", {1, 65536, 1}, {1, 1, 1}, 0, 1},
      {"within .maxntid", "bounded", {1, 1, 1}, {64, 1, 1}, 0, 0},
      {"over .maxntid", "bounded", {1, 1, 1}, {65, 1, 1}, 0, 1},
      {"48 KB of shared memory", "count", {1, 1, 1}, {1, 1, 1}, 49152, 0},
      {"more shared memory than allowed", "count", {1, 1, 1}, {1, 1, 1}, 49153, 1},
  };
  for (const WrongLaunch &row : table) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(cu("cuLaunchKernel", function(row.kernel), row.grid[0], row.grid[1], row.grid[2], row.block[0],
                 row.block[1], row.block[2], row.shared_bytes, static_cast<Handle>(nullptr),
                 static_cast<void **>(nullptr), static_cast<void **>(nullptr)),
              row.expected);
  }
  EXPECT_EQ(cu("cuCtxSynchronize"), 0);
  // Parameters are needed where the kernel has some.
  EXPECT_EQ(cu("cuLaunchKernel", function("append"), 1u, 1u, 1u, 1u, 1u, 1u, 0u, static_cast<Handle>(nullptr),
               static_cast<void **>(nullptr), static_cast<void **>(nullptr)),
            1);
}

TEST_F(Code, AttributesCanBeSetAndCount) {
  const Handle count = function("count");
  int value = 0;
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int{kMaxDynamicSharedBytes}, count), 0);
  EXPECT_EQ(value, 49152);
  EXPECT_EQ(cu("cuFuncSetAttribute", count, int{kMaxDynamicSharedBytes}, 100000), 0);
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int{kMaxDynamicSharedBytes}, count), 0);
  EXPECT_EQ(value, 100000);
  EXPECT_EQ(cu("cuLaunchKernel", count, 1u, 1u, 1u, 1u, 1u, 1u, 100000u, static_cast<Handle>(nullptr),
               static_cast<void **>(nullptr), static_cast<void **>(nullptr)),
            0);
  EXPECT_EQ(cu("cuFuncSetAttribute", count, int{kMaxDynamicSharedBytes}, 300000), 1);
  EXPECT_EQ(cu("cuFuncSetAttribute", count, int{kRegisters}, 1), 1);
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int{kSharedCarveout}, count), 0);
  EXPECT_EQ(value, -1);
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int{kMaxThreadsPerBlock}, function("bounded")), 0);
  EXPECT_EQ(value, 64);
}

TEST_F(Code, KernelsAreNotFunctionsButCanBeLaunched) {
  const Handle code = library(), append = kernel(code, "append");
  const Address values = allocate(4096);
  EXPECT_EQ(launch_by("cuLaunchKernel", append, nullptr, values, 5u), 0);
  EXPECT_EQ(list(values), std::vector<unsigned>{5});

  const char *name = nullptr;
  Handle handle = nullptr;
  int value = 0;
  EXPECT_EQ(cu("cuFuncGetName", &name, append), 400);
  EXPECT_EQ(cu("cuFuncGetModule", &handle, append), 400);
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, 0, append), 400);
  EXPECT_EQ(cu("cuKernelGetName", &name, append), 0);
  EXPECT_STREQ(name, "append");
  EXPECT_EQ(cu("cuKernelGetLibrary", &handle, append), 0);
  EXPECT_EQ(handle, code);

  Handle as_function = nullptr, of_library = nullptr, of_function = nullptr;
  EXPECT_EQ(cu("cuKernelGetFunction", &as_function, append), 0);
  EXPECT_EQ(cu("cuFuncGetName", &name, as_function), 0);
  EXPECT_STREQ(name, "append");
  EXPECT_EQ(cu("cuKernelGetName", &name, as_function), 400);
  EXPECT_EQ(cu("cuLibraryGetModule", &of_library, code), 0);
  EXPECT_EQ(cu("cuFuncGetModule", &of_function, as_function), 0);
  EXPECT_EQ(of_library, of_function);
  EXPECT_EQ(cu("cuModuleUnload", of_library), 800);

  // What is set on the kernel holds for its function.
  EXPECT_EQ(cu("cuKernelSetAttribute", int{kMaxDynamicSharedBytes}, 60000, append, 0), 0);
  EXPECT_EQ(cu("cuFuncGetAttribute", &value, int{kMaxDynamicSharedBytes}, as_function), 0);
  EXPECT_EQ(value, 60000);

  unsigned count = 0;
  EXPECT_EQ(cu("cuLibraryGetKernelCount", &count, code), 0);
  std::vector<Handle> kernels(count);
  EXPECT_EQ(cu("cuLibraryEnumerateKernels", kernels.data(), count, code), 0);
  EXPECT_THAT(kernels, testing::Contains(append));
  Address address = 0;
  size_t size_bytes = 0;
  EXPECT_EQ(cu("cuLibraryGetGlobal", &address, &size_bytes, code, "factor"), 0);
  EXPECT_EQ(read<unsigned>(address), 7u);
  EXPECT_EQ(cu("cuLibraryGetManaged", &address, &size_bytes, code, "factor"), 500);
  EXPECT_EQ(cu("cuLibraryGetKernel", &handle, code, "nothing"), 500);
  EXPECT_EQ(cu("cuLibraryUnload", code), 0);
}

TEST_F(Code, HandlesOfUnloadedCodeAreRefused) {
  EGPU_SIMULATED_ONLY("a real driver may do anything with them");
  const Handle code = library(), of_library = kernel(code, "append"), of_module = function("append");
  const Address values = allocate(4096);
  EXPECT_EQ(cu("cuLibraryUnload", code), 0);
  EXPECT_EQ(launch_by("cuLaunchKernel", of_library, nullptr, values, 5u), 400);
  EXPECT_EQ(cu("cuModuleUnload", module), 0);
  EXPECT_EQ(launch_by("cuLaunchKernel", of_module, nullptr, values, 5u), 400);
  Handle link = nullptr;
  int *no_options = nullptr;
  void **no_values = nullptr;
  EXPECT_EQ(cu("cuLinkCreate_v2", 0u, no_options, no_values, &link), 0);
  EXPECT_EQ(cu("cuLinkDestroy", link), 0);
  EXPECT_EQ(cu("cuLinkDestroy", link), 400);
}

TEST_F(Code, LinkedPtxIsAnElfImageThatLoads) {
  Handle link = nullptr;
  int *no_options = nullptr;
  void **no_values = nullptr;
  EXPECT_EQ(cu("cuLinkCreate_v2", 0u, no_options, no_values, &link), 0);
  EXPECT_EQ(cu("cuLinkAddData_v2", link, int{kJitPtx}, static_cast<void *>(text.data()), text.size() + 1,
               "kernels", 0u, no_options, no_values),
            0);
  void *cubin = nullptr;
  size_t size_bytes = 0;
  EXPECT_EQ(cu("cuLinkComplete", link, &cubin, &size_bytes), 0);
  ASSERT_GT(size_bytes, text.size());
  EXPECT_EQ(std::memcmp(cubin, "\177ELF", 4), 0);
  std::vector<char> kept(static_cast<char *>(cubin), static_cast<char *>(cubin) + size_bytes);
  EXPECT_EQ(cu("cuLinkDestroy", link), 0);

  Handle loaded = nullptr, append = nullptr;
  EXPECT_EQ(cu("cuModuleLoadData", &loaded, static_cast<const void *>(kept.data())), 0);
  EXPECT_EQ(cu("cuModuleGetFunction", &append, loaded, "append"), 0);
  const Address values = allocate(4096);
  EXPECT_EQ(launch_by("cuLaunchKernel", append, nullptr, values, 9u), 0);
  EXPECT_EQ(list(values), std::vector<unsigned>{9});
  EXPECT_EQ(cu("cuModuleUnload", loaded), 0);
}

TEST_F(Code, LinkErrorsAreInTheLog) {
  char log[4000] = "old";
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  Handle link = nullptr;
  EXPECT_EQ(cu("cuLinkCreate_v2", 2u, static_cast<int *>(options), static_cast<void **>(values), &link), 0);
  std::string wrong =
      ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n\tmov.u32 %r1, "
      "syntax_error;\n\tret;\n}\n";
  int *no_options = nullptr;
  void **no_values = nullptr;
  EXPECT_EQ(cu("cuLinkAddData_v2", link, int{kJitPtx}, static_cast<void *>(wrong.data()), wrong.size() + 1,
               "wrong", 0u, no_options, no_values),
            218);
  EXPECT_THAT(log, HasSubstr("line"));
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), std::strlen(log));
  EXPECT_EQ(cu("cuLinkDestroy", link), 0);

  // The same through a module load, cut to the buffer.
  values[1] = reinterpret_cast<void *>(size_t{20});
  log[0] = 0;
  Handle loaded = nullptr;
  EXPECT_EQ(cu("cuModuleLoadDataEx", &loaded, static_cast<const void *>(wrong.c_str()), 2u,
               static_cast<int *>(options), static_cast<void **>(values)),
            218);
  EXPECT_EQ(std::strlen(log), 19u);
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), 20u);
}

// A fatbin with one entry (cuda-formats.md, section 6), and a wrapper record for it.
struct Fatbin {
  std::vector<unsigned char> bytes;
  struct {
    uint32_t magic, version;
    const void *data, *extra;
  } wrapper{};
  Fatbin(uint16_t kind, uint32_t arch, const std::string &payload) {
    const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
    const uint64_t payload_bytes = (payload.size() + 8) / 8 * 8;
    bytes.resize(16 + 80 + payload_bytes);
    put(0, uint32_t{0xBA55ED50});
    put(4, uint16_t{1});
    put(6, uint16_t{16});
    put(8, uint64_t{80 + payload_bytes});
    put(16, kind);
    put(18, uint16_t{0x0101});
    put(20, uint32_t{80});
    put(24, payload_bytes);
    put(16 + 0x14, uint32_t{64});  // the record of options: none
    put(16 + 0x1a, uint16_t{9});
    put(16 + 0x1c, arch);
    put(16 + 0x28, uint64_t{0x11});
    put(16 + 64, uint32_t{72});
    std::memcpy(bytes.data() + 96, payload.data(), payload.size());
    wrapper = {0x466243B1, 1, bytes.data(), nullptr};
  }
};

TEST_F(Code, FatbinsLoad) {
  const Fatbin fatbin(1, 75, text), newer(1, 100, text);
  const void *wrapper = &fatbin.wrapper;
  Handle loaded = nullptr, append = nullptr;
  EXPECT_EQ(cu("cuModuleLoadData", &loaded, static_cast<const void *>(fatbin.bytes.data())), 0);
  EXPECT_EQ(cu("cuModuleGetFunction", &append, loaded, "append"), 0);
  const Address values = allocate(4096);
  EXPECT_EQ(launch_by("cuLaunchKernel", append, nullptr, values, 4u), 0);
  EXPECT_EQ(list(values), std::vector<unsigned>{4});
  EXPECT_EQ(cu("cuModuleLoadData", &loaded, static_cast<const void *>(newer.bytes.data())), 209);
  EXPECT_EQ(cu("cuModuleLoadData", &loaded, wrapper), 200);
}

TEST_F(Code, WrappersLoad) {
  EGPU_SIMULATED_ONLY("every program of tests/gpu/runtime.sh loads one there");
  const Fatbin fatbin(1, 75, text);
  const void *wrapper = &fatbin.wrapper;
  Handle loaded = nullptr, code = nullptr, function_in_module = nullptr, kernel_in_library = nullptr;
  int *no_options = nullptr;
  void **no_values = nullptr;
  EXPECT_EQ(cu("cuModuleLoadFatBinary", &loaded, wrapper), 0);
  EXPECT_EQ(cu("cuModuleGetFunction", &function_in_module, loaded, "append"), 0);
  EXPECT_EQ(cu("cuLibraryLoadData", &code, wrapper, no_options, no_values, 0u, no_options, no_values, 0u), 0);
  EXPECT_EQ(cu("cuLibraryGetKernel", &kernel_in_library, code, "append"), 0);
  const Address values = allocate(4096);
  EXPECT_EQ(launch_by("cuLaunchKernel", function_in_module, nullptr, values, 4u), 0);
  EXPECT_EQ(launch_by("cuLaunchKernel", kernel_in_library, nullptr, values, 5u), 0);
  EXPECT_EQ(list(values), (std::vector<unsigned>{4, 5}));
}

TEST_F(Code, ImagesWithoutPtxAreRefused) {
  Handle loaded = nullptr;
  EXPECT_EQ(cu("cuModuleLoadData", &loaded, static_cast<const void *>("not code at all")), 200);
}

TEST_F(Code, MachineCodeAloneIsRefused) {
  EGPU_SIMULATED_ONLY("it runs machine code");
  Handle loaded = nullptr;
  const Fatbin machine_code(2, 90, "\177ELF");
  EXPECT_EQ(cu("cuModuleLoadFatBinary", &loaded, static_cast<const void *>(machine_code.bytes.data())), 209);
  // An ELF header of a cubin, with nothing in it.
  unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  elf[0x12] = 190;
  elf[0x34] = 64;
  elf[0x3a] = 64;
  EXPECT_EQ(cu("cuModuleLoadData", &loaded, static_cast<const void *>(elf)), 209);
}

}  // namespace
}  // namespace egpu::sim
