// Floating functions that the hardware approximates, and the classes of numbers. The approximations are the
// correctly rounded values of the host's double functions, which is within the errors that PTX ISA 9.0, 9.7.3
// allows.
#include <cmath>

#include "lib/sim/machine/modes.h"

namespace egpu::sim {
namespace {

struct Rcp {
  double operator()(double a) const { return 1 / a; }
};
struct Sqrt {
  double operator()(double a) const { return std::sqrt(a); }
};
struct Rsqrt {
  double operator()(double a) const { return 1 / std::sqrt(a); }
};
struct Sin {
  double operator()(double a) const { return std::sin(a); }
};
struct Cos {
  double operator()(double a) const { return std::cos(a); }
};
struct Lg2 {
  double operator()(double a) const { return std::log2(a); }
};
struct Ex2 {
  double operator()(double a) const { return std::exp2(a); }
};
struct Tanh {
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

#define TEST(name, c) \
  {"testp." name ".f32", testp<c, float>}, { "testp." name ".f64", testp<c, double> }

constexpr Row kRows[] = {
    {"div.approx.f32", div_approx<false>},
    {"div.approx.f32.mode", div_approx<false>},
    {"div.full.f32", div_approx<true>},
    {"div.full.f32.mode", div_approx<true>},
    {"rcp.approx.f32", approximate<Rcp>},
    {"sqrt.approx.f32", approximate<Sqrt>},
    {"rsqrt.f32", approximate<Rsqrt>},
    {"sin.f32", approximate<Sin>},
    {"cos.f32", approximate<Cos>},
    {"lg2.f32", approximate<Lg2>},
    {"ex2.f32", approximate<Ex2>},
    {"tanh.f32", approximate<Tanh>},
    {"rcp.approx.f64", approximate_upper<Rcp>},
    {"rsqrt.f64", rsqrt_f64<Rsqrt>},
    TEST("finite", Class::finite),
    TEST("infinite", Class::infinite),
    TEST("number", Class::number),
    TEST("notanumber", Class::notanumber),
    TEST("normal", Class::normal),
    TEST("subnormal", Class::subnormal),
};
}  // namespace

Rows function_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
