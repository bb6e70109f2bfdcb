// Integer arithmetic on lanes. Results of division by zero follow the hardware: all ones for
// div, the dividend for rem (unspecified by PTX ISA 9.0, 9.7.1.8).
#include <limits>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (sizeof(T) < 4)
      return static_cast<T>(uint32_t{a} * b);
    else
      return a * b;
  }
};
struct AddSat {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t r = int64_t{a} + b;
    return static_cast<int32_t>(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
  }
};
struct SubSat {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t r = int64_t{a} - b;
    return static_cast<int32_t>(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
  }
};
template <class T>
struct WideOf {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};
__extension__ typedef unsigned __int128 Uint128;
__extension__ typedef __int128 Int128;
template <>
struct WideOf<uint64_t> {
  using type = Uint128;
};
template <>
struct WideOf<int64_t> {
  using type = Int128;
};
struct MulHi {
  template <class T>
  T operator()(T a, T b) const {
    using W = typename WideOf<T>::type;
    return static_cast<T>((static_cast<W>(a) * static_cast<W>(b)) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T>
  auto operator()(T a, T b) const {
    using W = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                 std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
  }
};
struct MadLo {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(Mul{}(a, b) + c);
  }
};
struct MadHi {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(static_cast<Unsigned<T>>(MulHi{}(a, b)) + static_cast<Unsigned<T>>(c));
  }
};
struct MadHiSat {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const { return AddSat{}(MulHi{}(a, b), c); }
};
struct MadWide {
  template <class T, class W>
  W operator()(T a, T b, W c) const {
    return static_cast<W>(static_cast<Unsigned<W>>(MulWide{}(a, b)) + static_cast<Unsigned<W>>(c));
  }
};
template <class T>
int64_t low24(T a) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
  else
    return a & 0xFFFFFF;
}
struct Mul24Lo {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(low24(a) * low24(b));
  }
};
struct Mul24Hi {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((low24(a) * low24(b)) >> 16);
  }
};
struct Mad24Lo {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(low24(a) * low24(b) + c);
  }
};
struct Mad24Hi {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(((low24(a) * low24(b)) >> 16) + c);
  }
};
struct Mad24HiSat {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return AddSat{}(static_cast<int32_t>((low24(a) * low24(b)) >> 16), c);
  }
};
struct Sad {
  template <class T>
  T operator()(T a, T b, T c) const {
    using U = Unsigned<T>;
    U difference = a > b ? static_cast<U>(static_cast<U>(a) - static_cast<U>(b))
                         : static_cast<U>(static_cast<U>(b) - static_cast<U>(a));
    return static_cast<T>(static_cast<U>(c) + difference);
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return static_cast<T>(0 - static_cast<Unsigned<T>>(a));
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);  // as the H200 has it; the ISA leaves it open
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct MinRelu {
  template <class T>
  T operator()(T a, T b) const {
    return Max{}(Min{}(a, b), T{0});
  }
};
struct MaxRelu {
  template <class T>
  T operator()(T a, T b) const {
    return Max{}(Max{}(a, b), T{0});
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? static_cast<T>(0 - static_cast<Unsigned<T>>(a)) : a;
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(0 - static_cast<Unsigned<T>>(a));
  }
};

// Two 16-bit values in 32 bits.
template <class F, class H>
struct Halves {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    auto low = static_cast<uint16_t>(F{}(static_cast<H>(a), static_cast<H>(b)));
    auto high = static_cast<uint16_t>(F{}(static_cast<H>(a >> 16), static_cast<H>(b >> 16)));
    return low | static_cast<uint32_t>(high) << 16;
  }
};
struct Add16 {
  uint16_t operator()(uint16_t a, uint16_t b) const { return static_cast<uint16_t>(a + b); }
};

// Carry chains. Operands in a, b, c; the condition code's mask in e; x: 1 reads, 2 writes it.
template <class T, class Sum>
void carry(Exec &x, const Op &op, uint32_t mask, Sum &&sum) {
  uint32_t &flags = *x.at<uint32_t>(op.e);
  uint32_t in = op.x & 1 ? flags : 0, out = flags;
  T *d = x.at<T>(op.d);
  each_lane(mask, [&](uint32_t l) {
    bool carry_out = false;
    T result = sum(l, static_cast<T>(in >> l & 1), &carry_out);
    d[l] = result;
    out = (out & ~(1u << l)) | (carry_out ? 1u << l : 0);
  });
  if (op.x & 2) flags = out;
}

