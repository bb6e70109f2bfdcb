// What is known of a 64-bit number: its bits, and its bounds and those of its low half.
//
// A Range stands for the numbers that fit all three parts. Operations are sound: the result
// contains every value that operands from the inputs can give. `settle` moves knowledge
// between the parts, after every operation and refinement.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "lib/bpf2ptx/insn/insn.h"
#include "lib/bpf2ptx/verify/bounds.h"
#include "lib/bpf2ptx/verify/tnum.h"

namespace egpu::bpf {

struct Range {
  Tnum bits;
  Bounds64 full;
  Bounds32 low;  // of the low 32 bits

  static Range constant(uint64_t value);
  static Range unknown() { return {}; }
  /// 0 to max.
  static Range up_to(uint64_t max);
  static Range between(uint64_t min, uint64_t max);

  bool is_constant() const { return full.umin == full.umax; }
  uint64_t value() const { return full.umin; }
  bool contains(uint64_t x) const;
  bool covers(const Range &inner) const;
  bool operator==(const Range &) const = default;

  /// Does no number fit? Then the path that leads here cannot be taken.
  bool empty() const { return impossible || full.empty() || low.empty(); }
  /// Draws every conclusion between the parts.
  void settle();

  bool impossible = false;  // the parts contradict one another
};

Range eval(AluOp op, bool is64, const Range &dst, const Range &src);
Range eval(const Mov &mov, const Range &src);
Range eval(const Endian &op, const Range &dst);
Range negate(bool is64, const Range &dst);
/// The low `bytes` of the number, extended.
Range extend(const Range &a, int bytes, bool sign);
Range join(const Range &a, const Range &b);
std::optional<Range> intersect(const Range &a, const Range &b);

/// "5", "0 to 63", "unknown": for messages.
std::string to_string(const Range &range);

}  // namespace egpu::bpf
