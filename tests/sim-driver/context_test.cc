// The life of contexts: destroyed, reset, failed, and what is said of them then.
#include <thread>

#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

class ContextLife : public CudaTest {
 protected:
  int allocate_here(size_t size_bytes = 64) {
    Address address = 0;
    return cu("cuMemAlloc_v2", &address, size_bytes);
  }
  int load_here(Handle *into) {
    return cu("cuModuleLoadData", into, static_cast<const void *>(text.c_str()));
  }
  int make_current(Handle which) { return cu("cuCtxSetCurrent", which); }
  int fault_here(Handle store) { return launch_by("cuLaunchKernel", store, nullptr, Address{16}, 1u); }
};

TEST_F(ContextLife, ADestroyedOneCanBeCurrentButNotUsed) {
  Handle other = nullptr, current = nullptr, popped = nullptr;
  ASSERT_EQ(cu("cuCtxCreate_v2", &other, 0u, 0), 0);
  const Address values = allocate(64);
  std::thread([&] { EXPECT_EQ(cu("cuCtxDestroy_v2", other), 0); }).join();
  expect_all({
      {"use it where it is current", 709, [&] { return allocate_here(); }},
      {"wait for it", 709, [&] { return cu("cuCtxSynchronize"); }},
      {"make it current", 0, [&] { return make_current(other); }},
      {"use it", 709, [&] { return allocate_here(); }},
      {"push it", 0, [&] { return cu("cuCtxPushCurrent_v2", other); }},
      {"destroy it again", 709, [&] { return cu("cuCtxDestroy_v2", other); }},
      {"pop it", 0, [&] { return cu("cuCtxPopCurrent_v2", &popped); }},
      {"below it is itself", 709, [&] { return allocate_here(); }},
      {"pop it again", 0, [&] { return cu("cuCtxPopCurrent_v2", &popped); }},
      {"the first one is current", 0, [&] { return cu("cuCtxGetCurrent", &current); }},
      {"and works", 0, [&] { return allocate_here(); }},
      {"the other's memory has gone with it", 1, [&] { return cu("cuMemFree_v2", values); }},
      {"something that is no context", 201, [&] { return make_current(module); }, true},
  });
  EXPECT_EQ(popped, other);
  EXPECT_EQ(current, context);
}

TEST_F(ContextLife, APrimaryOneIsRetainedAgainAfterAReset) {
  Handle primary = nullptr, again = nullptr, kernels = nullptr, current = nullptr;
  unsigned flags = 0;
  int active = -1;
  expect_all({
      {"retain", 0, [&] { return cu("cuDevicePrimaryCtxRetain", &primary, 0); }},
      {"make current", 0, [&] { return cu("cuCtxPushCurrent_v2", primary); }},
      {"load", 0, [&] { return load_here(&kernels); }},
      {"reset", 0, [&] { return cu("cuDevicePrimaryCtxReset_v2", 0); }},
      {"still current", 0, [&] { return cu("cuCtxGetCurrent", &current) | (current != primary); }},
      {"allocate", 709, [&] { return allocate_here(); }},
      {"load after it", 709, [&] { return load_here(&kernels); }},
      {"wait", 709, [&] { return cu("cuCtxSynchronize"); }},
      {"state", 0, [&] { return cu("cuDevicePrimaryCtxGetState", 0, &flags, &active); }},
      {"inactive", 0, [&] { return active; }},
      {"retain again", 0, [&] { return cu("cuDevicePrimaryCtxRetain", &again, 0); }},
      {"the same handle", 0, [&] { return again != primary; }},
      {"make it current", 0, [&] { return make_current(again); }},
      {"allocate again", 0, [&] { return allocate_here(); }},
      {"load again", 0, [&] { return load_here(&kernels); }},
      {"release", 0, [&] { return cu("cuDevicePrimaryCtxRelease_v2", 0); }},
      {"allocate with one reference", 0, [&] { return allocate_here(); }},
      {"release the other", 0, [&] { return cu("cuDevicePrimaryCtxRelease_v2", 0); }},
      {"allocate after the last release", 709, [&] { return allocate_here(); }},
      {"release too often", 201, [&] { return cu("cuDevicePrimaryCtxRelease_v2", 0); }},
      {"pop", 0, [&] { return cu("cuCtxPopCurrent_v2", &again); }},
  });
}

TEST_F(ContextLife, AFaultIsForTheWholeProcess) {
  in_own_process([&] {
    Handle primary = nullptr, kernels = nullptr, store = nullptr, when = nullptr, fresh = nullptr;
    expect_all({
        {"retain", 0, [&] { return cu("cuDevicePrimaryCtxRetain", &primary, 0); }},
        {"make current", 0, [&] { return cu("cuCtxPushCurrent_v2", primary); }},
        {"load", 0, [&] { return load_here(&kernels); }},
        {"find", 0, [&] { return cu("cuModuleGetFunction", &store, kernels, "store"); }},
        {"the launch itself succeeds", 0, [&] { return fault_here(store); }},
        {"wait", 700, [&] { return cu("cuCtxSynchronize"); }},
        {"launch", 700, [&] { return fault_here(store); }},
        {"allocate", 700, [&] { return allocate_here(); }},
        {"event", 700, [&] { return cu("cuEventCreate", &when, 0u); }},
        {"load another", 700, [&] { return load_here(&kernels); }},
        {"context", 700, [&] { return cu("cuCtxCreate_v2", &fresh, 0u, 0); }},
        {"make the other one current", 0, [&] { return make_current(context); }},
        {"allocate in it", 700, [&] { return allocate_here(); }},
        {"wait for it", 700, [&] { return cu("cuCtxSynchronize"); }},
        {"context from there", 700, [&] { return cu("cuCtxCreate_v2", &fresh, 0u, 0); }},
        {"back", 0, [&] { return make_current(primary); }},
        {"reset", 0, [&] { return cu("cuDevicePrimaryCtxReset_v2", 0); }},
        {"allocate after it", 709, [&] { return allocate_here(); }},
        {"functions went with the reset", 709, [&] { return fault_here(store); }},
        {"retain again", 700, [&] { return cu("cuDevicePrimaryCtxRetain", &fresh, 0); }},
        {"load into it", 709, [&] { return load_here(&kernels); }},
        {"release", 0, [&] { return cu("cuDevicePrimaryCtxRelease_v2", 0); }},
        {"release too often", 201, [&] { return cu("cuDevicePrimaryCtxRelease_v2", 0); }},
        {"pop", 0, [&] { return cu("cuCtxPopCurrent_v2", &fresh); }},
    });
  });
}

}  // namespace
}  // namespace egpu::sim
