// The rest of the interface: devices, contexts, memory queries, entry point look-up.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

class Api : public CudaTest {};

TEST_F(Api, DeviceSaysThatItIsSimulated) {
  EGPU_SIMULATED_ONLY("it is not");
  char name[64] = {};
  EXPECT_EQ(cu("cuDeviceGetName", static_cast<char *>(name), 64, 0), 0);
  EXPECT_THAT(name, testing::HasSubstr("simulated"));
}

// A device like an H200 but for the number of its SMs.
TEST_F(Api, DeviceSaysWhatItIs) {
  const int expected[][2] = {{1, 1024}, {10, 32}, {75, 9}, {76, 0}, {8, 49152}};
  for (const auto &[id, value] : expected) {
    int got = -1;
    EXPECT_EQ(cu("cuDeviceGetAttribute", &got, id, 0), 0);
    EXPECT_EQ(got, value) << "attribute " << id;
  }
  int value = 0;
  EXPECT_EQ(cu("cuDeviceGetAttribute", &value, 0, 0), 1);
  EXPECT_EQ(cu("cuDeviceGetAttribute", &value, 1, 1), 101);
  EXPECT_EQ(cu("cuDeviceGet", &value, 1), 101);
  EXPECT_EQ(cu("cuDriverGetVersion", &value), 0);
  EXPECT_GE(value, 13000);
}

TEST_F(Api, ErrorsHaveNamesAndTexts) {
  const char *description = nullptr;
  EXPECT_EQ(cu("cuGetErrorName", 700, &description), 0);
  EXPECT_STREQ(description, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cu("cuGetErrorString", 700, &description), 0);
  EXPECT_STREQ(description, "an illegal memory access was encountered");
  EXPECT_EQ(cu("cuGetErrorName", 123456, &description), 1);
  EXPECT_EQ(description, nullptr);
}

TEST_F(Api, ContextsStackPerThread) {
  Handle current = nullptr, primary = nullptr, popped = nullptr;
  EXPECT_EQ(cu("cuCtxGetCurrent", &current), 0);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &primary, 0), 0);
  EXPECT_EQ(cu("cuCtxPushCurrent_v2", primary), 0);
  int device = -1;
  EXPECT_EQ(cu("cuCtxGetDevice", &device), 0);
  EXPECT_EQ(device, 0);
  // A function belongs to its context.
  EXPECT_EQ(launch("count", nullptr), 400);
  EXPECT_EQ(cu("cuCtxPopCurrent_v2", &popped), 0);
  EXPECT_EQ(popped, primary);
  EXPECT_EQ(launch("count", nullptr), 0);
  std::thread([] {
    Handle none = nullptr;
    EXPECT_EQ(cu("cuCtxGetCurrent", &none), 0);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(cu("cuCtxSynchronize"), 201);
    Address address = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &address, size_t{1}), 201);
  }).join();
  unsigned flags = 0;
  int active = -1;
  EXPECT_EQ(cu("cuDevicePrimaryCtxGetState", 0, &flags, &active), 0);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 0), 0);
  EXPECT_EQ(cu("cuDevicePrimaryCtxGetState", 0, &flags, &active), 0);
  EXPECT_EQ(active, 0);
}

TEST_F(Api, PointersAreKnown) {
  const Address device = allocate(1000);
  void *host = nullptr;
  Address managed = 0;
  EXPECT_EQ(cu("cuMemHostAlloc", &host, size_t{1000}, 0u), 0);
  EXPECT_EQ(cu("cuMemAllocManaged", &managed, size_t{1000}, 1u), 0);
  std::memset(reinterpret_cast<void *>(managed), 1, 1000);
  int type = 0, plain = 0;
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&type), 2, device + 10), 0);
  EXPECT_EQ(type, kMemoryDevice);
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&type), 2, reinterpret_cast<Address>(host)), 0);
  EXPECT_EQ(type, kMemoryHost);
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&type), 2, reinterpret_cast<Address>(&plain)), 1);
  unsigned char is_managed = 0;
  EXPECT_EQ(cu("cuPointerGetAttribute", static_cast<void *>(&is_managed), 8, managed), 0);
  EXPECT_EQ(is_managed, 1);
  Address base = 0;
  size_t size_bytes = 0;
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &size_bytes, device + 999), 0);
  EXPECT_EQ(base, device);
  EXPECT_EQ(size_bytes, 1000u);
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &size_bytes, device + 1000), 500);
  EXPECT_EQ(cu("cuMemFreeHost", host), 0);
  EXPECT_EQ(cu("cuMemFree_v2", managed), 0);
}

TEST_F(Api, RegisteredHostMemoryIsForKernels) {
  alignas(4096) static unsigned values[1024];
  values[0] = 0;
  EXPECT_EQ(cu("cuMemHostRegister_v2", static_cast<void *>(values), sizeof values, 0u), 0);
  EXPECT_EQ(cu("cuMemHostRegister_v2", static_cast<void *>(values), sizeof values, 0u), 712);
  Address address = 0;
  EXPECT_EQ(cu("cuMemHostGetDevicePointer_v2", &address, static_cast<void *>(values), 0u), 0);
  EXPECT_EQ(launch("append", nullptr, address, 11u), 0);
  EXPECT_EQ(cu("cuCtxSynchronize"), 0);
  EXPECT_EQ(values[0], 1u);
  EXPECT_EQ(values[1], 11u);
  EXPECT_EQ(cu("cuMemHostUnregister", static_cast<void *>(values)), 0);
  EXPECT_EQ(cu("cuMemHostUnregister", static_cast<void *>(values)), 713);
}

