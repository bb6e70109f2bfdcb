// What the tests of the agent share: the agent in this process, on the fake driver.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/agent/fakecuda.h"
#include "tests/agent/session.h"

namespace agent_test {

using namespace std::chrono_literals;
using egpu::session::Kind;
namespace protocol = egpu::session;

constexpr char kModule[] =
    ".entry probe_a(.param .u64 a, .param .u16 b, .param .u64 c) {}\n"
    ".entry probe_params(.param .u64 a, .param .u16 b, .param .u64 c) {}\n"
    ".entry other(.param .u64 a, .param .u16 b, .param .u64 c) {}\n"
    ".global counter\n";

template <class F>
bool eventually(F condition, std::chrono::milliseconds limit = 10s) {
  for (auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

class Agent : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(EGPU_AGENT_PATH, RTLD_NOW);
    ASSERT_TRUE(library_) << dlerror();
    attach_ = reinterpret_cast<int (*)(const char *)>(dlsym(library_, "egpu_agent_attach"));
    initialize_ = reinterpret_cast<int (*)()>(dlsym(library_, "InitializeInjection"));
    fake_ = fake_control();
    fake_->reset();
    cuDevicePrimaryCtxRetain(&context_, 0);
    cuCtxSetCurrent(context_);
    ASSERT_EQ(cuModuleLoadData(&module_, kModule), 0);
    memcpy(before_, reinterpret_cast<const void *>(&cuLaunchKernel), sizeof before_);
  }
  void TearDown() override {
    cuModuleUnload(module_);
    EXPECT_EQ(fake_->dead_function_uses(), 0);
  }

  CUfunction function(const char *name) {
    CUfunction f = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&f, module_, name), 0);
    return f;
  }
  void attach(Session &session) {
    ASSERT_EQ(attach_(session.path().c_str()), 0);
    session.take(Kind::entries);
    ASSERT_TRUE(eventually([&] { return session.ready(); }));
    ASSERT_TRUE(hooked());
  }
  static bool hooked() { return *reinterpret_cast<const uint8_t *>(&cuLaunchKernel) == 0xe9; }
  bool restored() {
    return memcmp(before_, reinterpret_cast<const void *>(&cuLaunchKernel), sizeof before_) == 0;
  }

  // A launch of (7, 8, 9) by the plainest way.
  CUresult launch(CUfunction f, CUstream stream = nullptr, unsigned shared = 0) {
    uint64_t a = 7, c = 9;
    uint16_t b = 8;
    void *params[] = {&a, &b, &c};
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, shared, stream, params, nullptr);
  }
  // Launches until the patched function runs.
  void warm_up(CUfunction f, const char *name) {
    ASSERT_TRUE(eventually([&] { return launch(f) == 0 && fake_->launch_count(name, true) > 0; })) << name;
  }
  std::vector<uint64_t> last_parameters() { return fake_->launches().back().parameters; }

  void *library_ = nullptr;
  int (*attach_)(const char *) = nullptr;
  int (*initialize_)() = nullptr;
  fakecuda::Control *fake_ = nullptr;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  uint8_t before_[16];
};

}  // namespace agent_test
