// cvt between all types. Source: PTX ISA 9.0, 9.7.9.21: integers saturate where a float is out of
// range. What it leaves open of NaNs is as the H200 has it: an integer is 0, or its top bit alone if
// it or the float has 64 bits; floats to and from f64 keep the sign and the leading bits.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <optional>

#include "lib/sim/machine/halves.h"

namespace egpu::sim {
namespace {

double round_integral(double v, uint8_t mode) {
  switch (mode & kRoundMask) {
    case kRz:
      return std::trunc(v);
    case kRm:
      return std::floor(v);
    case kRp:
      return std::ceil(v);
    default:
      return std::nearbyint(v);
  }
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;
template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsHalf<T>;

template <class S>
double real_of(S v, uint8_t mode) {
  if constexpr (kIsHalf<S>)
    return v.value();
  else if constexpr (std::is_same_v<S, float>)
    return static_cast<double>(mode & kFtz ? flush(v) : v);
  else
    return v;
}

template <class D, class S>
D saturate_real(double v) {
  using Limits = std::numeric_limits<D>;
  if (v != v)
    return sizeof(D) == 8 || sizeof(S) == 8 ? static_cast<D>(uint64_t{1} << (8 * sizeof(D) - 1)) : D{0};
  if (v <= static_cast<double>(Limits::min())) return Limits::min();
  if (v >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<D>(v);
}

template <class D, class S>
D saturate_integer(S v) {
  using Limits = std::numeric_limits<D>;
  __extension__ typedef __int128 Int128;
  Int128 wide = v;
  return wide < Limits::min() ? Limits::min() : wide > Limits::max() ? Limits::max() : static_cast<D>(v);
}

template <class D>
D real_to(double v, uint8_t mode, bool from_wide) {
  int rounding = mode & kRoundMask;
  if (mode & kSat) v = v != v ? 0 : v > 1 ? 1 : v > 0 ? v : 0;
  if (mode & kRelu && v == v) v = v > 0 ? v : 0;
  if constexpr (kIsHalf<D>)
    return D::from(v, rounding);
  else if constexpr (std::is_same_v<D, float>) {
    float r = rounding && from_wide ? std::bit_cast<float>(narrow_float(v, kF32, rounding, false))
                                    : static_cast<float>(v);
    if (mode & kFtz) r = flush(r);
    return canonical(r);
  } else {
    return v;
  }
}

// A double that rounds to a half as the integer would: bits beyond its 53 are gathered in the last.
template <class S>
double to_odd(S v) {
  if constexpr (sizeof(S) < 8) return static_cast<double>(v);
  const bool negative = v < 0;
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  constexpr uint64_t kBeyond = 0x7FF;
  if (magnitude >> 53 && magnitude & kBeyond) magnitude = (magnitude & ~kBeyond) | (kBeyond + 1);
  const double real = static_cast<double>(magnitude);
  return negative ? -real : real;
}

// Integers of 64 bits do not fit a double: the host rounds them.
template <class D, class S>
D integer_to_real(S v, uint8_t mode) {
  if constexpr (kIsHalf<D>)
    return real_to<D>(to_odd(v), mode, true);
  else {
    if (!(mode & kRoundMask)) return static_cast<D>(v);
    int rounding = (mode & kRoundMask) == kRz   ? FE_TOWARDZERO
                   : (mode & kRoundMask) == kRm ? FE_DOWNWARD
                                                : FE_UPWARD;
    std::fesetround(rounding);
    volatile S in = v;
    volatile D out = static_cast<D>(in);
    std::fesetround(FE_TONEAREST);
    return out;
  }
}

template <class S>
bool is_nan(S v) {
  if constexpr (kIsHalf<S>)
    return v.value() != v.value();
  else
    return v != v;
}

// NaNs that keep their sign and leading bits; nothing where the result is the format's one NaN.
template <class D, class S>
std::optional<D> nan_of([[maybe_unused]] S v, [[maybe_unused]] uint8_t mode, [[maybe_unused]] bool integral) {
  if constexpr (std::is_same_v<S, double>) {
    const double real = quiet(v);
    if constexpr (std::is_same_v<D, double>) return real;
    if constexpr (std::is_same_v<D, float>) return static_cast<float>(real);
    if constexpr (kIsHalf<D>) {
      constexpr int kMantissa = std::is_same_v<D, Half> ? 10 : 7;
      const uint64_t bits = std::bit_cast<uint64_t>(real);
      const uint64_t payload = bits >> (52 - kMantissa) & ((1u << kMantissa) - 1);
      return D{static_cast<uint16_t>((bits >> 48 & 0x8000) | D::kExponent | payload)};
    }
  } else if constexpr (std::is_same_v<S, float>) {
    if constexpr (std::is_same_v<D, double>) return static_cast<double>(mode & kFtz ? canonical(v) : v);
    if constexpr (std::is_same_v<D, float>)
      if (!integral && !(mode & kFtz)) return v;
  } else if constexpr (std::is_same_v<S, Bfloat> && std::is_same_v<D, float>) {
    return std::bit_cast<float>(uint32_t{v.bits} << 16);
  } else if constexpr (std::is_same_v<S, Half> && std::is_same_v<D, double>) {
    const uint64_t sign = uint64_t{v.bits & 0x8000u} << 48, payload = uint64_t{v.bits & 0x3FFu} << 42;
    return quiet(std::bit_cast<double>(sign | uint64_t{0x7FF} << 52 | payload));
  }
  return std::nullopt;
}

// Whether .ftz makes 0 of it: with f32's precision and more exponents it stays below 2^-126.
bool is_tiny(double v, int rounding) {
  if (std::fabs(v) >= 0x1p-126) return false;
  const double scaled = v * 0x1p64;
  const float r = rounding ? std::bit_cast<float>(narrow_float(scaled, kF32, rounding, false))
                           : static_cast<float>(scaled);
  return std::fabs(r) < 0x1p-62f;
}

template <class D, class S>
D convert(S v, uint8_t mode, bool integral) {
  if constexpr (!kIsReal<D> && !kIsReal<S>) {
    return mode & kSat ? saturate_integer<D>(v) : static_cast<D>(v);
  } else if constexpr (!kIsReal<D>) {
    return saturate_real<D, S>(round_integral(real_of(v, mode), mode));
  } else if constexpr (!kIsReal<S>) {
    D r = integer_to_real<D>(v, mode);
    if constexpr (!kIsHalf<D>)
      if (mode & kSat) r = r > 1 ? D{1} : r > 0 ? r : D{0};
    return r;
  } else {
    if (is_nan(v) && !(mode & (kSat | kRelu)))
      if (std::optional<D> nan = nan_of<D>(v, mode, integral)) return *nan;
    double real = real_of(v, mode);
    if (integral) real = round_integral(real, mode);
    if constexpr (std::is_same_v<D, float> && std::is_same_v<S, double>) {
      if (mode & kFtz && is_tiny(real, mode & kRoundMask)) real = std::copysign(0.0, real);
      if (!(mode & (kRoundMask | kSat | kRelu))) return static_cast<float>(real);
    }
    return real_to<D>(real, mode, true);
  }
}

// 8-bit registers take 16 bits.
template <class T>
struct Stored {
  using type = T;
};
template <>
struct Stored<uint8_t> {
  using type = uint16_t;
};
template <>
struct Stored<int8_t> {
  using type = int16_t;
};

template <class D, class S>
void cvt(Exec &x, const Op &op, uint32_t mask) {
  using From = typename Stored<S>::type;
  using To = typename Stored<D>::type;
  alignas(64) From a[kLanes];
  std::memcpy(static_cast<void *>(a), x.at<From>(op.a), sizeof a);
  if constexpr (!kIsReal<D> && !kIsReal<S>)
    if (!(op.mode & kSat)) {
      store_lanes<To>(x, op.d, mask,
                      [&](int l) { return static_cast<To>(static_cast<D>(static_cast<S>(a[l]))); });
      return;
    }
  To *d = x.at<To>(op.d);
  each_lane(mask, [&](uint32_t l) {
    if constexpr (kIsHalf<S>)
      d[l] = static_cast<To>(convert<D, S>(a[l], op.mode, op.x));
    else
      d[l] = static_cast<To>(convert<D, S>(static_cast<S>(a[l]), op.mode, op.x));
  });
}

// d = {a, b}: a is the upper half. PTX ISA 9.0, 9.7.9.21.
template <class H>
void pack_two(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  auto one = [&](float v) {
    double real = static_cast<double>(v);
    if (op.mode & kRelu && real == real) real = real > 0 ? real : 0;
    return static_cast<uint32_t>(H::from(real, op.mode & kRoundMask, op.mode & kSat).bits);
  };
  uint32_t *d = x.at<uint32_t>(op.d);
  each_lane(mask, [&](uint32_t l) { d[l] = one(a[l]) << 16 | one(b[l]); });
}

template <bool kE4>
void pack_eighths(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  auto one = [&](float v) {
    double real = static_cast<double>(v);
    if (op.mode & kRelu && real == real) real = real > 0 ? real : 0;
    return narrow_float(real, kE4 ? kE4m3 : kE5m2, op.mode & kRoundMask, true);
  };
  uint16_t *d = x.at<uint16_t>(op.d);
  each_lane(mask, [&](uint32_t l) { d[l] = static_cast<uint16_t>(one(a[l]) << 8 | one(b[l])); });
}

// d = {a's upper half, its lower half}.
template <bool kE4>
void narrow_halves(Exec &x, const Op &op, uint32_t mask) {
  uint32_t a[kLanes];
  std::memcpy(a, x.at<uint32_t>(op.a), sizeof a);
  auto one = [&](uint32_t bits) {
    double real = Half{static_cast<uint16_t>(bits)}.value();
    if (op.mode & kRelu && real == real) real = real > 0 ? real : 0;
    return narrow_float(real, kE4 ? kE4m3 : kE5m2, op.mode & kRoundMask, true);
  };
  uint16_t *d = x.at<uint16_t>(op.d);
  each_lane(mask,
            [&](uint32_t l) { d[l] = static_cast<uint16_t>(one(a[l] >> 16) << 8 | one(a[l] & 0xFFFF)); });
}

template <bool kE4>
void unpack_eighths(Exec &x, const Op &op, uint32_t mask) {
  const uint16_t *a = x.at<uint16_t>(op.a);
  uint16_t in[kLanes];
  std::memcpy(in, a, sizeof in);
  auto one = [&](uint32_t bits) {
    double real = widen_float(bits & 255, kE4 ? kE4m3 : kE5m2);
    if (op.mode & kRelu && real == real) real = real > 0 ? real : 0;
    return narrow_float(real, kF16, 0, false);
  };
  uint32_t *d = x.at<uint32_t>(op.d);
  each_lane(mask, [&](uint32_t l) { d[l] = one(in[l]) | one(in[l] >> 8u) << 16; });
}

// cvt.rna.tf32.f32 (n: 2): ties away from zero; .rn, .rz too.
void to_tf32(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a);
  store_lanes<uint32_t>(x, op.d, mask, [&](int l) {
    float v = a[l];
    if (op.mode & kRelu && std::signbit(v) && v == v) v = 0;
    uint32_t bits = std::bit_cast<uint32_t>(v);
    if (v != v) return (op.n == 2 ? bits : kNanF32) & ~0x1FFFu;
    if ((bits & 0x7F800000) == 0x7F800000) return bits;
    if (op.n == 2) return (bits + 0x1000) & ~0x1FFFu;
    return narrow_float(static_cast<double>(v), kTf32, op.mode & kRoundMask, false) << 13;
  });
}

// PTX ISA 9.0, 9.7.9.22 "cvt.pack": two saturated integers, below what c holds.
template <uint32_t kBits, bool kSigned>
void pack_integers(Exec &x, const Op &op, uint32_t mask) {
  const int32_t *a = x.at<int32_t>(op.a), *b = x.at<int32_t>(op.b);
  const uint32_t *c = op.c == kNone ? nullptr : x.at<uint32_t>(op.c);
  static constexpr int32_t kLeast = kSigned ? -(1 << (kBits - 1)) : 0, kMost = kLeast + (1 << kBits) - 1;
  auto one = [](int32_t v) {
    return static_cast<uint32_t>(std::clamp(v, kLeast, kMost)) & ((1u << kBits) - 1);
  };
  store_lanes<uint32_t>(x, op.d, mask, [&](int l) {
    uint32_t two = one(a[l]) << kBits | one(b[l]);
    return c ? c[l] << (2 * kBits % 32) | two : two;
  });
}

#define FROM(dn, D)                                                              \
  {"cvt." dn ".u8", cvt<D, uint8_t>}, {"cvt." dn ".s8", cvt<D, int8_t>},         \
      {"cvt." dn ".u16", cvt<D, uint16_t>}, {"cvt." dn ".s16", cvt<D, int16_t>}, \
      {"cvt." dn ".u32", cvt<D, uint32_t>}, {"cvt." dn ".s32", cvt<D, int32_t>}, \
      {"cvt." dn ".u64", cvt<D, uint64_t>}, {"cvt." dn ".s64", cvt<D, int64_t>}, \
      {"cvt." dn ".f16", cvt<D, Half>}, {"cvt." dn ".bf16", cvt<D, Bfloat>},     \
      {"cvt." dn ".f32", cvt<D, float>}, {                                       \
    "cvt." dn ".f64", cvt<D, double>                                             \
  }

constexpr Row kRows[] = {
    FROM("u8", uint8_t),
    FROM("s8", int8_t),
    FROM("u16", uint16_t),
    FROM("s16", int16_t),
    FROM("u32", uint32_t),
    FROM("s32", int32_t),
    FROM("u64", uint64_t),
    FROM("s64", int64_t),
    FROM("f16", Half),
    FROM("bf16", Bfloat),
    FROM("f32", float),
    FROM("f64", double),
    {"cvt.f16x2.f32", pack_two<Half>},
    {"cvt.bf16x2.f32", pack_two<Bfloat>},
    {"cvt.e4m3x2.f32", pack_eighths<true>},
    {"cvt.e5m2x2.f32", pack_eighths<false>},
    {"cvt.f16x2.e4m3x2", unpack_eighths<true>},
    {"cvt.f16x2.e5m2x2", unpack_eighths<false>},
    {"cvt.e4m3x2.f16x2", narrow_halves<true>},
    {"cvt.e5m2x2.f16x2", narrow_halves<false>},
    {"cvt.tf32.f32", to_tf32},
    {"cvt.pack.u16", pack_integers<16, false>},
    {"cvt.pack.s16", pack_integers<16, true>},
    {"cvt.pack.u8", pack_integers<8, false>},
    {"cvt.pack.s8", pack_integers<8, true>},
    {"cvt.pack.u4", pack_integers<4, false>},
    {"cvt.pack.s4", pack_integers<4, true>},
    {"cvt.pack.u2", pack_integers<2, false>},
    {"cvt.pack.s2", pack_integers<2, true>},
};
}  // namespace

Rows convert_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
