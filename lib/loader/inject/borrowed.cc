#include "lib/loader/inject/borrowed.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace egpu::inject {
namespace {

constexpr uint64_t kRedZoneBytes = 128;  // System V ABI: below rsp, the function's own
constexpr uint64_t kPageBytes = 4096, kScratchBytes = 4096, kStackBytes = 512 * 1024;
constexpr uint64_t kAreaBytes = kPageBytes + kScratchBytes + kStackBytes;
constexpr uint64_t kResultOffset = kPageBytes;  // in the area; then the scratch strings
constexpr uint64_t kTextOffset = kPageBytes + 64;
constexpr auto kSystemCallLimit = std::chrono::seconds(10);

//   call *%rax; mov %rax,(%r12); mov $15,%eax; syscall
constexpr uint8_t kStub[] = {0xff, 0xd0, 0x49, 0x89, 0x04, 0x24, 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

constexpr uint64_t bit(int signal) { return uint64_t{1} << (signal - 1); }
// A fault with a blocked signal makes the kernel reset its handler; these stay as they are.
constexpr uint64_t kFaults =
    bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP) | bit(SIGSYS);

Registers with_arguments(Registers r, std::initializer_list<uint64_t> arguments, bool system_call) {
  unsigned long long *places[6] = {&r.rdi, &r.rsi, &r.rdx, system_call ? &r.r10 : &r.rcx, &r.r8, &r.r9};
  size_t i = 0;
  for (uint64_t a : arguments) *places[i++] = a;
  return r;
}

}  // namespace

Borrowed::Borrowed(Borrowed &&other) noexcept
    : thread_(other.thread_),
      memory_(other.memory_),
      points_(other.points_),
      original_(other.original_),
      xstate_(std::move(other.xstate_)),
      mask_(other.mask_),
      frame_(std::move(other.frame_)),
      stack_bytes_(std::move(other.stack_bytes_)),
      call_frame_(std::move(other.call_frame_)),
      area_(other.area_),
      borrowed_(std::exchange(other.borrowed_, false)) {}

Result<Borrowed> Borrowed::borrow(Tracee &thread, const Memory &memory, const SafePoints &points) {
  Borrowed b(thread, memory, points);
  TRY(b.original_, thread.registers());
  TRY(b.xstate_, thread.xstate());
  TRY(b.mask_, thread.signal_mask());
  b.frame_ =
      make_signal_frame(b.original_.rsp - kRedZoneBytes, points.restorer(), b.original_, b.xstate_, b.mask_);
  b.stack_bytes_.resize(b.frame_.bytes.size());
  TRY([[maybe_unused]] auto saved, memory.read(b.frame_.address, b.stack_bytes_));
  TRY([[maybe_unused]] auto laid, memory.write(b.frame_.address, b.frame_.bytes));
  // From here on the thread is on its way to rt_sigreturn, whatever happens to us.
  Registers r = b.original_;
  r.rip = points.restorer();
  r.rsp = b.frame_.sigreturn_rsp();
  r.orig_rax = ~0ull;
  TRY([[maybe_unused]] auto set, thread.set_registers(r));
  b.borrowed_ = true;
  TRY([[maybe_unused]] auto masked, thread.set_signal_mask(~kFaults));
  return b;
}

Borrowed::~Borrowed() {
  if (borrowed_) [[maybe_unused]]
    auto given = give_back();
}

// Lets the thread run until it enters or leaves system call `number`.
Result<Ok> Borrowed::run_to(uint64_t number, bool entry, Clock::time_point deadline, const char *what) {
  for (bool entering = true;; entering = !entering) {
    TRY([[maybe_unused]] auto resumed, thread_->resume(PTRACE_SYSCALL));
    for (;;) {
      Stopped how = thread_->wait(deadline);
      if (how == Stopped::syscall) break;
      if (how == Stopped::ended) {
        borrowed_ = false;
        return Error{std::string("the process ended during ") + what};
      }
      if (how == Stopped::running) {
        borrowed_ = false;
        return Error{std::string(what) + " does not return; it was left alone"};
      }
      if (how == Stopped::signal && thread_->kept_signal() != SIGSTOP) {
        int signal = thread_->kept_signal();
        thread_->drop_signal();
        return Error{std::string(what) + " failed: " + ::strsignal(signal)};
      }
      // A group stop, or its end: it does not concern the borrowed thread.
      thread_->drop_signal();
      TRY([[maybe_unused]] auto again, thread_->resume(PTRACE_SYSCALL));
    }
    TRY(Registers now, thread_->registers());
    if (now.orig_rax == number && entering == entry) return Ok{};
  }
}

