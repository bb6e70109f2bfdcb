#include "lib/loader/inject/tracee.h"

#include <elf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace egpu::inject {
namespace {

constexpr int kSpins = 50;
constexpr useconds_t kPollUs = 20;
constexpr size_t kMaxXstateBytes = 64 * 1024;

Error ptrace_error(const char *what, pid_t tid) {
  return system_error("thread " + std::to_string(tid) + ": " + what);
}

// signal(7): never restarted after a stop, whatever SA_RESTART says; and those that a socket
// time-out makes so.
constexpr long kEndedByStops[] = {
    SYS_epoll_wait,   SYS_epoll_pwait,   SYS_epoll_pwait2,   SYS_semop,   SYS_semtimedop, SYS_rt_sigtimedwait,
    SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter, SYS_msgrcv,  SYS_msgsnd,     SYS_recvfrom,
    SYS_recvmsg,      SYS_recvmmsg,      SYS_sendto,         SYS_sendmsg, SYS_accept,     SYS_accept4,

};

}  // namespace

Result<Tracee> Tracee::seize(pid_t tid, int *error_number) {
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
    if (error_number != nullptr) *error_number = errno;
    return ptrace_error("PTRACE_SEIZE", tid);
  }
  return Tracee(tid);
}

Tracee::Tracee(Tracee &&other) noexcept
    : tid_(other.tid_), attached_(other.attached_), stopped_(other.stopped_), signal_(other.signal_) {
  other.attached_ = false;
}

Tracee::~Tracee() { detach(); }

void Tracee::interrupt() { ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr); }

Stopped Tracee::wait(Clock::time_point deadline) {
  if (!attached_) return Stopped::ended;
  int status = 0;
  for (int tries = 0;; ++tries) {
    pid_t got = ::waitpid(tid_, &status, __WALL | WNOHANG);
    if (got == tid_) break;
    if (got < 0 && errno != EINTR) {
      attached_ = stopped_ = false;
      return Stopped::ended;
    }
    if (Clock::now() > deadline) return Stopped::running;
    // Stops mostly come within microseconds. Yielding would hand a busy machine's processor away
    // for milliseconds; a sleeper gets it back when its time comes.
    if (tries > kSpins) ::usleep(kPollUs);
  }
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    attached_ = stopped_ = false;
    return Stopped::ended;
  }
  stopped_ = true;
  if ((status >> 16) == PTRACE_EVENT_STOP) return Stopped::interrupted;
  if (WSTOPSIG(status) == (SIGTRAP | 0x80)) return Stopped::syscall;
  signal_ = WSTOPSIG(status);
  return Stopped::signal;
}

Stopped Tracee::stop(Clock::time_point deadline) {
  interrupt();
  if (stopped_ && !resume(PTRACE_CONT)) return Stopped::ended;
  for (;;) {
    Stopped how = wait(deadline);
    if (how != Stopped::signal && how != Stopped::syscall) return how;
    keep_system_call(*this);
    if (!resume(PTRACE_CONT)) return Stopped::ended;
  }
}

Result<Ok> Tracee::resume(__ptrace_request how) {
  if (::ptrace(how, tid_, nullptr, static_cast<uintptr_t>(signal_)) != 0) return ptrace_error("resume", tid_);
  signal_ = 0;
  stopped_ = false;
  return Ok{};
}

void Tracee::detach() {
  if (!attached_) return;
  if (!stopped_) {
    interrupt();
    // A thread in uninterruptible sleep stops late; it cannot be let go before.
    Stopped how = wait(Clock::now() + std::chrono::seconds(5));
    if (how == Stopped::ended || how == Stopped::running) return;
    keep_system_call(*this);
  }
  ::ptrace(PTRACE_DETACH, tid_, nullptr, static_cast<uintptr_t>(signal_));
  attached_ = false;
}

Result<Registers> Tracee::registers() const {
  Registers registers;
  if (::ptrace(PTRACE_GETREGS, tid_, nullptr, &registers) != 0)
    return ptrace_error("reading registers", tid_);
  return registers;
}

Result<Ok> Tracee::set_registers(const Registers &registers) const {
  if (::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers) != 0)
    return ptrace_error("writing registers", tid_);
  return Ok{};
}

Result<std::vector<uint8_t>> Tracee::xstate() const {
  std::vector<uint8_t> bytes(kMaxXstateBytes);
  iovec part = {bytes.data(), bytes.size()};
  if (::ptrace(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &part) != 0)
    return ptrace_error("reading xstate", tid_);
  bytes.resize(part.iov_len);
  return bytes;
}

Result<Ok> Tracee::set_xstate(const std::vector<uint8_t> &xstate) const {
  iovec part = {const_cast<uint8_t *>(xstate.data()), xstate.size()};
  if (::ptrace(PTRACE_SETREGSET, tid_, NT_X86_XSTATE, &part) != 0)
    return ptrace_error("writing xstate", tid_);
  return Ok{};
}

Result<uint64_t> Tracee::signal_mask() const {
  uint64_t mask;
  if (::ptrace(PTRACE_GETSIGMASK, tid_, sizeof(mask), &mask) != 0)
    return ptrace_error("reading signal mask", tid_);
  return mask;
}

Result<Ok> Tracee::set_signal_mask(uint64_t mask) const {
  if (::ptrace(PTRACE_SETSIGMASK, tid_, sizeof(mask), &mask) != 0)
    return ptrace_error("writing signal mask", tid_);
  return Ok{};
}

bool keep_system_call(Registers &registers) {
  auto number = static_cast<long>(registers.orig_rax);
  if (number < 0 || static_cast<int64_t>(registers.rax) != -EINTR) return false;
  for (long ended : kEndedByStops) {
    if (ended != number) continue;
    // Restarted if no handler runs, else EINTR as it would be without us.
    registers.rax = static_cast<unsigned long long>(kRestartNoHand);
    return true;
  }
  return false;
}

void keep_system_call(const Tracee &tracee) {
  auto registers = tracee.registers();
  if (registers && keep_system_call(*registers)) [[maybe_unused]]
    auto set = tracee.set_registers(*registers);
}

}  // namespace egpu::inject
