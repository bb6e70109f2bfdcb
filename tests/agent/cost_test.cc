// What a launch of a function that nothing matches costs more when it is hooked: under 100 ns
// (architecture.md, "Rules that the parts keep").
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/agent/fakecuda.h"
#include "tests/agent/session.h"

namespace {

using namespace std::chrono_literals;
using agent_test::Session;
using egpu::session::Kind;
using clock = std::chrono::steady_clock;

// Least time per call over some batches: what is left is the code's own cost.
template <class F>
double nanoseconds(F call) {
  constexpr int kBatches = 200, kCalls = 200;
  double best = 1e9;
  for (int b = 0; b < kBatches; ++b) {
    auto begin = clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    best = std::min(best, std::chrono::duration<double, std::nano>(clock::now() - begin).count() / kCalls);
  }
  return best;
}

TEST(Cost, UnmatchedLaunch) {
  void *library = dlopen(EGPU_AGENT_PATH, RTLD_NOW);
  ASSERT_TRUE(library);
  auto attach = reinterpret_cast<int (*)(const char *)>(dlsym(library, "egpu_agent_attach"));
  CUcontext context;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  // A second argument makes the fake refuse the launch before it records it: cheap and constant.
  CUlibrary code;
  CUmodule module;
  CUfunction f;
  CUkernel kernel;
  const char text[] = ".entry other(.param .u64 a, .param .u16 b, .param .u64 c) {}";
  cuModuleLoadData(&module, text);
  cuModuleGetFunction(&f, module, "other");
  cuLibraryLoadData(&code, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
  cuLibraryGetKernel(&kernel, code, "other");
  constexpr unsigned kTooMuch = 1u << 30;
  auto launch = [&](CUfunction function) {
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, kTooMuch, nullptr, nullptr, nullptr);
  };
  CUfunction as_function = reinterpret_cast<CUfunction>(kernel);
  double plain = nanoseconds([&] { launch(f); }), plain_kernel = nanoseconds([&] { launch(as_function); });

  Session session(egpu::session::kAttach);
  ASSERT_EQ(attach(session.path().c_str()), 0);
  session.take(Kind::entries);
  auto asked = [&](CUfunction function) {
    for (int i = 0; i < 1000 && !session.saw(Kind::kernel); ++i) {
      launch(function);
      std::this_thread::sleep_for(1ms);
    }
    session.take(Kind::kernel);
  };
  asked(f);
  asked(as_function);
  session.send(Kind::snapshot);  // answered after the verdicts
  session.take(Kind::snapshot_done);
  double hooked = nanoseconds([&] { launch(f); }), hooked_kernel = nanoseconds([&] { launch(as_function); });
  session.detach();
  RecordProperty("function_added_ns", std::to_string(hooked - plain));
  RecordProperty("kernel_added_ns", std::to_string(hooked_kernel - plain_kernel));
  printf("added per launch: CUfunction %.1f ns, CUkernel %.1f ns\n", hooked - plain,
         hooked_kernel - plain_kernel);
  EXPECT_LT(hooked - plain, 100);
  EXPECT_LT(hooked_kernel - plain_kernel, 100);
}

}  // namespace