TEST_F(Api, CopiesInTwoDimensions) {
  unsigned char from[4][8], to[4][16] = {};
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 8; ++x) from[y][x] = static_cast<unsigned char>(16 * y + x);
  Address device = 0;
  size_t pitch = 0;
  EXPECT_EQ(cu("cuMemAllocPitch_v2", &device, &pitch, size_t{8}, size_t{4}, 4u), 0);
  Copy2D up{}, down{};
  up.from_type = down.to_type = kMemoryHost;
  up.to_type = down.from_type = kMemoryDevice;
  up.from_host = from;
  up.from_pitch = 8;
  up.to_device = down.from_device = device;
  up.to_pitch = down.from_pitch = pitch;
  up.width_bytes = 8;
  up.height = 4;
  down.from_x_bytes = 2;
  down.from_y = 1;
  down.to_host = to;
  down.to_pitch = 16;
  down.to_x_bytes = 3;
  down.width_bytes = 4;
  down.height = 3;
  EXPECT_EQ(cu("cuMemcpy2D_v2", static_cast<const Copy2D *>(&up)), 0);
  EXPECT_EQ(cu("cuMemcpy2D_v2", static_cast<const Copy2D *>(&down)), 0);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 4; ++x) EXPECT_EQ(to[y][x + 3], from[y + 1][x + 2]);
  EXPECT_EQ(to[0][2], 0);
  EXPECT_EQ(to[0][7], 0);
}

struct Lookup {
  const char *name;
  int version;
  uint64_t flags;
  const char *symbol;  // null: not found
};

