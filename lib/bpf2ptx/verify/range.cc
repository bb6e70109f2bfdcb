#include "lib/bpf2ptx/verify/range.h"

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/semantics.h"

namespace egpu::bpf {
namespace {

constexpr uint64_t kLowHalf = 0xffffffff;
constexpr uint64_t kSign64 = uint64_t{1} << 63, kSign32 = uint64_t{1} << 31;

// bits -> bounds
void bound_by_bits(Range &r) {
  r.full.limit_unsigned(r.bits.min(), r.bits.max());
  r.full.limit_signed(static_cast<int64_t>(r.bits.value | (r.bits.mask & kSign64)),
                      static_cast<int64_t>(r.bits.value | (r.bits.mask & ~kSign64)));
  Tnum low = truncate(r.bits, 4);
  r.low.limit_unsigned(static_cast<uint32_t>(low.min()), static_cast<uint32_t>(low.max()));
  r.low.limit_signed(static_cast<int32_t>(low.value | (low.mask & kSign32)),
                     static_cast<int32_t>(low.value | (low.mask & ~kSign32)));
}

// bounds -> bits
void know_by_bounds(Range &r) {
  auto bits = intersect(r.bits, Tnum::range(r.full.umin, r.full.umax));
  if (!bits) {
    r.impossible = true;
    return;
  }
  Tnum low = Tnum::range(r.low.umin, r.low.umax);
  low.mask |= ~kLowHalf;
  low.value &= kLowHalf;
  bits = intersect(*bits, low);
  if (!bits)
    r.impossible = true;
  else
    r.bits = *bits;
}

// 64-bit bounds -> bounds of the low half, where the upper half is the same for all.
void bound_low_half(Range &r) {
  if ((r.full.umin >> 32) == (r.full.umax >> 32))
    r.low.limit_unsigned(static_cast<uint32_t>(r.full.umin), static_cast<uint32_t>(r.full.umax));
  if ((r.full.smin >> 32) == (r.full.smax >> 32))
    r.low.limit_unsigned(static_cast<uint32_t>(r.full.smin), static_cast<uint32_t>(r.full.smax));
  if (r.full.smin >= INT32_MIN && r.full.smax <= INT32_MAX) {
    r.low.limit_signed(static_cast<int32_t>(r.full.smin), static_cast<int32_t>(r.full.smax));
    r.full.limit_signed(r.low.smin, r.low.smax);
  }
}

// Bounds of the low half -> 64-bit bounds: no number with the upper half of umin is below
// that half joined with the smallest low half; the same for the other three ends.
void bound_by_low_half(Range &r) {
  r.full.limit_unsigned((r.full.umin & ~kLowHalf) | r.low.umin, (r.full.umax & ~kLowHalf) | r.low.umax);
  uint64_t smin = static_cast<uint64_t>(r.full.smin), smax = static_cast<uint64_t>(r.full.smax);
  r.full.limit_signed(static_cast<int64_t>((smin & ~kLowHalf) | r.low.umin),
                      static_cast<int64_t>((smax & ~kLowHalf) | r.low.umax));
}

template <class B>
B eval_bounds(AluOp op, const B &a, const B &b) {
  bool shift_known = b.umax < B::kWidth;
  auto least = static_cast<unsigned>(b.umin), most = static_cast<unsigned>(b.umax);
  switch (op) {
    case AluOp::add:
      return add(a, b);
    case AluOp::sub:
      return sub(a, b);
    case AluOp::mul:
      return mul(a, b);
    case AluOp::and_:
      return and_(a, b);
    case AluOp::or_:
      return or_(a, b);
    case AluOp::xor_:
      return {};
    case AluOp::lsh:
      return shift_known ? lsh(a, least, most) : B{};
    case AluOp::rsh:
      return shift_known ? rsh(a, least, most) : rsh(a, 0, B::kWidth - 1);
    case AluOp::arsh:
      return shift_known ? arsh(a, least, most) : arsh(a, 0, B::kWidth - 1);
    case AluOp::div:
      return div(a, b);
    case AluOp::mod:
      return mod(a, b);
    case AluOp::sdiv:
      return sdiv(a, b);
    case AluOp::smod:
      return smod(a, b);
  }
  return {};
}

Tnum eval_bits(AluOp op, unsigned width, Tnum a, Tnum b) {
  bool shift_known = b.is_constant();
  unsigned shift = static_cast<unsigned>(b.value) & (width - 1);
  switch (op) {
    case AluOp::add:
      return a + b;
    case AluOp::sub:
      return a - b;
    case AluOp::mul:
      return a * b;
    case AluOp::and_:
      return a & b;
    case AluOp::or_:
      return a | b;
    case AluOp::xor_:
      return a ^ b;
    case AluOp::lsh:
      return shift_known ? a << shift : Tnum::unknown();
    case AluOp::rsh:
      return shift_known ? a >> shift : Tnum::unknown();
    case AluOp::arsh:
      return shift_known ? shift_arithmetic(a, shift, width) : Tnum::unknown();
    default:
      return Tnum::unknown();
  }
}

// Does the low half of the 64-bit result depend on the low halves of the operands only?
bool is_modular(AluOp op) {
  switch (op) {
    case AluOp::add:
    case AluOp::sub:
    case AluOp::mul:
    case AluOp::and_:
    case AluOp::or_:
    case AluOp::xor_:
      return true;
    default:
      return false;
  }
}

// A 32-bit result, zero-extended.
Range from_low_half(Tnum bits, const Bounds32 &low) {
  Range r;
  r.bits = truncate(bits, 4);
  r.low = low;
  r.full.limit_unsigned(low.umin, low.umax);
  r.settle();
  return r;
}

}  // namespace

Range Range::constant(uint64_t value) {
  Range r;
  r.bits = Tnum::constant(value);
  r.full = Bounds64::constant(value);
  r.low = Bounds32::constant(static_cast<uint32_t>(value));
  return r;
}

Range Range::up_to(uint64_t max) { return between(0, max); }

Range Range::between(uint64_t min, uint64_t max) {
  Range r;
  r.full.limit_unsigned(min, max);
  r.settle();
  return r;
}

bool Range::contains(uint64_t x) const {
  return !impossible && bits.contains(x) && full.contains(x) && low.contains(static_cast<uint32_t>(x));
}

bool Range::covers(const Range &inner) const {
  return bits.covers(inner.bits) && full.covers(inner.full) && low.covers(inner.low);
}

void Range::settle() {
  // Each round can enable the next; more than a few rounds change nothing in practice, and
  // stopping early is sound.
  for (int round = 0; round < 4 && !empty(); ++round) {
    Range before = *this;
    bound_by_bits(*this);
    full.exchange();
    low.exchange();
    bound_low_half(*this);
    bound_by_low_half(*this);
    full.exchange();
    low.exchange();
    if (empty()) return;
    know_by_bounds(*this);
    if (*this == before) return;
  }
}

Range eval(AluOp op, bool is64, const Range &dst, const Range &src) {
  if (dst.is_constant() && src.is_constant())
    return Range::constant(eval(op, is64, dst.value(), src.value()));
  if (!is64)
    return from_low_half(eval_bits(op, 32, truncate(dst.bits, 4), truncate(src.bits, 4)),
                         eval_bounds(op, dst.low, src.low));
  Range r;
  r.bits = eval_bits(op, 64, dst.bits, src.bits);
  r.full = eval_bounds(op, dst.full, src.full);
  if (is_modular(op)) r.low = eval_bounds(op, dst.low, src.low);
  // "x << 32 s>> 32" is how compilers sign-extend: the shifted number's sign is the low half's.
  if (op == AluOp::lsh && src.is_constant() && src.value() == 32)
    r.full.limit_signed(static_cast<int64_t>(static_cast<uint64_t>(dst.low.smin) << 32),
                        static_cast<int64_t>(static_cast<uint64_t>(dst.low.smax) << 32));
  r.settle();
  return r;
}

Range eval(const Mov &mov, const Range &src) {
  Range value = mov.sign_extend_bits ? extend(src, mov.sign_extend_bits / 8, true) : src;
  return mov.is64 ? value : extend(value, 4, false);
}

Range eval(const Endian &op, const Range &dst) {
  if (dst.is_constant()) return Range::constant(eval(op, dst.value()));
  if (op.op == EndianOp::to_le) return extend(dst, op.bits / 8, false);
  Range r;
  uint64_t value = eval(op, dst.bits.value), mask = eval(op, dst.bits.mask);
  r.bits = {value, mask};
  r.settle();
  return r;
}

Range negate(bool is64, const Range &dst) { return eval(AluOp::sub, is64, Range::constant(0), dst); }

Range extend(const Range &a, int bytes, bool sign) {
  if (bytes == 8) return a;
  if (a.is_constant()) return Range::constant(extend(a.value(), bytes, sign));
  Range r;
  uint64_t max = (uint64_t{1} << (8 * bytes)) - 1;
  if (!sign) {
    if (a.full.umax <= max) return a;
    if (bytes == 4) return from_low_half(a.bits, a.low);
    r.bits = truncate(a.bits, static_cast<unsigned>(bytes));
    if (a.low.umax <= max) r.low = a.low;
    r.settle();
    return r;
  }
  auto smax = static_cast<int64_t>(max >> 1), smin = -smax - 1;
  if (a.full.smin >= smin && a.full.smax <= smax) return a;
  r.bits = sign_extend(a.bits, static_cast<unsigned>(bytes));
  r.full.limit_signed(smin, smax);
  if (bytes == 4) {
    r.low = a.low;
    r.full.limit_signed(a.low.smin, a.low.smax);
  } else if (a.low.smin >= smin && a.low.smax <= smax) {
    r.low = a.low;
  }
  r.settle();
  return r;
}

Range join(const Range &a, const Range &b) {
  Range r;
  r.bits = join(a.bits, b.bits);
  r.full = join(a.full, b.full);
  r.low = join(a.low, b.low);
  return r;
}

std::optional<Range> intersect(const Range &a, const Range &b) {
  Range r = a;
  auto bits = intersect(a.bits, b.bits);
  if (!bits) return std::nullopt;
  r.bits = *bits;
  r.full.limit_unsigned(b.full.umin, b.full.umax);
  r.full.limit_signed(b.full.smin, b.full.smax);
  r.low.limit_unsigned(b.low.umin, b.low.umax);
  r.low.limit_signed(b.low.smin, b.low.smax);
  r.settle();
  if (r.empty()) return std::nullopt;
  return r;
}

std::string to_string(const Range &range) {
  if (range.is_constant()) {
    auto value = static_cast<int64_t>(range.value());
    return as_text(value);
  }
  if (range.full.umax <= static_cast<uint64_t>(INT64_MAX))
    return format("{} to {}", range.full.umin, range.full.umax);
  if (range.full.smin > INT64_MIN || range.full.smax < INT64_MAX)
    return format("{} to {}", range.full.smin, range.full.smax);
  return "any value";
}

}  // namespace egpu::bpf
