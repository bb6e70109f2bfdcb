#include "lib/loader/inject/write_hooks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "lib/loader/inject/process.h"
#include "lib/loader/inject/relocate.h"
#include "lib/loader/inject/target.h"
#include "lib/loader/inject/tracee.h"

namespace egpu::inject {
namespace {

using session::EntryPoint;
using session::Hook;

// A thread in an uninterruptible wait holds up all others for so long.
constexpr auto kStopLimit = std::chrono::milliseconds(500);
constexpr int kMaxMoves = 1000;

// All threads of a process, stopped. Released when destroyed.
class StoppedProcess {
 public:
  static Result<StoppedProcess> stop(pid_t pid) {
    StoppedProcess process;
    auto all = process.stop_all(pid);
    if (!all) {
      process.release();
      return std::move(all).error();
    }
    return process;
  }

  std::vector<Tracee> &threads() { return threads_; }

  // The stopped ones first: letting go of another one waits for its stop.
  void release() {
    for (Tracee &thread : threads_)
      if (thread.is_stopped()) thread.detach();
    threads_.clear();
  }

 private:
  Result<Ok> stop_all(pid_t pid) {
    auto deadline = Clock::now() + kStopLimit;
    std::set<pid_t> known;
    // A thread that still runs may make another; when a listing brings no new one, all are stopped.
    for (bool found = true; found;) {
      found = false;
      size_t first = threads_.size();
      for (pid_t tid : threads_of(pid)) {
        if (!known.insert(tid).second) continue;
        int error = 0;
        auto tracee = Tracee::seize(tid, &error);
        if (!tracee) {
          if (error == ESRCH) continue;  // it has just ended
          return Error{error == EPERM ? refused_by_kernel(pid) : tracee.error().message};
        }
        tracee->interrupt();
        threads_.push_back(*std::move(tracee));
        found = true;
      }
      for (size_t i = first; i < threads_.size(); ++i) {
        if (threads_[i].wait(deadline) == Stopped::running)
          return Error{"thread " + std::to_string(threads_[i].tid()) + ": does not stop"};
        // At once, so that only a kill of ours within microseconds could show in the target.
        if (threads_[i].is_stopped()) keep_system_call(threads_[i]);
      }
    }
    if (threads_.empty()) return Error{"process " + std::to_string(pid) + ": no such process"};
    return Ok{};
  }

  std::vector<Tracee> threads_;
};

bool is_inside(uint64_t rip, const std::vector<EntryPoint> &entries, const std::vector<Hook> &hooks) {
  for (size_t i = 0; i < entries.size(); ++i)
    if (hooks[i].ok != 0 && rip > entries[i].address && rip < entries[i].address + kEntryJumpBytes)
      return true;
  return false;
}

// Lets the thread run for a moment, until it stops outside of all entries. Not by single steps: the
// trap flag would outlive us if we were killed, and kill the thread.
Result<Ok> move_out(Tracee &thread, const std::vector<EntryPoint> &entries, const std::vector<Hook> &hooks) {
  for (int i = 0; i < kMaxMoves && thread.is_stopped(); ++i) {
    TRY(Registers registers, thread.registers());
    if (!is_inside(registers.rip, entries, hooks)) return Ok{};
    TRY([[maybe_unused]] auto resumed, thread.resume(PTRACE_CONT));
    thread.interrupt();
    if (thread.wait(Clock::now() + kStopLimit) == Stopped::running)
      return Error{"thread " + std::to_string(thread.tid()) + ": does not stop"};
    keep_system_call(thread);
  }
  if (!thread.is_stopped()) return Ok{};  // it has ended
  return Error{"thread " + std::to_string(thread.tid()) + ": stays inside an entry point"};
}

std::span<const uint8_t> bytes_of(const uint64_t &word) {
  return {reinterpret_cast<const uint8_t *>(&word), sizeof(word)};
}

// Undoes what was written.
void remove_hooks(const Memory &memory, const std::vector<EntryPoint> &entries, std::vector<Hook> &hooks) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (hooks[i].written == 0) continue;
    [[maybe_unused]] auto written = memory.write(entries[i].address, bytes_of(hooks[i].original));
    hooks[i].written = 0;
  }
}

Result<Ok> write_all(const Memory &memory, const std::vector<EntryPoint> &entries, std::vector<Hook> &hooks) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (hooks[i].ok == 0) continue;
    TRY(uint64_t now, memory.get<uint64_t>(entries[i].address));
    if (now != hooks[i].original) {
      hooks[i].ok = 0;  // somebody else hooks it too
      continue;
    }
    TRY([[maybe_unused]] auto trampoline, memory.write(entries[i].trampoline, hooks[i].trampoline));
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (hooks[i].ok == 0) continue;
    TRY([[maybe_unused]] auto jump, memory.write(entries[i].address, bytes_of(hooks[i].jump)));
    hooks[i].written = 1;
  }
  return Ok{};
}

}  // namespace

Result<StopTime> write_hooks(pid_t pid, const std::vector<EntryPoint> &entries, std::vector<Hook> &hooks) {
  if (entries.size() != hooks.size()) return Error{"hooks: not one for each entry point"};
  TRY(Memory memory, Memory::open(pid, true));
  auto begin = Clock::now();
  TRY(StoppedProcess process, StoppedProcess::stop(pid));
  auto count = static_cast<uint32_t>(process.threads().size());
  Result<Ok> done = Ok{};
  for (Tracee &thread : process.threads()) {
    done = move_out(thread, entries, hooks);
    if (!done) break;
  }
  if (done) done = write_all(memory, entries, hooks);
  if (!done) remove_hooks(memory, entries, hooks);
  process.release();
  auto stopped = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  if (!done) return std::move(done).error().in("process " + std::to_string(pid));
  return StopTime{count, static_cast<uint64_t>(stopped.count())};
}

}  // namespace egpu::inject