Result<uint64_t> Borrowed::call_system(const char *what, long number,
                                       std::initializer_list<uint64_t> arguments) {
  Registers r = with_arguments(original_, arguments, true);
  r.rax = static_cast<unsigned long long>(number);
  r.rip = points_->syscall_return();
  r.rsp = frame_.address;  // `ret` goes to the restorer
  r.orig_rax = ~0ull;
  TRY([[maybe_unused]] auto set, thread_->set_registers(r));
  TRY([[maybe_unused]] auto ran,
      run_to(static_cast<uint64_t>(number), false, Clock::now() + kSystemCallLimit, what));
  TRY(Registers now, thread_->registers());
  auto result = static_cast<int64_t>(now.rax);
  if (result < 0 && result >= -4095)
    return Error{std::string(what) + ": " + std::strerror(static_cast<int>(-result))};
  return now.rax;
}

Result<Ok> Borrowed::prepare() {
  TRY(area_, call_system("mmap", SYS_mmap,
                         {0, kAreaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          ~0ull, 0}));
  TRY([[maybe_unused]] auto code, memory_->write(area_, kStub));
  TRY([[maybe_unused]] auto executable,
      call_system("mprotect", SYS_mprotect, {area_, kPageBytes, PROT_READ | PROT_EXEC}));
  call_frame_ = make_signal_frame(area_ + kAreaBytes, points_->restorer(), original_, xstate_, mask_);
  TRY([[maybe_unused]] auto laid, memory_->write(call_frame_.address, call_frame_.bytes));
  return Ok{};
}

Result<uint64_t> Borrowed::call(const char *what, uint64_t function,
                                std::initializer_list<uint64_t> arguments, Clock::time_point deadline) {
  Registers r = with_arguments(original_, arguments, false);
  r.rax = function;
  r.r12 = area_ + kResultOffset;
  r.rip = area_;
  r.rsp = call_frame_.sigreturn_rsp();  // 16-aligned, as the ABI wants it at a call
  r.rbp = 0;
  r.eflags &= ~0x400ull;  // direction flag clear, as the ABI wants it
  r.orig_rax = ~0ull;
  TRY([[maybe_unused]] auto set, thread_->set_registers(r));
  TRY([[maybe_unused]] auto ran, run_to(SYS_rt_sigreturn, true, deadline, what));
  // Entering rt_sigreturn: skip it, and be about to enter it again.
  TRY(Registers now, thread_->registers());
  now.rip -= 2;
  now.rax = SYS_rt_sigreturn;
  now.orig_rax = ~0ull;
  TRY([[maybe_unused]] auto skipped, thread_->set_registers(now));
  TRY([[maybe_unused]] auto left, thread_->resume(PTRACE_SYSCALL));
  if (thread_->wait(Clock::now() + kSystemCallLimit) != Stopped::syscall)
    return Error{std::string(what) + ": thread got lost"};
  return memory_->get<uint64_t>(area_ + kResultOffset);
}

Result<uint64_t> Borrowed::put(const std::string &text) {
  if (text.size() + 1 > kScratchBytes - 64) return Error{"path is too long: " + text};
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  TRY([[maybe_unused]] auto written, memory_->write(area_ + kTextOffset, bytes));
  return area_ + kTextOffset;
}

// Everything as before, in an order in which each step alone leaves the thread able to return.
Result<Ok> Borrowed::restore() {
  Stopped how = thread_->stop(Clock::now() + kSystemCallLimit);
  if (how != Stopped::interrupted) return Error{"thread could not be stopped to put it back"};
  TRY([[maybe_unused]] auto state, thread_->set_xstate(xstate_));
  TRY([[maybe_unused]] auto mask, thread_->set_signal_mask(mask_));
  Registers r = original_;
  keep_system_call(r);
  // A wait without a limit begins again; one with a limit is continued by the kernel, which
  // knows how much of it is left (restart_syscall(2)).
  const uint64_t arguments[6] = {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9};
  if (static_cast<int64_t>(r.rax) == kRestartBlock && r.orig_rax != SYS_restart_syscall &&
      wait_of(static_cast<long>(r.orig_rax), arguments) == Wait::unlimited)
    r.rax = static_cast<unsigned long long>(kRestartNoHand);
  TRY([[maybe_unused]] auto registers, thread_->set_registers(r));
  borrowed_ = false;
  return memory_->write(frame_.address, stack_bytes_);
}

Result<Ok> Borrowed::give_back() {
  if (!borrowed_) return Ok{};
  Result<Ok> unmapped = Ok{};
  if (area_ != 0) {
    auto done = call_system("munmap", SYS_munmap, {area_, kAreaBytes});
    if (!done) unmapped = std::move(done).error();
  }
  area_ = 0;
  if (!borrowed_) return unmapped;  // ended meanwhile
  // On the way to rt_sigreturn, so that the stop below finds it before or in user code there.
  Registers r = original_;
  r.rip = points_->restorer();
  r.rsp = frame_.sigreturn_rsp();
  r.orig_rax = ~0ull;
  TRY([[maybe_unused]] auto set, thread_->set_registers(r));
  TRY([[maybe_unused]] auto restored, restore());
  return unmapped;
}

}  // namespace egpu::inject
