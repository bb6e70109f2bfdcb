// f32 and f64 arithmetic. Results are those of IEEE 754 with the instruction's rounding; NaN
// results of f32 are 0x7FFFFFFF, of f64 a quiet copy of the operand that is one, of b
// before c before a: what the H200 gives. The approximations are the correctly rounded values of the
// host's double functions, which is within the errors that PTX ISA 9.0, 9.7.3 allows.
#include <cfenv>
#include <cmath>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

#include "lib/sim/machine/halves.h"

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
template <class T>
struct BitsOf {
  using type = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
};
// -0 is less than +0; a NaN loses against a number.
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    using B = typename BitsOf<T>::type;
    T r = a < b ? a : b;
    if (a == b) r = std::bit_cast<T>(static_cast<B>(std::bit_cast<B>(a) | std::bit_cast<B>(b)));
    r = b != b ? a : r;
    return a != a ? last_nan(b, b) : r;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    using B = typename BitsOf<T>::type;
    T r = a > b ? a : b;
    if (a == b) r = std::bit_cast<T>(static_cast<B>(std::bit_cast<B>(a) & std::bit_cast<B>(b)));
    r = b != b ? a : r;
    return a != a ? last_nan(b, b) : r;
  }
};

template <class T>
T finish(T v) {
  if constexpr (sizeof(T) == 4)
    return canonical(v);
  else
    return v;
}

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

template <class T>
T input(T v, uint8_t mode) {
  if constexpr (sizeof(T) == 4)
    if (mode & kFtz) return flush(v);
  return v;
}
template <class T>
T output(T v, uint8_t mode) {
  if (mode & kSat) v = v != v ? T{0} : v > T{1} ? T{1} : v > T{0} ? v : T{0};
  return finish(input(v, mode));
}

template <class F, class T, int kSources>
void with_mode(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = kSources > 1 ? x.at<T>(op.b) : nullptr,
          *c = kSources > 2 ? x.at<T>(op.c) : nullptr;
  T *d = x.at<T>(op.d);
  std::fesetround(host_rounding(op.mode));
  each_lane(mask, [&](uint32_t l) {
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
  });
  std::fesetround(FE_TONEAREST);
}

// min and max with .NaN, .xorsign.abs, .ftz
template <class F, class T>
void extreme(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a), *b = x.at<T>(op.b);
  store_lanes<T>(x, op.d, mask, [&](int l) {
    T p = input(a[l], op.mode), q = input(b[l], op.mode);
    bool negative = std::signbit(p) != std::signbit(q);
    if (op.mode & kXorSign) {
      p = std::fabs(p);
      q = std::fabs(q);
    }
    T r = F{}(p, q);
    if (op.mode & kNan && (p != p || q != q)) r = finish(std::numeric_limits<T>::quiet_NaN());
    if (op.mode & kXorSign && r == r) r = std::copysign(r, negative ? T{-1} : T{1});
    return finish(r);
  });
}

// abs and neg of a NaN: as of any other instruction, and a f64 one keeps its sign.
template <class T>
T sign_changed(T changed, T a) {
  if constexpr (sizeof(T) == 8) return a != a ? quiet(a) : changed;
  return finish(changed);
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

// Approximations, by way of double.
struct RcpD {
  double operator()(double a) const { return 1 / a; }
};
struct RsqrtD {
  double operator()(double a) const { return 1 / std::sqrt(a); }
};
struct SinD {
  double operator()(double a) const { return std::sin(a); }
};
struct CosD {
  double operator()(double a) const { return std::cos(a); }
};
struct Lg2D {
  double operator()(double a) const { return std::log2(a); }
};
struct Ex2D {
  double operator()(double a) const { return std::exp2(a); }
};
struct TanhD {
  double operator()(double a) const { return std::tanh(a); }
};

template <class F>
void approximate(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a);
  float *d = x.at<float>(op.d);
  each_lane(mask, [&](uint32_t l) {
    d[l] = output(static_cast<float>(F{}(static_cast<double>(input(a[l], op.mode)))), op.mode);
  });
}
template <class F>
void approximate_f64(Exec &x, const Op &op, uint32_t mask) {
  const double *a = x.at<double>(op.a);
  double *d = x.at<double>(op.d);
  each_lane(mask, [&](uint32_t l) { d[l] = F{}(a[l]); });
}
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 work on the upper 32 bits. PTX ISA 9.0, 9.7.3.14.
template <class F>
void approximate_upper(Exec &x, const Op &op, uint32_t mask) {
  const double *a = x.at<double>(op.a);
  double *d = x.at<double>(op.d);
  constexpr uint64_t kUpper = 0xFFFFFFFF00000000u;
  each_lane(mask, [&](uint32_t l) {
    double v = std::bit_cast<double>(std::bit_cast<uint64_t>(a[l]) & kUpper);
    if (std::fpclassify(v) == FP_SUBNORMAL) v = std::copysign(0.0, v);
    double r = F{}(v);
    if (std::fpclassify(r) == FP_SUBNORMAL) r = std::copysign(0.0, r);
    d[l] = r != r ? std::bit_cast<double>(0x7FFFFFFF00000000u)
                  : std::bit_cast<double>(std::bit_cast<uint64_t>(r) & kUpper);
  });
}
template <class F>
void rsqrt_f64(Exec &x, const Op &op, uint32_t mask) {
  if (op.mode & kFtz)
    approximate_upper<F>(x, op, mask);
  else
    approximate_f64<F>(x, op, mask);
}

