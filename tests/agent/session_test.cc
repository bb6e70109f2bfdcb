// Attach, detach, start mode, and what happens when the other end goes away.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "tests/agent/agent.h"

namespace agent_test {

TEST_F(Agent, AttachTellsEntriesHooksAndRestores) {
  Session session(protocol::kAttach);
  attach(session);
  EXPECT_EQ(session.take(Kind::hello).fixed<protocol::Hello>().version, protocol::kProtocolVersion);
  bool found = false;
  for (const protocol::EntryPoint &entry : session.entries())
    if (std::string(entry.name) == "cuLaunchKernel") {
      found = true;
      EXPECT_EQ(entry.address, reinterpret_cast<uint64_t>(&cuLaunchKernel));
      EXPECT_EQ(memcmp(entry.code, before_, sizeof before_), 0);
    }
  EXPECT_TRUE(found);
  EXPECT_EQ(session.detach().drained, 1u);
  EXPECT_TRUE(restored());
  EXPECT_TRUE(session.closed());
}

TEST_F(Agent, HangUpDetaches) {
  auto session = std::make_unique<Session>(protocol::kAttach);
  attach(*session);
  CUfunction f = function("probe_a");
  warm_up(f, "probe_a");
  session->hang_up();
  ASSERT_TRUE(eventually([&] { return restored(); }));
  uint64_t before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before);
  session.reset();
  Session next(protocol::kAttach);  // and the agent can be used again
  attach(next);
  ASSERT_TRUE(eventually([&] { return launch(f) == 0 && fake_->launch_count("probe_a", true) > before; }));
  next.detach();
}

// egpu-load dies after it wrote the jumps and before it said so. Launches meanwhile go through.
TEST_F(Agent, HangUpBeforeHooksReadyRestoresTheJumps) {
  Options options;
  options.say_hooks_ready = false;
  Session session(protocol::kAttach, options);
  ASSERT_EQ(attach_(session.path().c_str()), 0);
  ASSERT_TRUE(eventually([&] { return session.ready(); }));
  ASSERT_TRUE(hooked());
  ASSERT_EQ(launch(function("probe_a")), 0);
  session.hang_up();
  ASSERT_TRUE(eventually([&] { return restored(); }));
  ASSERT_EQ(launch(function("probe_a")), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", false), 2u);
}

TEST_F(Agent, ManyAttachesLeakNothing) {
  CUfunction f = function("probe_params");
  long bytes = 0;
  int modules = 0;
  constexpr int kCycles = 100;
  for (int i = 0; i < kCycles; ++i) {
    Session session(protocol::kAttach);
    attach(session);
    uint64_t before = fake_->launch_count("probe_params", true);
    ASSERT_TRUE(
        eventually([&] { return launch(f) == 0 && fake_->launch_count("probe_params", true) > before; }));
    protocol::Detached detached = session.detach();
    ASSERT_EQ(detached.launches_probed, fake_->launch_count("probe_params", true) - before);
    ASSERT_TRUE(restored());
    if (i == 0) {
      bytes = fake_->device_bytes();
      modules = fake_->modules_alive();
    }
  }
  EXPECT_EQ(fake_->device_bytes(), bytes);
  EXPECT_EQ(fake_->modules_alive(), modules);
}

// A kernel that does not end: detach says so in bounded time and frees nothing that it may use.
TEST_F(Agent, DetachIsBoundedWhenTheDeviceIsBusy) {
  long bytes;
  {
    Session session(protocol::kAttach);
    attach(session);
    warm_up(function("probe_a"), "probe_a");
    bytes = fake_->device_bytes();
    fake_->set_busy(true);
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(session.detach().drained, 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_EQ(fake_->device_bytes(), bytes);
    EXPECT_TRUE(restored());
  }
  fake_->set_busy(false);
  Session session(protocol::kAttach);
  attach(session);
  EXPECT_EQ(session.detach().drained, 1u);
  EXPECT_LT(fake_->device_bytes(), bytes) << "the first session's memory is freed by the next";
}

TEST_F(Agent, StartModeWaitsForTheVerdict) {
  Options options;
  options.answer_kernels = false;
  Session session(protocol::kStart, options);
  setenv("EGPU_SOCKET", session.path().c_str(), 1);
  EXPECT_EQ(initialize_(), 1);
  unsetenv("EGPU_SOCKET");
  ASSERT_TRUE(hooked()) << "InitializeInjection returns with the hooks in place";
  CUfunction f = function("probe_a"), other = function("other");
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  constexpr int kThreads = 5;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      cuCtxSetCurrent(context_);
      EXPECT_EQ(launch(f), 0);
      ++done;
    });
  Message kernel = session.take(Kind::kernel);
  EXPECT_EQ(kernel.fixed<protocol::Kernel>().waiting, 1u);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(done, 0);
  session.take(Kind::map_blocks);
  session.answer(kernel);
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(fake_->launch_count("probe_a", true), kThreads);
  EXPECT_EQ(fake_->launch_count("probe_a", false), 0u);
  EXPECT_FALSE(session.saw(Kind::kernel)) << "asked once";
  // A launch that waits when the session ends goes on.
  std::thread waiting([&] {
    cuCtxSetCurrent(context_);
    EXPECT_EQ(launch(other), 0);
  });
  session.take(Kind::kernel);
  session.hang_up();
  waiting.join();
  EXPECT_EQ(fake_->launch_count("other", false), 1u);
}

