// f16 and bf16 arithmetic, single and packed. Values are computed as doubles: products of two
// are exact there, and sums that are not are rounded to odd first, so that the second rounding
// (to the narrow format) gives what one rounding would have.
#include <cmath>

#include "lib/sim/machine/halves.h"
#include "lib/sim/machine/order.h"

namespace egpu::sim {
namespace {

struct Add {
  double operator()(double a, double b) const { return add_to_odd(a, b); }
};
struct Sub {
  double operator()(double a, double b) const { return add_to_odd(a, -b); }
};
struct Mul {
  double operator()(double a, double b) const { return a * b; }
};
struct Fma {
  double operator()(double a, double b, double c) const { return add_to_odd(a * b, c); }
};
struct FmaOob : Fma {};
struct Abs {
  double operator()(double a) const { return std::fabs(a); }
};
struct Neg {
  double operator()(double a) const { return -a; }
};
struct Ex2 {
  double operator()(double a) const { return std::exp2(a); }
};
struct Tanh {
  double operator()(double a) const { return std::tanh(a); }
};

// The NaNs that stand for an element outside of a tensor, of f16 and bf16 alike. PTX ISA 9.0 names the
// positive one; an H200 takes both, and no other NaN.
bool is_outside(uint16_t bits) { return (bits & 0x7FFF) == 0x7FF7; }

template <class H>
double input(uint16_t bits, uint8_t mode) {
  return (mode & kFtz ? flush_half(H{bits}) : H{bits}).value();
}
template <class H>
uint16_t output(double v, uint8_t mode) {
  if (mode & kSat) v = v != v ? 0 : v > 1 ? 1 : v > 0 ? v : 0;
  if (mode & kRelu) v = v != v ? v : v > 0 ? v : 0;
  uint16_t bits = H::from(v, mode & kRoundMask).bits;
  if (mode & kFtz) {
    // As of f32, .ftz makes 0 of what rounds to the smallest normal number only for want of exponents.
    constexpr uint16_t kSmallestNormal = H::kExponent & (0 - H::kExponent);
    if ((bits & 0x7FFF) == kSmallestNormal &&
        H::from(v * 4, mode & kRoundMask).bits % 0x8000 < kSmallestNormal * 3)
      bits &= 0x8000;
    bits = flush_half(H{bits}).bits;
  }
  return bits;
}

// kCount: 1 or 2 halves a lane.
template <class F, class H, int kCount, int kSources>
void halves(Exec &x, const Op &op, uint32_t mask) {
  const uint16_t *a = x.at<uint16_t>(op.a), *b = kSources > 1 ? x.at<uint16_t>(op.b) : nullptr,
                 *c = kSources > 2 ? x.at<uint16_t>(op.c) : nullptr;
  uint16_t *d = x.at<uint16_t>(op.d);
  each_lane(mask, [&](uint32_t l) {
    for (uint32_t i = l * kCount; i < (l + 1) * kCount; ++i) {
      double p = input<H>(a[i], op.mode), r;
      if constexpr (kSources == 1)
        r = F{}(p);
      else if constexpr (kSources == 2) {
        double q = input<H>(b[i], op.mode);
        r = F{}(p, q);
        constexpr bool kExtreme = std::is_same_v<F, MinReal> || std::is_same_v<F, MaxReal>;
        if (kExtreme && op.mode & kXorSign)
          r = std::copysign(F{}(std::fabs(p), std::fabs(q)), std::signbit(p) != std::signbit(q) ? -1.0 : 1.0);
        if (kExtreme && op.mode & kNan && (p != p || q != q)) r = std::nan("");
      } else {
        r = F{}(p, input<H>(b[i], op.mode), input<H>(c[i], op.mode));
        if (std::is_same_v<F, FmaOob> && (is_outside(a[i]) || is_outside(b[i]))) r = 0;
      }
      d[i] = output<H>(r, op.mode);
    }
  });
}

#define ONE(name, F, n, suffix, H, count) \
  {name suffix, halves<F, H, count, n>}, { name suffix ".mode", halves<F, H, count, n> }
#define FOUR(name, F, n)                                                                                     \
  ONE(name, F, n, ".f16", Half, 1), ONE(name, F, n, ".f16x2", Half, 2), ONE(name, F, n, ".bf16", Bfloat, 1), \
      ONE(name, F, n, ".bf16x2", Bfloat, 2)

constexpr Row kRows[] = {FOUR("add", Add, 2),   FOUR("sub", Sub, 2),       FOUR("mul", Mul, 2),
                         FOUR("fma", Fma, 3),   FOUR("min", MinReal, 2),   FOUR("max", MaxReal, 2),
                         FOUR("abs", Abs, 1),   FOUR("neg", Neg, 1),       FOUR("ex2", Ex2, 1),
                         FOUR("tanh", Tanh, 1), FOUR("fma.oob", FmaOob, 3)};
}  // namespace

Rows half_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