// PTX ISA 9.0, 9.7.3.8 "div": where |b| is above 2^126, div.approx multiplies by 0 instead.
template <bool kFull>
void div_approx(Exec &x, const Op &op, uint32_t mask) {
  const float *a = x.at<float>(op.a), *b = x.at<float>(op.b);
  store_lanes<float>(x, op.d, mask, [&](int l) {
    float p = input(a[l], op.mode), q = input(b[l], op.mode);
    const bool is_huge = !kFull && std::fabs(q) > 0x1p126f && !std::isinf(q);
    return output(is_huge ? p * std::copysign(0.0f, q) : p / q, op.mode);
  });
}

enum class Class { finite, infinite, number, notanumber, normal, subnormal };
template <Class kClass, class T>
void testp(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  set_predicate(x, op.d, mask, lane_bits([&](int l) {
                  int c = std::fpclassify(a[l]);
                  switch (kClass) {
                    case Class::finite:
                      return c != FP_NAN && c != FP_INFINITE;
                    case Class::infinite:
                      return c == FP_INFINITE;
                    case Class::number:
                      return c != FP_NAN;
                    case Class::notanumber:
                      return c == FP_NAN;
                    case Class::normal:
                      return c == FP_NORMAL || c == FP_ZERO;
                    default:
                      return c == FP_SUBNORMAL;
                  }
                }));
}

#define MODE(name, F, n) \
  {name ".f32.mode", with_mode<F, float, n>}, { name ".f64.mode", with_mode<F, double, n> }
#define TEST(name, c) \
  {"testp." name ".f32", testp<c, float>}, { "testp." name ".f64", testp<c, double> }

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
    MODE("rcp", Rcp, 1),
    MODE("sqrt", Sqrt, 1),
    {"rcp.f32", plain1<Rcp>},
    {"rcp.f64", unary<Rcp, double, double>},
    {"sqrt.f32", plain1<Sqrt>},
    {"sqrt.f64", unary<Sqrt, double, double>},
    {"min.f32", plain2<Min>},
    {"max.f32", plain2<Max>},
    {"min.f64", binary<Min, double, double, double>},
    {"max.f64", binary<Max, double, double, double>},
    {"min.f32.mode", extreme<Min, float>},
    {"max.f32.mode", extreme<Max, float>},
    {"min.f32.ftz", extreme<Min, float>},
    {"max.f32.ftz", extreme<Max, float>},
    {"abs.f32", absolute<float>},
    {"abs.f64", absolute<double>},
    {"abs.f32.mode", absolute<float>},
    {"neg.f32", negate<float>},
    {"neg.f64", negate<double>},
    {"neg.f32.mode", negate<float>},
    {"copysign.f32", binary<Copysign, float, float, float>},
    {"copysign.f64", binary<Copysign, double, double, double>},
    {"div.approx.f32", div_approx<false>},
    {"div.approx.f32.mode", div_approx<false>},
    {"div.full.f32", div_approx<true>},
    {"div.full.f32.mode", div_approx<true>},
    {"rcp.approx.f32", approximate<RcpD>},
    {"sqrt.approx.f32", approximate<Sqrt>},
    {"rsqrt.f32", approximate<RsqrtD>},
    {"sin.f32", approximate<SinD>},
    {"cos.f32", approximate<CosD>},
    {"lg2.f32", approximate<Lg2D>},
    {"ex2.f32", approximate<Ex2D>},
    {"tanh.f32", approximate<TanhD>},
    {"rcp.approx.f64", approximate_upper<RcpD>},
    {"rsqrt.f64", rsqrt_f64<RsqrtD>},
    TEST("finite", Class::finite),
    TEST("infinite", Class::infinite),
    TEST("number", Class::number),
    TEST("notanumber", Class::notanumber),
    TEST("normal", Class::normal),
    TEST("subnormal", Class::subnormal),
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
