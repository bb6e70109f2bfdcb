// Which registers can still be read after each place of a program. Found once, by a backward
// data-flow pass over the instructions; the explorer then ignores dead registers.
#pragma once
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {

class Liveness {
 public:
  explicit Liveness(const std::vector<Insn> &insns);

  /// Registers that are live before an instruction executes.
  RegMask before(int insn) const { return before_[static_cast<size_t>(insn)]; }
  /// Registers that are live after it, on the way to the instruction that follows it.
  RegMask after(int insn) const;
  /// Of a caller's frame while the call at `insn` is open.
  RegMask during_call(int insn) const { return static_cast<RegMask>(after(insn) & ~kCallClobbers); }

  static constexpr RegMask kCallClobbers = 0x3f;  // r0 to r5

 private:
  const std::vector<Insn> &insns_;
  std::vector<RegMask> before_;
};

/// The registers an instruction reads and writes by itself (a local call: r1 to r5, r0).
struct RegUse {
  RegMask reads = 0, writes = 0;
};
RegUse reg_use(const Op &op);

}  // namespace egpu::bpf
