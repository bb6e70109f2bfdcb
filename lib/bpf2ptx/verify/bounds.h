// An interval of one width, read as unsigned and as signed number at once.
//
// Each operation returns bounds of all results; "full" where it cannot tell. Bounds32 and
// Bounds64 are the two instances.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace egpu::bpf {

template <class U, class S>
struct Bounds {
  static constexpr U kMax = std::numeric_limits<U>::max();
  static constexpr S kSignedMin = std::numeric_limits<S>::min(), kSignedMax = std::numeric_limits<S>::max();
  static constexpr unsigned kWidth = sizeof(U) * 8;

  U umin = 0, umax = kMax;
  S smin = kSignedMin, smax = kSignedMax;

  static Bounds constant(U x) { return {x, x, static_cast<S>(x), static_cast<S>(x)}; }
  bool operator==(const Bounds &) const = default;

  bool empty() const { return umin > umax || smin > smax; }
  bool contains(U x) const {
    return umin <= x && x <= umax && smin <= static_cast<S>(x) && static_cast<S>(x) <= smax;
  }
  bool covers(const Bounds &in) const {
    return umin <= in.umin && in.umax <= umax && smin <= in.smin && in.smax <= smax;
  }
  void limit_unsigned(U min, U max) {
    umin = std::max(umin, min);
    umax = std::min(umax, max);
  }
  void limit_signed(S min, S max) {
    smin = std::max(smin, min);
    smax = std::min(smax, max);
  }
  void set_full_signed() {
    smin = kSignedMin;
    smax = kSignedMax;
  }

  // What the signed reading says about the unsigned one and the other way round: they agree
  // where an interval does not cross the point at which the other reading jumps.
  void exchange() {
    if (static_cast<S>(umin) <= static_cast<S>(umax))
      limit_signed(static_cast<S>(umin), static_cast<S>(umax));
    if (static_cast<U>(smin) <= static_cast<U>(smax))
      limit_unsigned(static_cast<U>(smin), static_cast<U>(smax));
    // A signed interval around 0 is two unsigned ones, at both ends; the unsigned one may meet
    // only one of them.
    if (smin < 0 && smax >= 0) {
      if (umax < static_cast<U>(smin)) limit_signed(0, smax);
      if (umin > static_cast<U>(smax)) limit_signed(smin, -1);
    }
  }
};

template <class U, class S>
Bounds<U, S> add(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  Bounds<U, S> r;
  U umin, umax;
  S smin, smax;
  // Both ends wrap or none does: the interval keeps its order.
  if (__builtin_add_overflow(a.umin, b.umin, &umin) == __builtin_add_overflow(a.umax, b.umax, &umax))
    r.umin = umin, r.umax = umax;
  if (!__builtin_add_overflow(a.smin, b.smin, &smin) && !__builtin_add_overflow(a.smax, b.smax, &smax))
    r.smin = smin, r.smax = smax;
  return r;
}

template <class U, class S>
Bounds<U, S> sub(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  Bounds<U, S> r;
  U umin, umax;
  S smin, smax;
  if (__builtin_sub_overflow(a.umin, b.umax, &umin) == __builtin_sub_overflow(a.umax, b.umin, &umax))
    r.umin = umin, r.umax = umax;
  if (!__builtin_sub_overflow(a.smin, b.smax, &smin) && !__builtin_sub_overflow(a.smax, b.smin, &smax))
    r.smin = smin, r.smax = smax;
  return r;
}

template <class U, class S>
Bounds<U, S> mul(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  Bounds<U, S> r;
  U umax;
  if (!__builtin_mul_overflow(a.umax, b.umax, &umax)) r.umin = static_cast<U>(a.umin * b.umin), r.umax = umax;
  S corner[4];
  if (!__builtin_mul_overflow(a.smin, b.smin, &corner[0]) &&
      !__builtin_mul_overflow(a.smin, b.smax, &corner[1]) &&
      !__builtin_mul_overflow(a.smax, b.smin, &corner[2]) &&
      !__builtin_mul_overflow(a.smax, b.smax, &corner[3]))
    r.smin = *std::min_element(corner, corner + 4), r.smax = *std::max_element(corner, corner + 4);
  return r;
}

