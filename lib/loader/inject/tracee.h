// One thread under ptrace, and the ways it can stop.
//
// Seized, never attached: no SIGSTOP is sent, and PTRACE_INTERRUPT leaves no trace. A signal that
// arrives for the thread is kept and passed on at the next resume or detach. Destroying a Tracee
// lets the thread go on. All calls for one thread must come from the thread that seized it.
// Source: ptrace(2).
#pragma once
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "egpu/result.h"

namespace egpu::inject {

using Registers = user_regs_struct;
using Clock = std::chrono::steady_clock;

enum class Stopped {
  interrupted,  // by us, before it returns to user code (or a group stop)
  syscall,      // entering or leaving a system call
  signal,       // a signal is about to be delivered; kept in the Tracee
  ended,
  running,  // not stopped before the deadline
};

class Tracee {
 public:
  /// `error_number`, if given, tells why: EPERM (refused_by_kernel has the hint), ESRCH (has ended).
  static Result<Tracee> seize(pid_t tid, int *error_number = nullptr);
  Tracee(Tracee &&other) noexcept;
  Tracee &operator=(Tracee &&) = delete;
  ~Tracee();

  pid_t tid() const { return tid_; }
  bool is_stopped() const { return stopped_; }

  /// Asks it to stop; does not wait.
  void interrupt();
  /// Waits for the next stop.
  Stopped wait(Clock::time_point deadline);
  /// Interrupts and waits until it is `interrupted`. A running thread's signals that come before
  /// are passed on; for a thread that is stopped already, no user code runs in between.
  Stopped stop(Clock::time_point deadline);
  /// PTRACE_CONT or PTRACE_SYSCALL; passes on a kept signal.
  Result<Ok> resume(__ptrace_request how);
  /// Lets it go on for good; passes on a kept signal. Waits for a stop if it runs.
  void detach();
  int kept_signal() const { return signal_; }
  void drop_signal() { signal_ = 0; }

  Result<Registers> registers() const;
  Result<Ok> set_registers(const Registers &registers) const;
  Result<std::vector<uint8_t>> xstate() const;  // XSAVE area, standard form
  Result<Ok> set_xstate(const std::vector<uint8_t> &xstate) const;
  Result<uint64_t> signal_mask() const;
  Result<Ok> set_signal_mask(uint64_t mask) const;

 private:
  explicit Tracee(pid_t tid) : tid_(tid) {}
  pid_t tid_;
  bool attached_ = true, stopped_ = false;
  int signal_ = 0;
};

/// Some system calls end with EINTR when a thread is merely stopped (signal(7), "Interruption of
/// system calls and library functions by stop signals"). Makes the kernel restart them instead,
/// unless a handler runs. Call it at every stop before the thread goes on.
void keep_system_call(const Tracee &tracee);
/// The same on a copy of the registers; true if changed.
bool keep_system_call(Registers &registers);

// Results with which a system call says "restart me" (Linux, include/linux/errno.h).
constexpr int64_t kRestartSys = -512, kRestartNoIntr = -513, kRestartNoHand = -514, kRestartBlock = -516;

}  // namespace egpu::inject
