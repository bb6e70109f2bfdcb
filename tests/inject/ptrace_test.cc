#include "lib/loader/inject/ptrace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "lib/loader/inject/target.h"
#include "tests/inject/victim_process.h"

using namespace egpu::inject;
using testing::HasSubstr;

namespace {

size_t fd_count(pid_t pid) {
  size_t count = 0;
  for ([[maybe_unused]] auto &entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
    ++count;
  return count;
}

// Signal masks of all threads, as "tid mask".
std::vector<std::string> masks(pid_t pid) {
  std::vector<std::string> all;
  for (pid_t tid : threads_of(pid)) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("SigBlk") || line.starts_with("TracerPid"))
        all.push_back(std::to_string(tid) + line);
  }
  return all;
}

void wait_for_agent_thread(Victim &victim, uint64_t count) {
  for (int i = 0; i < 2000 && victim.shared().agent_threads < count; ++i) ::usleep(1000);
  ::usleep(2000);  // it ends after counting
}

class EachKind : public testing::TestWithParam<std::string> {};

// The thread that is borrowed is of this kind, and it is the only one of the process.
TEST_P(EachKind, ComesBackAsItWas) {
  Victim victim({GetParam()});
  ASSERT_TRUE(victim.is_well());
  size_t fds = fd_count(victim.pid());
  auto before = masks(victim.pid());
  for (uint64_t i = 0; i < 10; ++i) {
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    ASSERT_TRUE(injected) << injected.error().message;
    EXPECT_EQ(injected->was_there, i > 0);
    ASSERT_EQ(victim.shared().attaches, i + 1);
    wait_for_agent_thread(victim, i + 1);
    if (i % 5 == 0) {
      ASSERT_TRUE(victim.is_well());
    }
  }
  ASSERT_TRUE(victim.is_well());
  EXPECT_EQ(fd_count(victim.pid()), fds);
  EXPECT_EQ(masks(victim.pid()), before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EachKind,
                         testing::Values("poll", "sleep", "epoll", "condition", "vector", "launch", "read",
                                         "sigwait", "handler", "malloc"),
                         [](const testing::TestParamInfo<std::string> &row) { return row.param; });

TEST(Inject, HundredTimesIntoABusyProcess) {
  Victim victim(all_kinds());
  ASSERT_TRUE(victim.is_well());
  size_t fds = fd_count(victim.pid());
  auto before = masks(victim.pid());
  uint64_t longest_us = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    ASSERT_TRUE(injected) << injected.error().message;
    longest_us = std::max(longest_us, injected->borrowed_us);
    if (i % 10 == 0) {
      ASSERT_TRUE(victim.is_well());
    }
  }
  wait_for_agent_thread(victim, 100);
  EXPECT_EQ(victim.shared().attaches, 100u);
  ASSERT_TRUE(victim.is_well());
  EXPECT_EQ(fd_count(victim.pid()), fds);
  EXPECT_EQ(masks(victim.pid()), before);
  std::printf("a thread was borrowed for %lu us at most\n", static_cast<unsigned long>(longest_us));
}

TEST(Inject, FirstLoadIntoManyProcesses) {
  for (int i = 0; i < 10; ++i) {
    Victim victim(all_kinds());
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    ASSERT_TRUE(injected) << injected.error().message;
    EXPECT_FALSE(injected->was_there);
    ASSERT_TRUE(victim.is_well());
  }
}

// At any moment of its start-up (ld.so, the driver's constructors, the first threads) a process is
// either refused as one that does not use CUDA yet, or attached to; and it always lives on.
TEST(Inject, WhileTheProcessStarts) {
  std::mt19937 random(4711);
  int refused = 0;
  for (int round = 0; round < 30; ++round) {
    Victim victim(all_kinds(), Victim::Wait::not_at_all);
    ::usleep(static_cast<useconds_t>(random() % 4000));
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    for (; !injected; ++refused) {
      ASSERT_THAT(injected.error().message, HasSubstr("does not use CUDA"));
      injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    }
    ASSERT_TRUE(victim.is_well()) << "round " << round;
    EXPECT_EQ(victim.shared().attaches, 1u);
  }
  std::printf("refused %d times before libcuda was mapped\n", refused);
  EXPECT_GT(refused, 0);
}

// A sleep that is borrowed from lasts as long as it was asked to, not anew.
TEST(Inject, SleepKeepsItsRemainingTime) {
  Victim victim({"long_sleep"});
  uint64_t rounds = victim.progress(kLongSleep);
  victim.shared().longest_sleep_us = 0;
  ::usleep(800000);
  auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
  ASSERT_TRUE(injected) << injected.error().message;
  for (int i = 0; i < 3000 && victim.progress(kLongSleep) == rounds; ++i) ::usleep(1000);
  ASSERT_TRUE(victim.is_well());
  // 800 ms slept, then lent out; the rest is at most 200 ms, and would be 1000 ms if begun anew.
  EXPECT_LT(victim.shared().longest_sleep_us, 1500000 + injected->borrowed_us);
}

