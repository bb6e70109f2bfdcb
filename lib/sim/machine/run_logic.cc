// Bitwise logic, shifts and bit fields on lanes. Source: PTX ISA 9.0, 9.7.1.13 to 9.7.1.23, 9.7.8.
#include <algorithm>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};
struct Shl {
  template <class T>
  T operator()(T a, uint32_t n) const {
    return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << n);
  }
};
struct Shr {
  template <class T>
  T operator()(T a, uint32_t n) const {
    constexpr uint32_t kBits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (n >= kBits ? kBits - 1 : n));
    else
      return n >= kBits ? T{0} : static_cast<T>(a >> n);
  }
};
template <bool kLeft, bool kClamp>
struct Funnel {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t n = kClamp ? (c > 32 ? 32 : c) : c & 31;
    uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    return static_cast<uint32_t>(kLeft ? (both << n) >> 32 : both >> n);
  }
};

// Positions and lengths of bit fields: PTX ISA 9.0, 9.7.1.20 "bfe", takes their low 8 bits; the
// H200's 64-bit forms, which are emulated, take them whole.
template <class T>
uint32_t field_number(uint32_t value) {
  return sizeof(T) == 8 ? std::min(value, 255u) : value & 255;
}

struct Bfe {
  template <class T>
  T operator()(T a, uint32_t b, uint32_t c) const {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t kTop = 8 * sizeof(T) - 1;
    uint32_t position = field_number<T>(b), length = field_number<T>(c);
    bool sign = false;
    if (std::is_signed_v<T> && length != 0) {
      uint32_t at = position + length - 1;
      sign = (static_cast<U>(a) >> (at < kTop ? at : kTop)) & 1;
    }
    U field = position > kTop ? U{0} : static_cast<U>(static_cast<U>(a) >> position);
    if (length == 0) return 0;
    if (length <= kTop) {
      U low = static_cast<U>((U{1} << length) - 1);
      // Bits beyond the source are the sign too.
      uint32_t have = position > kTop ? 0 : kTop + 1 - position;
      if (have < length && sign) field |= have ? static_cast<U>(~U{0} << have) : static_cast<U>(~U{0});
      return static_cast<T>(sign ? (field & low) | static_cast<U>(~low) : field & low);
    }
    uint32_t have = position > kTop ? 0 : kTop + 1 - position;
    if (have <= kTop && sign) field |= have ? static_cast<U>(~U{0} << have) : static_cast<U>(~U{0});
    return static_cast<T>(field);
  }
};

template <class T>
T insert_bits(T a, T b, uint32_t c, uint32_t d) {
  uint32_t position = field_number<T>(c), length = field_number<T>(d);
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (position >= kBits || length == 0) return b;
  T field = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  field = static_cast<T>(field << position);
  return static_cast<T>((b & ~field) | ((a << position) & field));
}
template <class T>
void bfi(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  const uint32_t *c = x.at<uint32_t>(op.c), *d = x.at<uint32_t>(op.e);
  store_lanes<T>(x, op.d, mask, [&](int l) { return insert_bits(a[l], b[l], c[l], d[l]); });
}

template <bool kShift>
struct Bfind {
  template <class T>
  uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U value = static_cast<U>(a);
    if (std::is_signed_v<T> && a < 0) value = static_cast<U>(~value);
    if (value == 0) return ~0u;
    uint32_t at = static_cast<uint32_t>(std::bit_width(value)) - 1;
    return kShift ? static_cast<uint32_t>(8 * sizeof(T)) - 1 - at : at;
  }
};
struct Popc {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct Clz {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
struct Brev {
  template <class T>
  T operator()(T a) const {
    T r = 0;
    for (uint32_t i = 0; i < 8 * sizeof(T); ++i) r = static_cast<T>(r << 1 | (a >> i & 1));
    return r;
  }
};
struct Fns {
  uint32_t operator()(uint32_t mask, uint32_t base, int32_t offset) const {
    if (base > 31) return ~0u;
    if (offset == 0) return mask >> base & 1 ? base : ~0u;
    int32_t step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    for (int32_t i = static_cast<int32_t>(base); i >= 0 && i < 32; i += step)
      if (mask >> i & 1 && --left == 0) return static_cast<uint32_t>(i);
    return ~0u;
  }
};
template <bool kClamp>
struct Bmsk {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    if (kClamp) {
      if (a > 31) return 0;
      if (b > 32) b = 32;
    } else {
      a &= 31;
      b &= 31;
    }
    uint64_t ones = (uint64_t{1} << b) - 1;
    return static_cast<uint32_t>(ones << a);
  }
};
template <bool kClamp, bool kSigned>
struct Szext {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    if (kClamp ? b >= 32 : false) return a;
    uint32_t n = b & 31;
    if (n == 0) return 0;
    uint32_t low = (1u << n) - 1;
    bool sign = kSigned && (a >> (n - 1) & 1);
    return sign ? a | ~low : a & low;
  }
};

