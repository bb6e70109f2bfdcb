// A thread of the target that runs calls for us, and is then put back as it was.
//
// What the thread does for us looks to it like a signal handler: a frame below its stack's red
// zone holds all it needs to go on (signal_frame.h), and each detour ends in rt_sigreturn. Normally
// we catch that call and restore everything by ptrace, which also keeps a sleep's remaining time;
// if we are killed at any moment, the kernel lets the thread run on and it returns by itself.
// Signals are blocked meanwhile and delivered afterwards; faults are not, and end the detour.
//
//   borrow()      frame laid, signals blocked
//   call_system() one system call
//   prepare()     memory for functions: a page of code, a stack, a scratch area
//   call()        one function
//   give_back()   memory returned, registers, vector state, mask and stack bytes as before
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "egpu/result.h"
#include "lib/loader/inject/process.h"
#include "lib/loader/inject/safe_point.h"
#include "lib/loader/inject/signal_frame.h"
#include "lib/loader/inject/tracee.h"

namespace egpu::inject {

class Borrowed {
 public:
  /// `thread` is stopped at a safe point. Memory must be writable, and both outlive this.
  static Result<Borrowed> borrow(Tracee &thread, const Memory &memory, const SafePoints &points);
  Borrowed(Borrowed &&other) noexcept;
  Borrowed &operator=(Borrowed &&) = delete;
  /// Gives back what was not given back.
  ~Borrowed();

  /// The result, or the negative error number as an Error naming `what`.
  Result<uint64_t> call_system(const char *what, long number, std::initializer_list<uint64_t> arguments);
  Result<Ok> prepare();
  /// Calls a function with up to six arguments on our stack. Error: it faulted, or does not return
  /// in time; in that case the thread has been let go, and returns by itself when the call does.
  Result<uint64_t> call(const char *what, uint64_t function, std::initializer_list<uint64_t> arguments,
                        Clock::time_point deadline);
  /// Puts a string into the scratch area (until the next put) and returns its address.
  Result<uint64_t> put(const std::string &text);

  Result<Ok> give_back();

 private:
  Borrowed(Tracee &thread, const Memory &memory, const SafePoints &points)
      : thread_(&thread), memory_(&memory), points_(&points) {}
  Result<Ok> run_to(uint64_t number, bool entry, Clock::time_point deadline, const char *what);
  Result<Ok> restore();

  Tracee *thread_;
  const Memory *memory_;
  const SafePoints *points_;
  Registers original_{};
  std::vector<uint8_t> xstate_;
  uint64_t mask_ = 0;
  SignalFrame frame_{};               // on the thread's own stack
  std::vector<uint8_t> stack_bytes_;  // what was there before
  SignalFrame call_frame_{};          // on ours
  uint64_t area_ = 0;
  bool borrowed_ = false;
};

}  // namespace egpu::inject