// Bit operations leave most to the Tnum; these bounds hold besides.
template <class U, class S>
Bounds<U, S> and_(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  Bounds<U, S> r;
  r.umax = std::min(a.umax, b.umax);
  return r;
}

template <class U, class S>
Bounds<U, S> or_(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  Bounds<U, S> r;
  r.umin = std::max(a.umin, b.umin);
  return r;
}

// Shift amounts are `amount`, already known to be below the width.
template <class U, class S>
Bounds<U, S> lsh(const Bounds<U, S> &a, unsigned least, unsigned most) {
  using B = Bounds<U, S>;
  B r;
  if (a.umax <= (B::kMax >> most))
    r.umin = static_cast<U>(a.umin << least), r.umax = static_cast<U>(a.umax << most);
  if (least == most && a.smin >= (B::kSignedMin >> most) && a.smax <= (B::kSignedMax >> most)) {
    r.smin = static_cast<S>(static_cast<U>(a.smin) << most);
    r.smax = static_cast<S>(static_cast<U>(a.smax) << most);
  }
  return r;
}

template <class U, class S>
Bounds<U, S> rsh(const Bounds<U, S> &a, unsigned least, unsigned most) {
  Bounds<U, S> r;
  r.umin = a.umin >> most;
  r.umax = a.umax >> least;
  return r;
}

template <class U, class S>
Bounds<U, S> arsh(const Bounds<U, S> &a, unsigned least, unsigned most) {
  Bounds<U, S> r;
  r.smin = static_cast<S>(a.smin >> (a.smin < 0 ? least : most));
  r.smax = static_cast<S>(a.smax >> (a.smax < 0 ? most : least));
  return r;
}

// x / 0 is 0, x % 0 is x (RFC 9669, 4.1).
template <class U, class S>
Bounds<U, S> div(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  Bounds<U, S> r;
  if (b.umin == 0) {
    r.umax = a.umax;
  } else {
    r.umin = a.umin / b.umax;
    r.umax = a.umax / b.umin;
  }
  return r;
}

template <class U, class S>
Bounds<U, S> mod(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  if (b.umin > a.umax) return a;
  Bounds<U, S> r;
  r.umax = b.umin == 0 ? a.umax : std::min<U>(a.umax, static_cast<U>(b.umax - 1));
  return r;
}

// The largest magnitude in the signed interval, or the full range's if it holds the minimum.
template <class U, class S>
U magnitude(const Bounds<U, S> &a) {
  auto absolute = [](S x) { return x < 0 ? static_cast<U>(0) - static_cast<U>(x) : static_cast<U>(x); };
  return std::max(absolute(a.smin), absolute(a.smax));
}

template <class U, class S>
Bounds<U, S> sdiv(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  using B = Bounds<U, S>;
  B r;
  if (a.smin == B::kSignedMin) return r;
  S largest = static_cast<S>(magnitude(a));
  r.smin = a.smin >= 0 && b.smin >= 0 ? 0 : static_cast<S>(-largest);
  r.smax = largest;
  return r;
}

template <class U, class S>
Bounds<U, S> smod(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  using B = Bounds<U, S>;
  B r;
  U largest = magnitude(a);
  if (b.smin > 0 || b.smax < 0) largest = std::min<U>(largest, static_cast<U>(magnitude(b) - 1));
  if (largest > static_cast<U>(B::kSignedMax)) return r;
  r.smin = a.smin < 0 ? static_cast<S>(-static_cast<S>(largest)) : 0;
  r.smax = a.smax > 0 ? static_cast<S>(largest) : 0;
  return r;
}

template <class U, class S>
Bounds<U, S> join(const Bounds<U, S> &a, const Bounds<U, S> &b) {
  return {std::min(a.umin, b.umin), std::max(a.umax, b.umax), std::min(a.smin, b.smin),
          std::max(a.smax, b.smax)};
}

using Bounds64 = Bounds<uint64_t, int64_t>;
using Bounds32 = Bounds<uint32_t, int32_t>;

}  // namespace egpu::bpf