TEST_F(Api, EntryPointsByNameAndVersion) {
  const Lookup table[] = {
      {"cuMemAlloc", 12000, 0, "cuMemAlloc_v2"},
      {"cuLaunchKernel", 13000, 0, "cuLaunchKernel"},
      {"cuLaunchKernel", 13000, 2, "cuLaunchKernel_ptsz"},
      {"cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds"},
      {"cuCtxSynchronize", 12000, 0, "cuCtxSynchronize"},
      {"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
      {"cuDevicePrimaryCtxRelease", 7000, 0, "cuDevicePrimaryCtxRelease"},
      {"cuGraphInstantiate", 11000, 0, "cuGraphInstantiate_v2"},
      {"cuStreamGetCaptureInfo", 12000, 2, "cuStreamGetCaptureInfo_v2_ptsz"},
      {"cuCtxCreate", 13000, 0, "cuCtxCreate_v4"},
      {"cuThereIsNoSuchThing", 13000, 0, nullptr},
      {"malloc", 13000, 0, nullptr},
  };
  for (const Lookup &row : table) {
    SCOPED_TRACE(row.name);
    void *found = nullptr;
    int result = -1;
    EXPECT_EQ(cu("cuGetProcAddress_v2", row.name, &found, row.version, row.flags, &result), 0);
    EXPECT_EQ(found, row.symbol ? symbol(row.symbol) : nullptr);
    EXPECT_EQ(result, row.symbol ? 0 : 1);
  }
  void *found = nullptr;
  int *no_result = nullptr;
  EXPECT_EQ(cu("cuGetProcAddress_v2", "", &found, 0, uint64_t{0}, no_result), 0);
  EXPECT_EQ(cu("cuGetProcAddress_v2", "cuThereIsNoSuchThing", &found, 13000, uint64_t{0}, no_result), 0);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(cu("cuGetProcAddress", "cuThereIsNoSuchThing", &found, 13000, uint64_t{0}), 500);
  int result = -1;
  EXPECT_EQ(cu("cuGetProcAddress_v2", "cuGraphExecUpdate", &found, 10000, uint64_t{0}, &result), 0);
  EXPECT_EQ(result, 2);  // newer than that version
}

// The third version has another name: by this one it takes flags, as cuGraphInstantiateWithFlags.
TEST_F(Api, GraphInstantiateOfVersion12) {
  void *found = nullptr;
  int result = -1;
  ASSERT_EQ(cu("cuGetProcAddress_v2", "cuGraphInstantiate", &found, 12000, uint64_t{0}, &result), 0);
  Handle graph = nullptr, node = nullptr, exec = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
  ASSERT_EQ(cu("cuGraphAddEmptyNode", &node, graph, static_cast<const Handle *>(nullptr), size_t{0}), 0);
  const auto instantiate = reinterpret_cast<int (*)(Handle *, Handle, unsigned long long)>(found);
  EXPECT_EQ(instantiate(&exec, graph, 0), 0);
  ASSERT_NE(exec, nullptr);
  EXPECT_EQ(cu("cuGraphLaunch", exec, Handle{}), 0);
}

TEST_F(Api, GenuinenessIsNeverClaimed) {
  EGPU_SIMULATED_ONLY("NVIDIA's is genuine");
  const unsigned char id[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0xf4, 0x5b, 0x4a, 0xe7,
                                0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
  const void *table = nullptr;
  testing::internal::CaptureStderr();
  const unsigned char other[16] = {1};  // the runtime gives up at whatever table it asks for first
  EXPECT_EQ(cu("cuGetExportTable", &table, static_cast<const void *>(other)), 801);
  EXPECT_EQ(cu("cuGetExportTable", &table, static_cast<const void *>(id)), 801);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(table, nullptr);
  EXPECT_THAT(said, testing::HasSubstr("carries NVIDIA's CUDA runtime"));
  EXPECT_EQ(said.find("carries"), said.rfind("carries"));
}

TEST_F(Api, UnwrittenEntryPointsSaySoOnce) {
  EGPU_SIMULATED_ONLY("all are written");
  testing::internal::CaptureStderr();
  EXPECT_EQ(cu("cuTexObjectCreate"), 801);
  EXPECT_EQ(cu("cuTexObjectCreate"), 801);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "egpu-sim: warning: cuTexObjectCreate: not supported by the simulated driver\n");
}

// A program that uses the driver from an atexit handler that was registered before the driver was
// loaded (it runs after the driver's own destructors would), with a kernel still running.
struct {
  Handle context, append;
  Address values;
} at_exit;

void use_driver_at_exit() {
  Handle current = nullptr;
  unsigned value = 17, got = 0;
  void *parameters[] = {&at_exit.values, &value};
  std::_Exit(wrong_rows({
      {"current context", 0, [&] { return cu("cuCtxGetCurrent", &current) | (current != at_exit.context); }},
      {"launch", 0,
       [&] {
         return cu("cuLaunchKernel", at_exit.append, 1u, 1u, 1u, 1u, 1u, 1u, 0u, Handle{},
                   static_cast<void **>(parameters), static_cast<void **>(nullptr));
       }},
      {"read", 0,
       [&] {
         return cu("cuMemcpyDtoH_v2", static_cast<void *>(&got), at_exit.values + 4, sizeof got) |
                (got != value);
       }},
  }));
}

void leave_with_a_kernel_running() {
  std::atexit(use_driver_at_exit);
  Handle module = nullptr, hold = nullptr, on = nullptr;
  const std::string text = kernels_text();
  if (cu("cuInit", 0u) || cu("cuCtxCreate_v2", &at_exit.context, 0u, 0) ||
      cu("cuModuleLoadData", &module, static_cast<const void *>(text.c_str())) ||
      cu("cuModuleGetFunction", &at_exit.append, module, "append") ||
      cu("cuModuleGetFunction", &hold, module, "hold") || cu("cuMemAlloc_v2", &at_exit.values, size_t{64}) ||
      cu("cuMemsetD8_v2", at_exit.values, static_cast<unsigned char>(0), size_t{64}) ||
      cu("cuStreamCreate", &on, 1u))
    std::_Exit(2);
  Address flag = at_exit.values + 32;  // stays zero: the kernel never ends
  void *parameters[] = {&flag};
  if (cu("cuLaunchKernel", hold, 1u, 1u, 1u, 1u, 1u, 1u, 0u, on, static_cast<void **>(parameters),
         static_cast<void **>(nullptr)))
    std::_Exit(3);
  std::exit(0);
}

TEST(ApiAtExit, CallsAfterStaticDestructorsWork) {
  EGPU_SIMULATED_ONLY("NVIDIA's driver has ended then: all calls fail");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(leave_with_a_kernel_running(), testing::ExitedWithCode(0), "");
}

TEST_F(Api, Occupancy) {
  int blocks = 0, grid = 0, block = 0, sms = 0;
  EXPECT_EQ(cu("cuDeviceGetAttribute", &sms, 16, 0), 0);
  EXPECT_EQ(cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, function("count"), 256, size_t{0}), 0);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(
      cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, function("count"), 32, size_t{48 * 1024}),
      0);
  EXPECT_EQ(blocks, 4);
  EXPECT_EQ(cu("cuOccupancyMaxPotentialBlockSize", &grid, &block, function("bounded"),
               static_cast<void *>(nullptr), size_t{0}, 0),
            0);
  EXPECT_EQ(block, 64);
  EXPECT_EQ(grid, 32 * sms);
}

TEST_F(Api, StreamOrderedMemory) {
  const Handle on = stream();
  Address address = 0;
  EXPECT_EQ(cu("cuMemAllocAsync", &address, size_t{4096}, on), 0);
  EXPECT_EQ(cu("cuMemsetD8Async", address, static_cast<unsigned char>(0), size_t{4096}, on), 0);
  EXPECT_EQ(launch("append", on, address, 3u), 0);
  unsigned values[2] = {};
  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void *>(values), address, sizeof values, on), 0);
  EXPECT_EQ(cu("cuMemFreeAsync", address, on), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(values[1], 3u);
  EXPECT_EQ(cu("cuMemFreeAsync", address, on), 1);
}

}  // namespace
}  // namespace egpu::sim