TEST_F(Agent, StartModeWithoutASessionIsSilentOrWarns) {
  unsetenv("EGPU_SOCKET");
  EXPECT_EQ(initialize_(), 1);
  EXPECT_FALSE(hooked());
  setenv("EGPU_SOCKET", "/tmp/egpu-no-such-socket", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(initialize_(), 1);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "egpu-agent: /tmp/egpu-no-such-socket: No such file or directory; the program runs without probes\n");
  unsetenv("EGPU_SOCKET");
  EXPECT_FALSE(hooked());
}

TEST_F(Agent, ForkedChildLeavesTheSessionAlone) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_a");
  warm_up(f, "probe_a");
  pid_t child = fork();
  if (child == 0) {
    // No agent here: launches go through, new functions are not asked for.
    bool ok = launch(f) == 0 && launch(function("other")) == 0;
    _exit(ok ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  uint64_t before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before + 1);
  EXPECT_EQ(session.detach().drained, 1u);
}

// Nothing lost, nothing twice, nothing freed under a launch, whatever the timing.
TEST_F(Agent, LaunchesFromManyThreadsWhileAttachingAndDetaching) {
  constexpr int kThreads = 8, kCycles = 30;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> launched{0}, failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      cuCtxSetCurrent(context_);
      CUfunction f = function(i % 2 ? "probe_a" : "probe_params");
      while (!stop) {
        if (launch(f) != 0) ++failed;
        ++launched;
      }
    });
  int undrained = 0;
  for (int i = 0; i < kCycles; ++i) {
    Session session(protocol::kAttach);
    attach(session);
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 7));
    if (i % 3 == 0) session.take(Kind::loaded);
    if (i % 5 == 4) {
      session.hang_up();
      ASSERT_TRUE(eventually([&] { return restored(); }));
    } else {
      protocol::Detached detached = session.detach();
      // On a machine that is busy enough a thread in a launch may not run within the limit.
      if (!detached.drained) {
        ++undrained;
        continue;
      }
      if (!session.saw(Kind::map_blocks)) continue;
      EXPECT_EQ(session.file_word(), detached.launches_probed);
    }
    ASSERT_TRUE(restored());
  }
  stop = true;
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_LT(undrained, kCycles / 3);
  uint64_t ran = 0;
  for (const char *name : {"probe_a", "probe_params"})
    ran += fake_->launch_count(name, false) + fake_->launch_count(name, true);
  EXPECT_EQ(ran, launched);
  EXPECT_GT(fake_->launch_count("probe_a", true), 0u);
}

}  // namespace agent_test
