// f32 and f64 arithmetic. Results are those of IEEE 754 with the instruction's rounding; NaN
// results of f32 are 0x7FFFFFFF, of f64 a quiet copy of the operand that is one, of b
// before c before a: what the H200 gives. run_function.cc has the approximations.
#include <cfenv>
#include <cmath>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

#include "lib/sim/machine/modes.h"
#include "lib/sim/machine/order.h"

namespace egpu::sim {
namespace {

template <class T>
T last_nan(T b, T r) {
  if constexpr (sizeof(T) == 8) return b != b ? quiet(b) : r;
  return r;
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return last_nan(b, a + b);
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return last_nan(b, a - b);
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return last_nan(b, a * b);
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return last_nan(b, last_nan(c, std::fma(a, b, c)));
  }
};
struct Rcp {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
// Of f64, a NaN that min or max gives is a quiet one.
template <class F>
struct QuietExtreme {
  double operator()(double a, double b) const {
    const double r = F{}(a, b);
    return r != r ? quiet(r) : r;
  }
};

template <class F>
void plain1(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a);
  store_lanes<float>(x, op.d, mask, [&](int l) { return canonical(F{}(a[l])); });
}
template <class F>
void plain2(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  store_lanes<float>(x, op.d, mask, [&](int l) { return canonical(F{}(a[l], b[l])); });
}
// Whether .ftz makes 0 of a product or sum r that was rounded to 2^-126: it does if with f32's
// precision and more exponents it would have stayed below.
template <class... T>
bool is_tiny(float r, T... operands) {
  constexpr uint32_t kSmallestNormal = 0x00800000;
  if ((std::bit_cast<uint32_t>(r) & 0x7FFFFFFF) != kSmallestNormal) return false;
  const auto exact = [](double a, double b, double c = 0.0) { return add_to_odd(a * b, c); };
  volatile double scaled = exact(static_cast<double>(operands)...) * 0x1p64;
  return std::fabs(static_cast<float>(scaled)) < 0x1p-62f;
}

template <class F>
void flushed2(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  store_lanes<float>(x, op.d, mask, [&](int l) {
    const float p = flush(a[l]), q = flush(b[l]), r = F{}(p, q);
    if constexpr (std::is_same_v<F, Mul>)
      if (is_tiny(r, p, q)) return std::copysign(0.0f, r);
    return flush(canonical(r));
  });
}

void fma_f32(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b), *c = x.at<float>(op.c);
  store_lanes<float>(x, op.d, mask, [&](int l) { return canonical(std::fma(a[l], b[l], c[l])); });
}
void fma_f64(Exec &x, const Op &op, uint32_t mask) {
  const double *a = x.at<double>(op.a), *b = x.at<double>(op.b), *c = x.at<double>(op.c);
  store_lanes<double>(x, op.d, mask, [&](int l) { return Fma{}(a[l], b[l], c[l]); });
}
void fma_f32_ftz(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b), *c = x.at<float>(op.c);
  store_lanes<float>(x, op.d, mask, [&](int l) {
    const float p = flush(a[l]), q = flush(b[l]), s = flush(c[l]), r = std::fma(p, q, s);
    return is_tiny(r, p, q, s) ? std::copysign(0.0f, r) : flush(canonical(r));
  });
}

#if defined(__x86_64__)
// The same with the host's fused instructions, where it has them; ISA-specific code stays in
// these two functions, so that nothing else of this file needs the host to have them.
__attribute__((target("avx2,fma"))) void fma_f32_avx2(Exec &x, const Op &op, uint32_t mask) {
  if (mask != kAll) return fma_f32(x, op, mask);
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b), *c = x.at<float>(op.c);
  float *d = x.at<float>(op.d);
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kNanF32)));
  for (int l = 0; l < kLanes; l += 8) {
    __m256 r = _mm256_fmadd_ps(_mm256_loadu_ps(a + l), _mm256_loadu_ps(b + l), _mm256_loadu_ps(c + l));
    r = _mm256_blendv_ps(r, nan, _mm256_cmp_ps(r, r, _CMP_UNORD_Q));
    _mm256_storeu_ps(d + l, r);
  }
}
__attribute__((target("avx2,fma"))) void fma_f64_avx2(Exec &x, const Op &op, uint32_t mask) {
  if (mask != kAll) return fma_f64(x, op, mask);
  const double *a = x.at<double>(op.a), *b = x.at<double>(op.b), *c = x.at<double>(op.c);
  double *d = x.at<double>(op.d);
  const __m256d quiet_bit = _mm256_castsi256_pd(_mm256_set1_epi64x(int64_t{1} << 51));
  auto last = [&](__m256d v, __m256d r) __attribute__((target("avx2,fma"))) {
    return _mm256_blendv_pd(r, _mm256_or_pd(v, quiet_bit), _mm256_cmp_pd(v, v, _CMP_UNORD_Q));
  };
  for (int l = 0; l < kLanes; l += 4) {
    const __m256d p = _mm256_loadu_pd(a + l), q = _mm256_loadu_pd(b + l), s = _mm256_loadu_pd(c + l);
    _mm256_storeu_pd(d + l, last(q, last(s, _mm256_fmadd_pd(p, q, s))));
  }
}
bool host_has_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

