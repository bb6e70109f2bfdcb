// A driver for tests: libcuda.so.1 of the build by dlopen, called by name. One context and the
// module of kernels.ptx per test.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/sim/driver/api.h"

namespace egpu::sim {

/// Is another driver than the simulated one tested (tests/gpu/driver-tests.sh)?
inline bool is_real_driver() { return std::getenv("EGPU_TEST_LIBCUDA") != nullptr; }

// Ends a test on a real driver: what follows is the simulator's own, or undefined there.
#define EGPU_SIMULATED_ONLY(why) \
  if (::egpu::sim::is_real_driver()) GTEST_SKIP() << why

inline void *cuda_library() {
  static void *library = [] {
    const char *path = std::getenv("EGPU_TEST_LIBCUDA");
    return dlopen(path ? path : EGPU_BINARY_DIR "/lib/sim/libcuda.so.1", RTLD_NOW);
  }();
  return library;
}

inline void *symbol(const std::string &name) {
  void *address = dlsym(cuda_library(), name.c_str());
  if (!address) {
    ADD_FAILURE() << "libcuda.so.1: no " << name << ": " << (cuda_library() ? "" : "not loaded");
    std::abort();
  }
  return address;
}

/// Calls a driver function; the arguments' types must be the function's.
template <class... Arguments>
int cu(const char *name, Arguments... arguments) {
  static const bool is_traced = std::getenv("EGPU_TEST_CALLS") != nullptr;  // to see where a driver crashes
  if (is_traced) std::fprintf(stderr, "%s\n", name);
  return reinterpret_cast<int (*)(Arguments...)>(symbol(name))(arguments...);
}

inline std::string kernels_text() {
  const char *path = std::getenv("EGPU_TEST_KERNELS");  // where the source tree is not
  std::ifstream file(path ? path : EGPU_SOURCE_DIR "/tests/sim-driver/kernels.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cu("cuInit", 0u), 0);
    ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), 0);
    text = kernels_text();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(text.c_str())), 0);
  }
  void TearDown() override { EXPECT_EQ(cu("cuCtxDestroy_v2", context), 0); }

  Handle function(const char *name) {
    Handle found = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &found, module, name), 0) << name;
    return found;
  }
  Address allocate(size_t size_bytes) {
    Address address = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &address, size_bytes), 0);
    EXPECT_EQ(cu("cuMemsetD8_v2", address, static_cast<unsigned char>(0), size_bytes), 0);
    return address;
  }
  Handle stream(unsigned flags = 0) {
    Handle made = nullptr;
    EXPECT_EQ(cu("cuStreamCreate", &made, flags), 0);
    return made;
  }
  Handle event() {
    Handle made = nullptr;
    EXPECT_EQ(cu("cuEventCreate", &made, 0u), 0);
    return made;
  }
  // One thread of the kernel, through the entry point named.
  template <class... Arguments>
  int launch_by(const char *entry, Handle kernel, Handle on, Arguments... arguments) {
    void *parameters[] = {static_cast<void *>(&arguments)..., nullptr};
    return cu(entry, kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, on, static_cast<void **>(parameters),
              static_cast<void **>(nullptr));
  }
  template <class... Arguments>
  int launch(const char *kernel, Handle on, Arguments... arguments) {
    return launch_by("cuLaunchKernel", function(kernel), on, arguments...);
  }
  template <class T>
  T read(Address from) {
    T value{};
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&value), from, sizeof value), 0);
    return value;
  }
  // What `append` has put into a list.
  std::vector<unsigned> list(Address at) {
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    std::vector<unsigned> values(read<unsigned>(at));
    if (!values.empty()) {
      EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(values.data()), at + 4, values.size() * 4), 0);
    }
    return values;
  }

  // A flag that kernels can wait for and the host can raise at any time.
  struct Flag {
    Flag() { EXPECT_EQ(cu("cuMemHostAlloc", &memory, size_t{8}, 2u), 0); }
    ~Flag() { raise(); }
    void raise() { __atomic_store_n(static_cast<unsigned *>(memory), 1u, __ATOMIC_RELEASE); }
    Address address() const { return reinterpret_cast<Address>(memory); }
    void *memory = nullptr;
  };

  Handle context = nullptr, module = nullptr;
  std::string text;
};

}  // namespace egpu::sim
