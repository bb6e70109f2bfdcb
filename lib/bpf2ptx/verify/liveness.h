// Which registers can still be read after each place of a program, and which numbers matter, in registers
// and on the stack: that can reach an address, a helper or a branch that they decide. Found by backward
// data-flow passes over the instructions. The explorer ignores dead registers and the values of numbers that
// do not matter, such as sums that are only stored.
#pragma once
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {

struct Matters {
  std::vector<RegMask> before;  // by instruction: registers, before it executes
  Stack::Bytes stack;           // of every frame, at any time

  bool operator==(const Matters &) const = default;
};

class Liveness {
 public:
  /// `main_end`: the first instruction that is not the main program's.
  Liveness(const std::vector<Insn> &insns, size_t main_end);

  /// Registers that are live before an instruction executes.
  RegMask before(int insn) const { return before_[static_cast<size_t>(insn)]; }
  /// Registers that are live after it, on the way to the instruction that follows it.
  RegMask after(int insn) const { return after(before_, insn); }
  /// The same of other masks than the live registers': of Matters::before.
  RegMask after(const std::vector<RegMask> &before, int insn) const;
  /// Of a caller's frame while the call at `insn` is open.
  RegMask during_call(int insn) const { return during_call(before_, insn); }
  RegMask during_call(const std::vector<RegMask> &before, int insn) const {
    return static_cast<RegMask>(after(before, insn) & ~kCallClobbers);
  }

  /// The numbers that matter if, of all branches, those of `decides` (by instruction) can be decided by what
  /// their operands are. The others always go both ways.
  Matters matters(const std::vector<bool> &decides) const;

  static constexpr RegMask kCallClobbers = 0x3f;  // r0 to r5

 private:
  RegMask matters_through(size_t insn, bool decides, Matters &matters) const;
  Stack::Bytes stack_bytes(Reg base, int offset, int size) const;
  RegMask may_point_to_stack() const;

  const std::vector<Insn> &insns_;
  size_t main_end_;
  std::vector<RegMask> before_;
  RegMask stack_pointers_ = 0;
};

/// The registers an instruction reads and writes by itself (a local call: r1 to r5, r0).
struct RegUse {
  RegMask reads = 0, writes = 0;
};
RegUse reg_use(const Op &op);

}  // namespace egpu::bpf
