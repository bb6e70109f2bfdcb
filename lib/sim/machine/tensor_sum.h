// An element of D of a floating-point matrix product: c and k products, with a tensor core's rounding.
//
// In: k pairs of factors and c, as doubles, in which all products are exact. Out: the sum as a double, that
// rounding to d's type (nearest even) leaves alone or, for f16 and f64, finishes. What does not have a rule
// here is added in double in the order of k. Source: rules fitted to what an H200 gave (rows.txt and h200.txt
// of tests/sim-machine/vectors); NVIDIA documents none.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/sim/machine/matrix.h"

namespace egpu::sim {

/// The f32 next to the value, toward zero.
inline double truncated_to_f32(double value) {
  const float near = static_cast<float>(value);
  if (std::isinf(near) || std::fabs(static_cast<double>(near)) <= std::fabs(value))
    return static_cast<double>(near);
  return static_cast<double>(std::bit_cast<float>(std::bit_cast<uint32_t>(near) - 1));
}

/// c and the products of the places k that `is_member` takes: all of them aligned to the largest, whose
/// exponent is the sum of its factors', and cut off 25 bits below it.
template <class IsMember>
double aligned_sum(const double *p, const double *q, uint32_t count, double c, IsMember &&is_member) {
  constexpr int kBias = 1023, kBitsBelow = 25;
  const auto exponent = [](double v) {
    return static_cast<int>(std::bit_cast<uint64_t>(v) >> 52 & 0x7FF) - kBias;
  };
  const auto power = [](int e) { return std::bit_cast<double>(static_cast<uint64_t>(e + kBias) << 52); };
  int top = c != 0 ? exponent(c) : -kBias;
  double plain = c;
  for (uint32_t k = 0; k < count; ++k) {
    if (!is_member(k)) continue;
    const double product = p[k] * q[k];
    plain += product;
    if (product != 0) top = std::max(top, exponent(p[k]) + exponent(q[k]));
  }
  if (!std::isfinite(plain) || top == -kBias) return plain;  // infinities, NaNs; nothing but zeros
  const double up = power(kBitsBelow - top);
  int64_t total = static_cast<int64_t>(c * up);
  for (uint32_t k = 0; k < count; ++k)
    if (is_member(k)) total += static_cast<int64_t>(p[k] * q[k] * up);
  return static_cast<double>(total) * power(top - kBitsBelow);
}

/// By site.sum.
inline double tensor_sum(const double *p, const double *q, const MatrixSite &site, double c) {
  const auto in_order = [&](double sum, auto &&add) {
    for (uint32_t k = 0; k < site.k; ++k) sum = add(sum, p[k], q[k]);
    return sum;
  };
  const auto to_f32 = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  switch (site.sum) {
    case Sum::fused_chain:
      return in_order(c, [](double sum, double a, double b) { return std::fma(a, b, sum); });
    case Sum::aligned: {
      const double sum = aligned_sum(p, q, site.k, c, [](uint32_t) { return true; });
      return site.d == Element::f32 ? truncated_to_f32(sum) : sum;
    }
    case Sum::aligned_pairs: {
      double sum = 0;
      for (uint32_t pair : {0u, 1u})
        sum = truncated_to_f32(aligned_sum(p, q, site.k, sum, [&](uint32_t k) { return k / 2 % 2 == pair; }));
      return to_f32(sum + c);
    }
    case Sum::f32_chain:
      return to_f32(in_order(0.0, [&](double sum, double a, double b) { return to_f32(sum + a * b); }) + c);
    case Sum::in_order:
      break;
  }
  return in_order(c, [](double sum, double a, double b) { return sum + a * b; });
}

}  // namespace egpu::sim
