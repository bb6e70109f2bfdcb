#include "lib/bpf2ptx/verify/branch.h"

namespace egpu::bpf {
namespace {

CmpOp negated(CmpOp op) {
  switch (op) {
    case CmpOp::eq:
      return CmpOp::ne;
    case CmpOp::ne:
      return CmpOp::eq;
    case CmpOp::gt:
      return CmpOp::le;
    case CmpOp::ge:
      return CmpOp::lt;
    case CmpOp::lt:
      return CmpOp::ge;
    case CmpOp::le:
      return CmpOp::gt;
    case CmpOp::sgt:
      return CmpOp::sle;
    case CmpOp::sge:
      return CmpOp::slt;
    case CmpOp::slt:
      return CmpOp::sge;
    case CmpOp::sle:
      return CmpOp::sgt;
    case CmpOp::set:
      return CmpOp::set;
  }
  return op;
}

template <class B>
bool exclude(B &a, const B &b) {
  if (b.umin != b.umax) return true;
  if ((a.umin == a.umax && a.umin == b.umin) || (a.smin == a.smax && a.smin == b.smin)) return false;
  if (a.umin == b.umin) ++a.umin;
  if (a.umax == b.umin) --a.umax;
  if (a.smin == b.smin) ++a.smin;
  if (a.smax == b.smin) --a.smax;
  return true;
}

// lhs < rhs, or with `equal` lhs <= rhs.
template <class B>
bool less_unsigned(B &lhs, B &rhs, bool equal) {
  if (!equal && (rhs.umax == 0 || lhs.umin == B::kMax)) return false;
  lhs.umax = std::min(lhs.umax, static_cast<decltype(lhs.umax)>(rhs.umax - !equal));
  rhs.umin = std::max(rhs.umin, static_cast<decltype(lhs.umax)>(lhs.umin + !equal));
  return true;
}

template <class B>
bool less_signed(B &lhs, B &rhs, bool equal) {
  if (!equal && (rhs.smax == B::kSignedMin || lhs.smin == B::kSignedMax)) return false;
  lhs.smax = std::min(lhs.smax, static_cast<decltype(lhs.smax)>(rhs.smax - !equal));
  rhs.smin = std::max(rhs.smin, static_cast<decltype(lhs.smax)>(lhs.smin + !equal));
  return true;
}

template <class B>
bool refine_bounds(CmpOp op, B &a, B &b) {
  switch (op) {
    case CmpOp::eq: {
      B both = a;
      both.limit_unsigned(b.umin, b.umax);
      both.limit_signed(b.smin, b.smax);
      a = b = both;
      return true;
    }
    case CmpOp::ne:
      return exclude(a, b) && exclude(b, a);
    case CmpOp::lt:
      return less_unsigned(a, b, false);
    case CmpOp::le:
      return less_unsigned(a, b, true);
    case CmpOp::gt:
      return less_unsigned(b, a, false);
    case CmpOp::ge:
      return less_unsigned(b, a, true);
    case CmpOp::slt:
      return less_signed(a, b, false);
    case CmpOp::sle:
      return less_signed(a, b, true);
    case CmpOp::sgt:
      return less_signed(b, a, false);
    case CmpOp::sge:
      return less_signed(b, a, true);
    case CmpOp::set:
      return true;
  }
  return true;
}

// Equal numbers have the same bits; only the low half is compared by 32-bit branches.
bool equate_bits(bool is64, Range &a, Range &b) {
  uint64_t compared = is64 ? ~uint64_t{0} : 0xffffffff;
  auto both = intersect(Tnum{a.bits.value & compared, a.bits.mask & compared},
                        Tnum{b.bits.value & compared, b.bits.mask & compared});
  if (!both) return false;
  for (Range *r : {&a, &b})
    r->bits = {(r->bits.value & ~compared) | both->value, (r->bits.mask & ~compared) | both->mask};
  return true;
}

// "a & b" is not zero (`outcome`) or zero.
bool refine_set(bool is64, bool outcome, Range &a, Range &b) {
  uint64_t compared = is64 ? ~uint64_t{0} : 0xffffffff;
  uint64_t possible = a.bits.max() & b.bits.max() & compared;
  if (outcome) {
    if (possible == 0) return false;
    // One bit is left that both can have: both have it.
    if ((possible & (possible - 1)) == 0)
      for (Range *r : {&a, &b}) r->bits = {r->bits.value | possible, r->bits.mask & ~possible};
    return true;
  }
  uint64_t certain = a.bits.value & b.bits.value & compared;
  if (certain) return false;
  // Where one operand's bit is 1, the other's is 0.
  uint64_t a_ones = a.bits.value & compared, b_ones = b.bits.value & compared;
  a.bits.mask &= ~b_ones;
  b.bits.mask &= ~a_ones;
  return true;
}

}  // namespace

bool refine(CmpOp op, bool is64, bool outcome, Range &lhs, Range &rhs) {
  if (op == CmpOp::set) {
    if (!refine_set(is64, outcome, lhs, rhs)) return false;
  } else {
    if (!outcome) op = negated(op);
    if (!(is64 ? refine_bounds(op, lhs.full, rhs.full) : refine_bounds(op, lhs.low, rhs.low))) return false;
    if (op == CmpOp::eq && !equate_bits(is64, lhs, rhs)) return false;
  }
  lhs.settle();
  rhs.settle();
  return !lhs.empty() && !rhs.empty();
}

}  // namespace egpu::bpf