template <class T>
T add_carry(T a, T b, T in, bool *out) {
  T s = static_cast<T>(a + b), r = static_cast<T>(s + in);
  *out = s < a || r < s;
  return r;
}

template <class T>
void carry_add(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  carry<T>(x, op, mask, [&](uint32_t l, T in, bool *out) { return add_carry(a[l], b[l], in, out); });
}

// A borrow of 1 is a set flag. PTX ISA 9.0, 9.7.2.3 "subc".
template <class T>
void carry_sub(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  carry<T>(x, op, mask, [&](uint32_t l, T in, bool *out) {
    T s = static_cast<T>(a[l] - b[l]), r = static_cast<T>(s - in);
    *out = a[l] < b[l] || s < in;
    return r;
  });
}

template <class T, class P>
void carry_mad(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b), *c = x.at<T>(op.c);
  using U = Unsigned<T>;
  carry<U>(x, op, mask, [&](uint32_t l, U in, bool *out) {
    return add_carry(static_cast<U>(P{}(a[l], b[l])), static_cast<U>(c[l]), in, out);
  });
}

template <class A, class B, int kCount>
struct Dot {
  int32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t sum = c;
    for (int i = 0; i < 4; ++i)
      sum += static_cast<uint32_t>(int32_t{static_cast<A>(a >> 8 * i)} * int32_t{static_cast<B>(b >> 8 * i)});
    return static_cast<int32_t>(sum);
  }
};
template <class A, class B, int kHigh>
struct Dot2 {
  using A16 = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  int32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t sum = c;
    for (int i = 0; i < 2; ++i)
      sum += static_cast<uint32_t>(int32_t{static_cast<A16>(a >> 16 * i)} *
                                   int32_t{static_cast<B>(b >> 8 * (i + 2 * kHigh))});
    return static_cast<int32_t>(sum);
  }
};

#define SAME2(name, F, suffix, T) \
  { name "." suffix, binary<F, T, T, T> }
#define SAME3(name, F, suffix, T) \
  { name "." suffix, ternary<F, T, T, T, T> }
#define UNSIGNED2(name, F) \
  SAME2(name, F, "b16", uint16_t), SAME2(name, F, "b32", uint32_t), SAME2(name, F, "b64", uint64_t)
#define TYPED(M, name, F)                                                               \
  M(name, F, "u16", uint16_t), M(name, F, "s16", int16_t), M(name, F, "u32", uint32_t), \
      M(name, F, "s32", int32_t), M(name, F, "u64", uint64_t), M(name, F, "s64", int64_t)
#define WIDE2(suffix, T, W) \
  { "mul.wide." suffix, binary<MulWide, W, T, T> }
#define WIDE3(suffix, T, W) \
  { "mad.wide." suffix, ternary<MadWide, W, T, T, W> }