// PTX ISA 9.0, 9.7.8.7 "prmt": nibbles of c pick bytes of {b,a}; bit 3 replicates the sign.
inline uint32_t pick(uint64_t bytes, uint32_t selector) {
  uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 255;
  return selector & 8 ? (byte & 128 ? 255u : 0u) : byte;
}
struct Prmt {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; ++i) r |= pick(bytes, c >> 4 * i & 15) << 8 * i;
    return r;
  }
};
template <int kMode>
struct PrmtMode {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    static constexpr uint16_t kSelect[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
        {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
    return Prmt{}(a, b, kSelect[kMode][c & 3]);
  }
};

void lop3(Exec &x, const Op &op, uint32_t mask) {
  const uint32_t *a = x.at<uint32_t>(op.a), *b = x.at<uint32_t>(op.b), *c = x.at<uint32_t>(op.c);
  auto term = [&](int bit) { return op.x >> bit & 1 ? ~0u : 0u; };
  const uint32_t t[8] = {term(0), term(1), term(2), term(3), term(4), term(5), term(6), term(7)};
  alignas(64) uint32_t r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    uint32_t p = a[l], q = b[l], s = c[l];
    r[l] = (t[7] & p & q & s) | (t[6] & p & q & ~s) | (t[5] & p & ~q & s) | (t[4] & p & ~q & ~s) |
           (t[3] & ~p & q & s) | (t[2] & ~p & q & ~s) | (t[1] & ~p & ~q & s) | (t[0] & ~p & ~q & ~s);
  }
  if (op.n > 1) {  // d|p = (r != 0) op q
    uint32_t bits = lane_bits([&](int l) { return r[l] != 0; });
    uint32_t q = x.predicate(static_cast<uint32_t>(op.imm));
    if (op.flags & kSourceNegated) q = ~q;
    set_predicate(x, op.e, mask, op.n == 2 ? bits & q : bits | q);
  }
  store_lanes<uint32_t>(x, op.d, mask, [&](int l) { return r[l]; });
}

template <class F>
void on_predicates(Exec &x, const Op &op, uint32_t mask) {
  uint32_t a = x.predicate(op.a), b = op.b == kNone ? 0 : x.predicate(op.b);
  if (op.x & 1) a = ~a;
  if (op.x & 2) b = ~b;
  set_predicate(x, op.d, mask, F{}(a, b));
}
struct NotFirst {
  uint32_t operator()(uint32_t a, uint32_t) const { return ~a; }
};

#define B3(name, F)                                             \
  {name ".b16", binary<F, uint16_t, uint16_t, uint16_t>},       \
      {name ".b32", binary<F, uint32_t, uint32_t, uint32_t>}, { \
    name ".b64", binary<F, uint64_t, uint64_t, uint64_t>        \
  }
#define U3(name, F)                                                                           \
  {name ".b16", unary<F, uint16_t, uint16_t>}, {name ".b32", unary<F, uint32_t, uint32_t>}, { \
    name ".b64", unary<F, uint64_t, uint64_t>                                                 \
  }
#define SHIFT(name, F, suffix, T) \
  { name "." suffix, binary<F, T, T, uint32_t> }
