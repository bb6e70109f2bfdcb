// Value types of lanes in the narrow floating formats, and flushing of subnormal numbers.
#pragma once
#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/narrow.h"

namespace egpu::sim {

struct Half {
  static constexpr uint16_t kExponent = 0x7C00;
  uint16_t bits;
  double value() const { return widen_float(bits, kF16); }
  static Half from(double v, int rounding = 0, bool sat = false) {
    return {static_cast<uint16_t>(narrow_float(v, kF16, rounding, sat))};
  }
};
struct Bfloat {
  static constexpr uint16_t kExponent = 0x7F80;
  uint16_t bits;
  double value() const { return static_cast<double>(bf16_to_float(bits)); }
  static Bfloat from(double v, int rounding = 0, bool sat = false) {
    return {static_cast<uint16_t>(narrow_float(v, kBf16, rounding, sat))};
  }
};

inline float flush(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  return bits & 0x7F800000 ? v : std::bit_cast<float>(bits & 0x80000000);
}
template <class H>
H flush_half(H v) {
  return v.bits & H::kExponent ? v : H{static_cast<uint16_t>(v.bits & 0x8000)};
}
// A f64 instruction hands a NaN on, as a quiet one.
inline double quiet(double v) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(v) | uint64_t{1} << 51);
}
// The sum, with its last bit set if it is not exact: rounding it again to a format of some bits less
// gives what one rounding of the exact sum would.
inline double add_to_odd(double a, double b) {
  double s = a + b;
  if (!std::isfinite(s)) return s;
  double bb = s - a, error = (a - (s - bb)) + (b - bb);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (error == 0 || (bits & 1)) return s;
  bool away = (error > 0) == (s > 0);  // the exact sum lies further from zero than s
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}
inline constexpr uint32_t kNanF32 = 0x7FFFFFFF;  // PTX ISA 9.0, 9.7.3: NaN results of f32
inline float canonical(float v) { return v != v ? std::bit_cast<float>(kNanF32) : v; }

}  // namespace egpu::sim