// However the tracer dies, the victim lives on and finds nothing wrong with its threads.
TEST(Inject, TracerIsKilledAtAnyMoment) {
  std::mt19937 random(4711);
  int killed = 0;
  for (int round = 0; round < 4; ++round) {
    Victim victim(all_kinds());
    victim.shared().may_be_interrupted = 1;
    for (int i = 0; i < 15; ++i) {
      pid_t tracer = ::fork();
      if (tracer == 0) {
        auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
        ::_exit(injected ? 0 : 1);
      }
      ::usleep(static_cast<useconds_t>(random() % (i == 0 ? 30000 : 15000)));
      ::kill(tracer, SIGKILL);
      int status;
      ::waitpid(tracer, &status, 0);
      killed += WIFSIGNALED(status);
    }
    ASSERT_TRUE(victim.is_well()) << "round " << round;
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    ASSERT_TRUE(injected) << injected.error().message;
    ASSERT_TRUE(victim.is_well());
  }
  EXPECT_GT(killed, 10);
}

TEST(Inject, SaysWhatTheAgentSays) {
  Victim victim(all_kinds());
  std::string object = "process " + std::to_string(victim.pid()) + ": ";
  auto refused = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/refuse");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, object + "the agent cannot start: Permission denied");
  auto fault = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/fault");
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().message, object + "egpu_agent_attach failed: Segmentation fault");
  ASSERT_TRUE(victim.is_well());
}

// Let go in the middle of a call, the thread finds back by itself, by the frame laid for it: general
// and vector registers, signal mask, and the wait that was interrupted.
TEST(Inject, ThreadComesBackByItself) {
  for (const char *kind : {"vector", "epoll", "condition", "sleep"}) {
    Victim victim({kind});
    auto before = masks(victim.pid());
    auto loaded = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    ASSERT_TRUE(loaded) << loaded.error().message;
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/slow",
                                 std::chrono::milliseconds(1000));
    ASSERT_FALSE(injected) << kind;
    EXPECT_THAT(injected.error().message, HasSubstr("egpu_agent_attach does not return; it was left alone"))
        << kind;
    for (int k = 0; k < 10000 && victim.shared().attaches < 2; ++k) ::usleep(1000);
    EXPECT_EQ(victim.shared().attaches, 2u) << kind;
    wait_for_agent_thread(victim, 2);
    ASSERT_TRUE(victim.is_well()) << kind;
    EXPECT_EQ(masks(victim.pid()), before) << kind;
  }
}

TEST(Inject, SaysWhyDlopenFailed) {
  Victim victim(all_kinds());
  std::vector<uint8_t> text = {'n', 'o', ' ', 'E', 'L', 'F'};
  size_t fds = fd_count(victim.pid());
  auto injected = inject_agent(victim.pid(), text, "/tmp/some.sock");
  ASSERT_FALSE(injected);
  EXPECT_THAT(injected.error().message, HasSubstr(": the agent cannot be loaded: /proc/self/fd/"));
  EXPECT_THAT(injected.error().message, HasSubstr("file too short"));
  ASSERT_TRUE(victim.is_well());
  EXPECT_EQ(fd_count(victim.pid()), fds);
  EXPECT_FALSE(inject_agent(victim.pid(), std::string("/nonexistent"), "/tmp/some.sock"));
}

TEST(Attachable, Errors) {
  EXPECT_EQ(check_attachable(0x3fffff).error().message, "process 4194303: no such process");
  EXPECT_EQ(check_attachable(::getpid()).error().message,
            "process " + std::to_string(::getpid()) + ": is this program itself");
  pid_t child = ::fork();
  if (child == 0) {
    ::execlp("sleep", "sleep", "100", nullptr);
    ::_exit(127);
  }
  ::usleep(50000);
  EXPECT_THAT(check_attachable(child).error().message,
              HasSubstr("does not use CUDA (libcuda.so.1 is not loaded in "));
  ::kill(child, SIGKILL);
  ::usleep(20000);
  EXPECT_EQ(check_attachable(child).error().message, "process " + std::to_string(child) + ": has ended");
  ::waitpid(child, nullptr, 0);

  Victim victim({"poll"});
  ::kill(victim.pid(), SIGSTOP);
  ::usleep(20000);
  EXPECT_THAT(check_attachable(victim.pid()).error().message, HasSubstr("is stopped; continue it first"));
  ::kill(victim.pid(), SIGCONT);
  ::usleep(20000);
  auto facts = check_attachable(victim.pid());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_NE(facts->libcuda, 0u);
  EXPECT_EQ(facts->agent, 0u);
  EXPECT_EQ(facts->threads.size(), 1u);
  EXPECT_FALSE(facts->other_mount_namespace);

  pid_t debugger = ::fork();
  if (debugger == 0) {
    ::ptrace(PTRACE_SEIZE, victim.pid(), nullptr, nullptr);
    for (;;) ::pause();
  }
  ::usleep(50000);
  EXPECT_THAT(check_attachable(victim.pid()).error().message,
              HasSubstr("another debugger is attached to it (process " + std::to_string(debugger) + ")"));
  ::kill(debugger, SIGKILL);
  ::waitpid(debugger, nullptr, 0);
}

TEST(Attachable, OtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(12345, 12345, 12345) == 0) ::execlp("sleep", "sleep", "100", nullptr);
    ::_exit(127);
  }
  ::usleep(50000);
  EXPECT_THAT(check_attachable(child).error().message,
              HasSubstr("belongs to user 12345, not to us (user 0)"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
