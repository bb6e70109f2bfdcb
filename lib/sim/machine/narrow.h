// Conversions between double and the narrow floating formats, by hand because the host has
// none with the GPU's rounding modes. A double holds every value of the narrow ones.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace egpu::sim {

struct FloatFormat {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // e4m3 has none: all ones with mantissa 7 is NaN
};
inline constexpr FloatFormat kF16{5, 10, true}, kBf16{8, 7, true}, kTf32{8, 10, true}, kF32{8, 23, true},
    kE4m3{4, 3, false}, kE5m2{5, 2, true};

inline double widen_float(uint32_t bits, const FloatFormat &f) {
  uint32_t exponent = bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1);
  uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  bool negative = bits >> (f.exponent_bits + f.mantissa_bits) & 1;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1u << f.exponent_bits) - 1 && f.has_infinity)
    value =
        mantissa ? std::bit_cast<double>(0x7FF8000000000000u) : std::bit_cast<double>(0x7FF0000000000000u);
  else if (!f.has_infinity && exponent == (1u << f.exponent_bits) - 1 &&
           mantissa == (1u << f.mantissa_bits) - 1)
    value = std::bit_cast<double>(0x7FF8000000000000u);
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - f.mantissa_bits);
  else
    value = std::ldexp(static_cast<double>(mantissa | 1u << f.mantissa_bits),
                       static_cast<int>(exponent) - bias - f.mantissa_bits);
  return negative ? -value : value;
}

/// `rounding`: 0 nearest even, or the ModeBits kRz, kRm, kRp; `sat`: overflow gives the largest number.
inline uint32_t narrow_float(double value, const FloatFormat &f, int rounding, bool sat) {
  uint64_t raw = std::bit_cast<uint64_t>(value);
  uint32_t sign = static_cast<uint32_t>(raw >> 63) << (f.exponent_bits + f.mantissa_bits);
  uint32_t all = (1u << f.exponent_bits) - 1, bias = (1u << (f.exponent_bits - 1)) - 1;
  uint32_t nan = (all << f.mantissa_bits) | ((1u << f.mantissa_bits) - 1);
  if (value != value) return nan;
  uint32_t infinity = f.has_infinity ? all << f.mantissa_bits : nan;
  uint32_t largest = f.has_infinity ? infinity - 1 : nan - 1;
  bool negative = raw >> 63;
  if (std::isinf(value)) return sign | (sat ? largest : infinity);
  if (value == 0) return sign;
  int exponent;
  double fraction = std::frexp(negative ? -value : value, &exponent);  // [0.5, 1)
  int biased = exponent - 1 + static_cast<int>(bias);
  int keep = f.mantissa_bits + 1 + (biased < 1 ? biased - 1 : 0);  // bits before the point
  double scaled = std::ldexp(fraction, keep < -2 ? -2 : keep);
  double whole = std::floor(scaled), rest = scaled - whole;
  bool up = false;
  if (rounding == 0) up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1);
  if (rounding == 12) up = !negative && rest > 0;
  if (rounding == 8) up = negative && rest > 0;
  uint64_t mantissa = static_cast<uint64_t>(whole) + (up ? 1 : 0);
  uint64_t bits = biased < 1 ? mantissa : mantissa + (static_cast<uint64_t>(biased - 1) << f.mantissa_bits);
  if (bits > largest) {
    bool to_largest = sat || rounding == 4 || (rounding == 8 && !negative) || (rounding == 12 && negative);
    return sign | (to_largest ? largest : infinity);
  }
  return sign | static_cast<uint32_t>(bits);
}

inline float half_to_float(uint16_t bits) { return static_cast<float>(widen_float(bits, kF16)); }
inline float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace egpu::sim