// Any mode: rounding, ftz, sat. Volatile, because the compiler knows nothing of fesetround.
int host_rounding(uint8_t mode) {
  switch (mode & kRoundMask) {
    case kRz:
      return FE_TOWARDZERO;
    case kRm:
      return FE_DOWNWARD;
    case kRp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// kCount: 1 or, of f32x2, 2 numbers a lane.
template <class F, class T, int kSources, uint32_t kCount = 1>
void with_mode(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = kSources > 1 ? x.at<T>(op.b) : nullptr,
          *c = kSources > 2 ? x.at<T>(op.c) : nullptr;
  T *d = x.at<T>(op.d);
  std::fesetround(host_rounding(op.mode));
  const auto one = [&](uint32_t l) {
    volatile T p = input(a[l], op.mode), q = kSources > 1 ? input(b[l], op.mode) : T{},
               s = kSources > 2 ? input(c[l], op.mode) : T{};
    volatile T r;
    if constexpr (kSources == 1)
      r = F{}(static_cast<T>(p));
    else if constexpr (kSources == 2)
      r = F{}(static_cast<T>(p), static_cast<T>(q));
    else
      r = F{}(static_cast<T>(p), static_cast<T>(q), static_cast<T>(s));
    T result = r;
    if constexpr (sizeof(T) == 4 && std::is_same_v<F, Mul>)
      if (op.mode & kFtz && is_tiny(result, p, q)) result = std::copysign(T{0}, result);
    if constexpr (sizeof(T) == 4 && std::is_same_v<F, Div>)
      if (op.mode & kFtz && std::fabs(result) == 0x1p-126f) {
        volatile float scaled = Div{}(static_cast<float>(p) * 0x1p64f, static_cast<float>(q));
        if (std::fabs(scaled) < 0x1p-62f) result = std::copysign(0.0f, result);
      }
    if constexpr (sizeof(T) == 4 && std::is_same_v<F, Fma>)
      if (op.mode & kFtz && is_tiny(result, p, q, s)) result = std::copysign(T{0}, result);
    d[l] = output(result, op.mode);
  };
  each_lane(mask, [&](uint32_t l) {
    for (uint32_t i = 0; i < kCount; ++i) one(kCount * l + i);
  });
  std::fesetround(FE_TONEAREST);
}

// min and max of two with .NaN, .xorsign.abs, .ftz
template <class F>
void extreme(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  store_lanes<float>(x, op.d, mask, [&](int l) {
    float p = input(a[l], op.mode), q = input(b[l], op.mode);
    bool negative = std::signbit(p) != std::signbit(q);
    if (op.mode & kXorSign) {
      p = std::fabs(p);
      q = std::fabs(q);
    }
    float r = F{}(p, q);
    if (op.mode & kNan && (p != p || q != q)) r = std::bit_cast<float>(kNanF32);
    if (op.mode & kXorSign && r == r) r = std::copysign(r, negative ? -1.0f : 1.0f);
    return canonical(r);
  });
}

// PTX ISA 9.0, 9.7.3.11 "min": of three, with .NaN, .abs, .ftz
template <class F>
void extreme_of_three(Exec &x, const Op &op, uint32_t mask) {
  const float *sources[] = {x.at<float>(op.a), x.at<float>(op.b), x.at<float>(op.c)};
  store_lanes<float>(x, op.d, mask, [&](int l) {
    float r = std::bit_cast<float>(kNanF32);
    bool any_nan = false;
    for (const float *source : sources) {
      float v = input(source[l], op.mode);
      if (op.mode & kAbs) v = std::fabs(v);
      any_nan |= v != v;
      r = F{}(r, v);
    }
    return canonical(any_nan && op.mode & kNan ? std::bit_cast<float>(kNanF32) : r);
  });
}

// abs and neg of a NaN: as of any other instruction, and a f64 one keeps its sign.
template <class T>
T sign_changed(T changed, T a) {
  if constexpr (sizeof(T) == 8)
    return a != a ? quiet(a) : changed;
  else
    return canonical(changed);
}

template <class T>
void absolute(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  store_lanes<T>(x, op.d, mask, [&](int l) { return sign_changed(std::fabs(input(a[l], op.mode)), a[l]); });
}
template <class T>
void negate(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  store_lanes<T>(x, op.d, mask, [&](int l) { return sign_changed(-input(a[l], op.mode), a[l]); });
}
struct Copysign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};

#define MODE(name, F, n) \
  {name ".f32.mode", with_mode<F, float, n>}, { name ".f64.mode", with_mode<F, double, n> }
#define PAIR(name, F, n) \
  {name ".f32x2", with_mode<F, float, n, 2>}, { name ".f32x2.mode", with_mode<F, float, n, 2> }

constexpr Row kRows[] = {
    {"add.f32", plain2<Add>},
    {"sub.f32", plain2<Sub>},
    {"mul.f32", plain2<Mul>},
    {"div.f32", plain2<Div>},
    {"add.f32.ftz", flushed2<Add>},
    {"sub.f32.ftz", flushed2<Sub>},
    {"mul.f32.ftz", flushed2<Mul>},
    {"add.f64", binary<Add, double, double, double>},
    {"sub.f64", binary<Sub, double, double, double>},
    {"mul.f64", binary<Mul, double, double, double>},
    {"div.f64", binary<Div, double, double, double>},
    {"fma.f32", fma_f32},
    {"fma.f64", fma_f64},
    {"fma.f32.ftz", fma_f32_ftz},
    MODE("add", Add, 2),
    MODE("sub", Sub, 2),
    MODE("mul", Mul, 2),
    MODE("div", Div, 2),
    MODE("fma", Fma, 3),
    PAIR("add", Add, 2),
    PAIR("sub", Sub, 2),
    PAIR("mul", Mul, 2),
    PAIR("fma", Fma, 3),
    MODE("rcp", Rcp, 1),
    MODE("sqrt", Sqrt, 1),
    {"rcp.f32", plain1<Rcp>},
    {"rcp.f64", unary<Rcp, double, double>},
    {"sqrt.f32", plain1<Sqrt>},
    {"sqrt.f64", unary<Sqrt, double, double>},
    {"min.f32", plain2<MinReal>},
    {"max.f32", plain2<MaxReal>},
    {"min.f64", binary<QuietExtreme<MinReal>, double, double, double>},
    {"max.f64", binary<QuietExtreme<MaxReal>, double, double, double>},
    {"min.f32.mode", extreme<MinReal>},
    {"max.f32.mode", extreme<MaxReal>},
    {"min.f32.ftz", extreme<MinReal>},
    {"max.f32.ftz", extreme<MaxReal>},
    {"min3.f32", extreme_of_three<MinReal>},
    {"max3.f32", extreme_of_three<MaxReal>},
    {"abs.f32", absolute<float>},
    {"abs.f64", absolute<double>},
    {"abs.f32.mode", absolute<float>},
    {"neg.f32", negate<float>},
    {"neg.f64", negate<double>},
    {"neg.f32.mode", negate<float>},
    {"copysign.f32", binary<Copysign, float, float, float>},
    {"copysign.f64", binary<Copysign, double, double, double>},
};
}  // namespace

Rows float_rows() { return {kRows, std::size(kRows)}; }

Rows host_float_rows() {
#if defined(__x86_64__)
  static constexpr Row kFused[] = {{"fma.f32", fma_f32_avx2}, {"fma.f64", fma_f64_avx2}};
  if (host_has_fma()) return {kFused, std::size(kFused)};
#endif
  return {nullptr, 0};
}

}  // namespace egpu::sim
