// Comparisons into predicates, and selections.
#include "lib/sim/machine/halves.h"

namespace egpu::sim {
namespace {

struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return (a < b) | (a > b);
  }
};  // ordered
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Equ {
  template <class T>
  bool operator()(T a, T b) const {
    return !((a < b) | (a > b));
  }
};
struct Neu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a == b);
  }
};
struct Ltu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a >= b);
  }
};
struct Leu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a > b);
  }
};
struct Gtu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a <= b);
  }
};
struct Geu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a < b);
  }
};
struct Num {
  template <class T>
  bool operator()(T a, T b) const {
    return (a == a) & (b == b);
  }
};
struct Nan {
  template <class T>
  bool operator()(T a, T b) const {
    return (a != a) | (b != b);
  }
};

void set_both(Exec &x, const Op &op, uint32_t mask, uint32_t bits) {
  uint32_t inverse = ~bits;
  if (op.n) {
    uint32_t c = x.predicate(op.c);
    if (op.flags & kSourceNegated) c = ~c;
    bits = op.n == 1 ? bits & c : op.n == 2 ? bits | c : bits ^ c;
    inverse = op.n == 1 ? inverse & c : op.n == 2 ? inverse | c : inverse ^ c;
  }
  set_predicate(x, op.d, mask, bits);
  set_predicate(x, op.e, mask, inverse);
}

template <class F, class T>
void setp(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  set_both(x, op, mask, lane_bits([&](int l) { return F{}(a[l], b[l]); }));
}

template <class F>
void setp_f32(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  if (op.mode & kFtz)
    set_both(x, op, mask, lane_bits([&](int l) { return F{}(flush(a[l]), flush(b[l])); }));
  else
    set_both(x, op, mask, lane_bits([&](int l) { return F{}(a[l], b[l]); }));
}

template <class F, class H>
void setp_half(Exec &x, const Op &op, uint32_t mask) {
  const H *a = x.at<H>(op.a), *b = x.at<H>(op.b);
  auto value = [ftz = op.mode & kFtz](H h) { return (ftz ? flush_half(h) : h).value(); };
  set_both(x, op, mask, lane_bits([&](int l) { return F{}(value(a[l]), value(b[l])); }));
}

// Of packed halves: p is of the low ones, q of the high ones.
template <class F, class H>
void setp_packed(Exec &x, const Op &op, uint32_t mask) {
  const H *a = x.at<H>(op.a), *b = x.at<H>(op.b);
  auto value = [ftz = op.mode & kFtz](H h) { return (ftz ? flush_half(h) : h).value(); };
  uint32_t low = lane_bits([&](int l) { return F{}(value(a[2 * l]), value(b[2 * l])); });
  uint32_t high = lane_bits([&](int l) { return F{}(value(a[2 * l + 1]), value(b[2 * l + 1])); });
  if (op.n) {
    uint32_t c = x.predicate(op.c);
    if (op.flags & kSourceNegated) c = ~c;
    low = op.n == 1 ? low & c : op.n == 2 ? low | c : low ^ c;
    high = op.n == 1 ? high & c : op.n == 2 ? high | c : high ^ c;
  }
  set_predicate(x, op.d, mask, low);
  set_predicate(x, op.e, mask, high);
}

template <class F, class H, uint16_t kOne>
void set_packed(Exec &x, const Op &op, uint32_t mask) {
  const H *a = x.at<H>(op.a), *b = x.at<H>(op.b);
  auto value = [ftz = op.mode & kFtz](H h) { return (ftz ? flush_half(h) : h).value(); };
  store_lanes<uint32_t>(x, op.d, mask, [&](int l) {
    uint32_t low = F{}(value(a[2 * l]), value(b[2 * l])) ? kOne : 0u;
    uint32_t high = F{}(value(a[2 * l + 1]), value(b[2 * l + 1])) ? kOne : 0u;
    return low | high << 16;
  });
}

template <class T>
void selp(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  uint32_t p = x.predicate(op.c);
  if (op.flags & kSourceNegated) p = ~p;
  store_lanes<T>(x, op.d, mask, [&](int l) { return p >> l & 1 ? a[l] : b[l]; });
}

template <class T, class C>
void slct(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  const C *c = x.at<C>(op.c);
  bool ftz = op.mode & kFtz;
  store_lanes<T>(x, op.d, mask, [&](int l) {
    C value = c[l];
    if constexpr (std::is_same_v<C, float>)
      if (ftz) value = flush(value);
    return value >= C{0} ? a[l] : b[l];
  });
}

#define INTEGER(word, F)                                                                 \
  {"setp." word ".u16", setp<F, uint16_t>}, {"setp." word ".u32", setp<F, uint32_t>},    \
      {"setp." word ".u64", setp<F, uint64_t>}, {"setp." word ".s16", setp<F, int16_t>}, \
      {"setp." word ".s32", setp<F, int32_t>}, {                                         \
    "setp." word ".s64", setp<F, int64_t>                                                \
  }
#define FLOAT(word, F)                                                                                 \
  {"setp." word ".f32", setp_f32<F>}, {"setp." word ".f64", setp<F, double>},                          \
      {"setp." word ".f16", setp_half<F, Half>}, {"setp." word ".bf16", setp_half<F, Bfloat>},         \
      {"setp." word ".f16x2", setp_packed<F, Half>}, {"setp." word ".bf16x2", setp_packed<F, Bfloat>}, \
      {"set." word ".f16x2.f", set_packed<F, Half, 0x3C00>},                                           \
      {"set." word ".f16x2.u", set_packed<F, Half, 0xFFFF>},                                           \
      {"set." word ".bf16x2.f", set_packed<F, Bfloat, 0x3F80>}, {                                      \
    "set." word ".bf16x2.u", set_packed<F, Bfloat, 0xFFFF>                                             \
  }

constexpr Row kRows[] = {
    INTEGER("eq", Eq),
    INTEGER("ne", Neu),
    INTEGER("lt", Lt),
    INTEGER("le", Le),
    INTEGER("gt", Gt),
    INTEGER("ge", Ge),
    FLOAT("eq", Eq),
    FLOAT("ne", Ne),
    FLOAT("lt", Lt),
    FLOAT("le", Le),
    FLOAT("gt", Gt),
    FLOAT("ge", Ge),
    FLOAT("equ", Equ),
    FLOAT("neu", Neu),
    FLOAT("ltu", Ltu),
    FLOAT("leu", Leu),
    FLOAT("gtu", Gtu),
    FLOAT("geu", Geu),
    FLOAT("num", Num),
    FLOAT("nan", Nan),
    {"selp.2", selp<uint16_t>},
    {"selp.4", selp<uint32_t>},
    {"selp.8", selp<uint64_t>},
    {"slct.2.s32", slct<uint16_t, int32_t>},
    {"slct.4.s32", slct<uint32_t, int32_t>},
    {"slct.8.s32", slct<uint64_t, int32_t>},
    {"slct.2.f32", slct<uint16_t, float>},
    {"slct.4.f32", slct<uint32_t, float>},
    {"slct.8.f32", slct<uint64_t, float>},
};
}  // namespace

Rows compare_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