#define PRMT(name, i) \
  { "prmt." name, ternary<PrmtMode<i>, uint32_t, uint32_t, uint32_t, uint32_t> }

constexpr Row kRows[] = {
    B3("and", And),
    B3("or", Or),
    B3("xor", Xor),
    U3("not", Not),
    U3("cnot", Cnot),
    {"and.pred", on_predicates<And>},
    {"or.pred", on_predicates<Or>},
    {"xor.pred", on_predicates<Xor>},
    {"not.pred", on_predicates<NotFirst>},
    SHIFT("shl", Shl, "b16", uint16_t),
    SHIFT("shl", Shl, "b32", uint32_t),
    SHIFT("shl", Shl, "b64", uint64_t),
    SHIFT("shr", Shr, "u16", uint16_t),
    SHIFT("shr", Shr, "u32", uint32_t),
    SHIFT("shr", Shr, "u64", uint64_t),
    SHIFT("shr", Shr, "s16", int16_t),
    SHIFT("shr", Shr, "s32", int32_t),
    SHIFT("shr", Shr, "s64", int64_t),
    {"shf.l.wrap", ternary<Funnel<true, false>, uint32_t, uint32_t, uint32_t, uint32_t>},
    {"shf.l.clamp", ternary<Funnel<true, true>, uint32_t, uint32_t, uint32_t, uint32_t>},
    {"shf.r.wrap", ternary<Funnel<false, false>, uint32_t, uint32_t, uint32_t, uint32_t>},
    {"shf.r.clamp", ternary<Funnel<false, true>, uint32_t, uint32_t, uint32_t, uint32_t>},
    {"bfe.u32", ternary<Bfe, uint32_t, uint32_t, uint32_t, uint32_t>},
    {"bfe.s32", ternary<Bfe, int32_t, int32_t, uint32_t, uint32_t>},
    {"bfe.u64", ternary<Bfe, uint64_t, uint64_t, uint32_t, uint32_t>},
    {"bfe.s64", ternary<Bfe, int64_t, int64_t, uint32_t, uint32_t>},
    {"bfi.b32", bfi<uint32_t>},
    {"bfi.b64", bfi<uint64_t>},
#define FIND(suffix, T)                                       \
  {"bfind." suffix, unary<Bfind<false>, uint32_t, T>}, {      \
    "bfind.shiftamt." suffix, unary<Bfind<true>, uint32_t, T> \
  }
    FIND("u32", uint32_t),
    FIND("s32", int32_t),
    FIND("u64", uint64_t),
    FIND("s64", int64_t),
    {"popc.b32", unary<Popc, uint32_t, uint32_t>},
    {"popc.b64", unary<Popc, uint32_t, uint64_t>},
    {"clz.b32", unary<Clz, uint32_t, uint32_t>},
    {"clz.b64", unary<Clz, uint32_t, uint64_t>},
    {"brev.b32", unary<Brev, uint32_t, uint32_t>},
    {"brev.b64", unary<Brev, uint64_t, uint64_t>},
    {"fns", ternary<Fns, uint32_t, uint32_t, uint32_t, int32_t>},
    {"bmsk.clamp", binary<Bmsk<true>, uint32_t, uint32_t, uint32_t>},
    {"bmsk.wrap", binary<Bmsk<false>, uint32_t, uint32_t, uint32_t>},
    {"szext.clamp.u32", binary<Szext<true, false>, uint32_t, uint32_t, uint32_t>},
    {"szext.clamp.s32", binary<Szext<true, true>, uint32_t, uint32_t, uint32_t>},
    {"szext.wrap.u32", binary<Szext<false, false>, uint32_t, uint32_t, uint32_t>},
    {"szext.wrap.s32", binary<Szext<false, true>, uint32_t, uint32_t, uint32_t>},
    {"prmt", ternary<Prmt, uint32_t, uint32_t, uint32_t, uint32_t>},
    PRMT("f4e", 0),
    PRMT("b4e", 1),
    PRMT("rc8", 2),
    PRMT("ecl", 3),
    PRMT("ecr", 4),
    PRMT("rc16", 5),
    {"lop3.b32", lop3},
};
}  // namespace

Rows logic_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
