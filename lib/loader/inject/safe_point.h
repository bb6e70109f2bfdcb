// Where a thread may be borrowed for a call of dlopen.
//
// The call needs malloc's and ld.so's locks, so the thread must not hold one: it would wait for
// itself. Candidates are, best first, threads that wait in a system call without a time limit
// (nothing is delayed by borrowing them; a CUDA process always has one, the driver's event
// thread), threads that wait with one, and threads that compute outside of libc. A candidate
// passes if no word on its stack is a return address into malloc, ld.so, or the libc functions
// that hold their locks, or the return from a signal handler (which may have interrupted malloc).
// Stacks hold stale words, so a strict pass can fail for all threads; then only the frames next
// to the stack pointer count.
#pragma once
#include <cstdint>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/inject/target.h"
#include "lib/loader/inject/tracee.h"

namespace egpu::inject {

enum class Wait { unlimited, limited, none };  // none: it runs
struct Candidate {
  pid_t tid;
  Wait wait;
};

/// All threads, best first, by /proc/PID/task/TID/syscall.
std::vector<Candidate> candidates(pid_t pid);
/// How long a system call with these arguments may wait; `limited` for those we do not know.
Wait wait_of(long number, const uint64_t (&arguments)[6]);

struct Range {
  uint64_t begin, end;
};

class SafePoints {
 public:
  static Result<SafePoints> open(const Memory &memory, const TargetFacts &facts);

  /// May this stopped thread be borrowed? `strict`: look at the whole stack, not only its top.
  bool is_safe(const Registers &registers, bool strict) const;

  uint64_t syscall_return() const { return syscall_return_; }  // address of `syscall; ret` in libc
  uint64_t restorer() const { return restorer_; }              // address of `mov $15,%rax; syscall` in libc

 private:
  explicit SafePoints(const Memory &memory, const TargetFacts &facts) : memory_(&memory), facts_(&facts) {}
  void add_function_ranges(uint64_t libc);
  void add_other_mallocs(uint64_t libc);
  bool find_gadgets();
  bool is_return_address(uint64_t word) const;
  bool runs_in_plain_code(uint64_t rip) const;

  const Memory *memory_;
  const TargetFacts *facts_;
  std::vector<Range> unsafe_;  // code
  std::vector<Range> libc_code_;
  uint64_t syscall_return_ = 0, restorer_ = 0;
};

}  // namespace egpu::inject
