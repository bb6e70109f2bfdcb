// Which registers can still be read after each place of a program, and which of those hold
// numbers that matter: that can reach an address, a branch, a helper or the stack. Found once,
// by backward data-flow passes over the instructions. The explorer ignores dead registers and
// the values of numbers that do not matter, such as counters that are only added to.
#pragma once
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {

class Liveness {
 public:
  /// `main_end`: the first instruction that is not the main program's.
  Liveness(const std::vector<Insn> &insns, size_t main_end);

  /// Registers that are live before an instruction executes.
  RegMask before(int insn) const { return before_[static_cast<size_t>(insn)]; }
  /// Registers that are live after it, on the way to the instruction that follows it.
  RegMask after(int insn) const { return after(before_, insn); }
  /// Of a caller's frame while the call at `insn` is open.
  RegMask during_call(int insn) const { return static_cast<RegMask>(after(insn) & ~kCallClobbers); }

  RegMask matters_before(int insn) const { return matters_[static_cast<size_t>(insn)]; }
  RegMask matters_during_call(int insn) const {
    return static_cast<RegMask>(after(matters_, insn) & ~kCallClobbers);
  }

  static constexpr RegMask kCallClobbers = 0x3f;  // r0 to r5

 private:
  RegMask after(const std::vector<RegMask> &before, int insn) const;
  void find_matters(size_t main_end);
  RegMask matters_through(size_t insn, RegMask after, bool in_main, RegMask stack_pointers) const;
  RegMask may_point_to_stack() const;

  const std::vector<Insn> &insns_;
  std::vector<RegMask> before_, matters_;
};

/// The registers an instruction reads and writes by itself (a local call: r1 to r5, r0).
struct RegUse {
  RegMask reads = 0, writes = 0;
};
RegUse reg_use(const Op &op);

}  // namespace egpu::bpf
