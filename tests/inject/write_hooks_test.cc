#include "lib/loader/inject/write_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "lib/loader/inject/process.h"
#include "lib/loader/inject/ptrace.h"
#include "lib/loader/inject/relocate.h"
#include "lib/loader/inject/target.h"
#include "tests/inject/victim_process.h"

using namespace egpu::inject;
using egpu::session::EntryPoint;
using egpu::session::Hook;

namespace {

// The victim with the agent in it, and its cuLaunchKernel as an entry point.
struct Attached {
  Attached() : victim(all_kinds()) {
    auto injected = inject_agent(victim.pid(), std::string(EGPU_STAND_IN_AGENT), "/tmp/some.sock");
    EXPECT_TRUE(injected) << injected.error().message;
    entry.address = victim.shared().launch_address;
    entry.replacement = victim.shared().replacement;
    entry.trampoline = victim.shared().trampoline;
    EXPECT_TRUE(Memory::open(victim.pid())->read(entry.address, entry.code));
  }
  Victim victim;
  EntryPoint entry{};
};

bool none_is_traced(pid_t pid) {
  for (pid_t tid : threads_of(pid)) {
    auto facts = inspect(tid);
    if (facts && facts->tracer != 0) return false;
  }
  return true;
}

TEST(WriteHooks, HooksAndUnhooksARunningProcess) {
  Attached attached;
  Victim &victim = attached.victim;
  auto memory = Memory::open(victim.pid(), true);
  ASSERT_TRUE(memory);
  std::vector<uint64_t> stopped_us;
  for (int i = 0; i < 100; ++i) {
    auto hook = relocate(attached.entry);
    ASSERT_TRUE(hook) << hook.error().message;
    std::vector<Hook> hooks = {*hook};
    auto written = write_hooks(victim.pid(), {attached.entry}, hooks);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(hooks[0].written, 1u);
    EXPECT_GE(written->thread_count, 10u);
    stopped_us.push_back(written->stopped_us);
    uint64_t before = victim.shared().hooked_launches;
    for (int k = 0; k < 2000 && victim.shared().hooked_launches == before; ++k) ::usleep(500);
    ASSERT_GT(victim.shared().hooked_launches, before) << "the hook is not called";
    // As the agent does it: 8 bytes back, no stop.
    ASSERT_TRUE(memory->write(attached.entry.address, {reinterpret_cast<uint8_t *>(&hooks[0].original), 8}));
  }
  ASSERT_TRUE(victim.is_well());
  EXPECT_TRUE(none_is_traced(victim.pid()));
  ::usleep(20000);
  uint64_t hooked = victim.shared().hooked_launches, launched = victim.progress(kLaunch);
  ASSERT_TRUE(victim.is_well());
  EXPECT_GT(victim.progress(kLaunch), launched);
  EXPECT_EQ(victim.shared().hooked_launches, hooked) << "still hooked";
  std::sort(stopped_us.begin(), stopped_us.end());
  std::printf("threads stopped for %lu us (median), %lu us (longest)\n",
              static_cast<unsigned long>(stopped_us[50]), static_cast<unsigned long>(stopped_us.back()));
}

TEST(WriteHooks, EveryLaunchIsCountedWhileHooked) {
  Attached attached;
  auto hook = relocate(attached.entry);
  ASSERT_TRUE(hook);
  std::vector<Hook> hooks = {*hook};
  uint64_t before = attached.victim.progress(kLaunch);
  auto written = write_hooks(attached.victim.pid(), {attached.entry}, hooks);
  ASSERT_TRUE(written) << written.error().message;
  uint64_t after = attached.victim.progress(kLaunch);
  ::usleep(50000);
  ::kill(attached.victim.pid(), SIGSTOP);
  ::usleep(20000);
  // Counting began between `before` and `after`; one launch may be under way.
  uint64_t hooked = attached.victim.shared().hooked_launches, done = attached.victim.progress(kLaunch);
  ::kill(attached.victim.pid(), SIGCONT);
  EXPECT_LE(hooked, done - before + 1);
  EXPECT_GE(hooked, done - after);
}

TEST(WriteHooks, LeavesAloneWhatSomebodyElseChanged) {
  Attached attached;
  auto hook = relocate(attached.entry);
  ASSERT_TRUE(hook);
  std::vector<Hook> hooks = {*hook, *hook, *hook};
  hooks[0].original ^= 1;
  hooks[1].ok = 0;
  auto written = write_hooks(attached.victim.pid(), {attached.entry, attached.entry, attached.entry}, hooks);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(hooks[0].ok, 0u);
  EXPECT_EQ(hooks[0].written + hooks[1].written, 0u);
  EXPECT_EQ(hooks[2].written, 1u);
  ASSERT_TRUE(attached.victim.is_well());
}

TEST(WriteHooks, UndoesAllIfOneCannotBeWritten) {
  Attached attached;
  auto hook = relocate(attached.entry);
  ASSERT_TRUE(hook);
  std::vector<EntryPoint> entries = {attached.entry, attached.entry};
  entries[1].address = 0x1000;  // nothing is mapped there
  std::vector<Hook> hooks = {*hook, *hook};
  auto written = write_hooks(attached.victim.pid(), entries, hooks);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, testing::HasSubstr("memory at 0x1000: cannot read 8 bytes"));
  uint64_t now = *Memory::open(attached.victim.pid())->get<uint64_t>(attached.entry.address);
  EXPECT_EQ(now, hook->original);
  ASSERT_TRUE(attached.victim.is_well());
  EXPECT_FALSE(write_hooks(0x3fffff, {}, *std::make_unique<std::vector<Hook>>()));
}

TEST(WriteHooks, TracerIsKilledAtAnyMoment) {
  Attached attached;
  attached.victim.shared().may_be_interrupted = 1;
  auto memory = Memory::open(attached.victim.pid(), true);
  ASSERT_TRUE(memory);
  auto hook = relocate(attached.entry);
  ASSERT_TRUE(hook);
  unsigned seed = 7;
  for (int i = 0; i < 60; ++i) {
    pid_t tracer = ::fork();
    if (tracer == 0) {
      std::vector<Hook> hooks = {*hook};
      auto written = write_hooks(attached.victim.pid(), {attached.entry}, hooks);
      ::_exit(written ? 0 : 1);
    }
    ::usleep(static_cast<useconds_t>(::rand_r(&seed) % 3000));
    ::kill(tracer, SIGKILL);
    ::waitpid(tracer, nullptr, 0);
    auto now = memory->get<uint64_t>(attached.entry.address);
    ASSERT_TRUE(now) << attached.victim.shared().failure;
    ASSERT_TRUE(*now == hook->original || *now == hook->jump);
    ASSERT_TRUE(memory->write(attached.entry.address, {reinterpret_cast<uint8_t *>(&hook->original), 8}));
  }
  ASSERT_TRUE(attached.victim.is_well());
}

}  // namespace