constexpr Row kRows[] = {
    UNSIGNED2("add", Add),
    UNSIGNED2("sub", Sub),
    UNSIGNED2("mul.lo", Mul),
    SAME3("mad.lo", MadLo, "b16", uint16_t),
    SAME3("mad.lo", MadLo, "b32", uint32_t),
    SAME3("mad.lo", MadLo, "b64", uint64_t),
    TYPED(SAME2, "mul.hi", MulHi),
    TYPED(SAME3, "mad.hi", MadHi),
    TYPED(SAME3, "sad", Sad),
    TYPED(SAME2, "div", Div),
    TYPED(SAME2, "rem", Rem),
    TYPED(SAME2, "min", Min),
    TYPED(SAME2, "max", Max),
    WIDE2("u16", uint16_t, uint32_t),
    WIDE2("s16", int16_t, int32_t),
    WIDE2("u32", uint32_t, uint64_t),
    WIDE2("s32", int32_t, int64_t),
    WIDE3("u16", uint16_t, uint32_t),
    WIDE3("s16", int16_t, int32_t),
    WIDE3("u32", uint32_t, uint64_t),
    WIDE3("s32", int32_t, int64_t),
    {"add.sat.s32", binary<AddSat, int32_t, int32_t, int32_t>},
    {"sub.sat.s32", binary<SubSat, int32_t, int32_t, int32_t>},
    {"mad.hi.sat.s32", ternary<MadHiSat, int32_t, int32_t, int32_t, int32_t>},
    SAME2("mul24.lo", Mul24Lo, "u32", uint32_t),
    SAME2("mul24.lo", Mul24Lo, "s32", int32_t),
    SAME2("mul24.hi", Mul24Hi, "u32", uint32_t),
    SAME2("mul24.hi", Mul24Hi, "s32", int32_t),
    SAME3("mad24.lo", Mad24Lo, "u32", uint32_t),
    SAME3("mad24.lo", Mad24Lo, "s32", int32_t),
    SAME3("mad24.hi", Mad24Hi, "u32", uint32_t),
    SAME3("mad24.hi", Mad24Hi, "s32", int32_t),
    {"mad24.hi.sat.s32", ternary<Mad24HiSat, int32_t, int32_t, int32_t, int32_t>},
    {"min.s32.relu", binary<MinRelu, int32_t, int32_t, int32_t>},
    {"max.s32.relu", binary<MaxRelu, int32_t, int32_t, int32_t>},
    {"abs.s16", unary<Abs, int16_t, int16_t>},
    {"abs.s32", unary<Abs, int32_t, int32_t>},
    {"abs.s64", unary<Abs, int64_t, int64_t>},
    {"neg.s16", unary<Neg, int16_t, int16_t>},
    {"neg.s32", unary<Neg, int32_t, int32_t>},
    {"neg.s64", unary<Neg, int64_t, int64_t>},
    {"add.16x2", binary<Halves<Add16, uint16_t>, uint32_t, uint32_t, uint32_t>},
    {"min.u16x2", binary<Halves<Min, uint16_t>, uint32_t, uint32_t, uint32_t>},
    {"min.s16x2", binary<Halves<Min, int16_t>, uint32_t, uint32_t, uint32_t>},
    {"min.s16x2.relu", binary<Halves<MinRelu, int16_t>, uint32_t, uint32_t, uint32_t>},
    {"max.s16x2.relu", binary<Halves<MaxRelu, int16_t>, uint32_t, uint32_t, uint32_t>},
    {"max.u16x2", binary<Halves<Max, uint16_t>, uint32_t, uint32_t, uint32_t>},
    {"max.s16x2", binary<Halves<Max, int16_t>, uint32_t, uint32_t, uint32_t>},
    {"carry.add.b32", carry_add<uint32_t>},
    {"carry.add.b64", carry_add<uint64_t>},
    {"carry.sub.b32", carry_sub<uint32_t>},
    {"carry.sub.b64", carry_sub<uint64_t>},
    {"carry.mad.lo.b32", carry_mad<uint32_t, Mul>},
    {"carry.mad.lo.b64", carry_mad<uint64_t, Mul>},
    {"carry.mad.hi.u32", carry_mad<uint32_t, MulHi>},
    {"carry.mad.hi.u64", carry_mad<uint64_t, MulHi>},
    {"carry.mad.hi.s32", carry_mad<int32_t, MulHi>},
    {"carry.mad.hi.s64", carry_mad<int64_t, MulHi>},
#define DOT(an, A, bn, B)                                                                      \
  {"dp4a." an "." bn, ternary<Dot<A, B, 4>, int32_t, uint32_t, uint32_t, uint32_t>},           \
      {"dp2a.lo." an "." bn, ternary<Dot2<A, B, 0>, int32_t, uint32_t, uint32_t, uint32_t>}, { \
    "dp2a.hi." an "." bn, ternary<Dot2<A, B, 1>, int32_t, uint32_t, uint32_t, uint32_t>        \
  }
    DOT("u32", uint8_t, "u32", uint8_t),
    DOT("u32", uint8_t, "s32", int8_t),
    DOT("s32", int8_t, "u32", uint8_t),
    DOT("s32", int8_t, "s32", int8_t),
};
}  // namespace

Rows integer_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
