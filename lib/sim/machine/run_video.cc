// Video instructions on all lanes. Source: PTX ISA 9.0, 9.7.18.
#include <algorithm>

#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/video.h"

namespace egpu::sim {
namespace {

__extension__ typedef __int128 Wide;  // a shifted word, a product

Wide extended(uint32_t v, uint32_t shift, uint32_t bits, bool is_signed) {
  const uint32_t up = 32 - bits, word = v >> shift << up;
  return is_signed ? static_cast<Wide>(static_cast<int32_t>(word) >> up) : static_cast<Wide>(word >> up);
}

struct Field {
  uint32_t shift, bits;
};
Field field_of(uint32_t selector) {
  if (selector == 0) return {0, 32};
  return selector < 5 ? Field{8 * (selector - 1), 8} : Field{16 * (selector - 5), 16};
}

Wide saturated(Wide v, uint32_t bits, bool is_signed) {
  const Wide most = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1, least = is_signed ? -most - 1 : 0;
  return std::clamp(v, least, most);
}

Wide apply(const VideoForm &form, Wide a, Wide b) {
  const uint32_t count = static_cast<uint32_t>(form.wraps ? b & 31 : std::min<Wide>(b, 32));
  switch (form.operation) {
    case Video::add:
      return a + b;
    case Video::sub:
      return a - b;
    case Video::absdiff:
      return a < b ? b - a : a - b;
    case Video::average:  // halves are rounded away from zero
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case Video::min:
      return std::min(a, b);
    case Video::max:
      return std::max(a, b);
    case Video::shl:
      return a * (Wide{1} << count);
    case Video::shr:
      return a >> count;
    case Video::eq:
      return a == b;
    case Video::ne:
      return a != b;
    case Video::lt:
      return a < b;
    case Video::le:
      return a <= b;
    case Video::gt:
      return a > b;
    case Video::ge:
      return a >= b;
  }
  return 0;
}

uint32_t second_of(const VideoForm &form, Wide v, uint32_t c_word) {
  const Wide c = extended(c_word, 0, 32, form.d_is_signed);
  switch (form.second) {
    case VideoSecond::add:
      return static_cast<uint32_t>(v + c);
    case VideoSecond::min:
      return static_cast<uint32_t>(std::min(v, c));
    case VideoSecond::max:
      return static_cast<uint32_t>(std::max(v, c));
    default:
      return static_cast<uint32_t>(v);
  }
}

uint32_t merged(uint32_t v, Field into, uint32_t c) {
  if (into.bits == 32) return v;
  const uint32_t mask = ((1u << into.bits) - 1) << into.shift;
  return (c & ~mask) | (v << into.shift & mask);
}

// The lane's a, b, c give its d.
template <class Compute>
void on_words(Exec &x, const Op &op, uint32_t mask, Compute &&compute) {
  const uint32_t *a = x.at<uint32_t>(op.a), *b = x.at<uint32_t>(op.b);
  const uint32_t *c = op.c == kNone ? nullptr : x.at<uint32_t>(op.c);
  uint32_t *d = x.at<uint32_t>(op.d);
  const VideoForm form = std::bit_cast<VideoForm>(op.imm);
  each_lane(mask, [&](uint32_t l) { d[l] = compute(form, a[l], b[l], c ? c[l] : 0); });
}

void scalar(Exec &x, const Op &op, uint32_t mask) {
  on_words(x, op, mask, [](const VideoForm &form, uint32_t a, uint32_t b, uint32_t c) {
    const Field of_a = field_of(form.a), of_b = field_of(form.b), of_d = field_of(form.d);
    Wide v = apply(form, extended(a, of_a.shift, of_a.bits, form.a_is_signed),
                   extended(b, of_b.shift, of_b.bits, form.b_is_signed));
    if (form.saturates) v = saturated(v, of_d.bits, form.d_is_signed);
    return of_d.bits == 32 ? second_of(form, v, c) : merged(static_cast<uint32_t>(v), of_d, c);
  });
}

void simd(Exec &x, const Op &op, uint32_t mask) {
  on_words(x, op, mask, [](const VideoForm &form, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t parts = form.parts, bits = 32 / parts;
    const auto part = [&](uint32_t selector, uint32_t i, bool is_signed) {
      const uint32_t number = selector >> 4 * i & 15;
      return extended(number < parts ? a : b, number % parts * bits, bits, is_signed);
    };
    uint32_t d = c;
    for (uint32_t i = 0; i < parts; ++i) {
      if (!(form.d >> i & 1)) continue;
      Wide v = apply(form, part(form.a, i, form.a_is_signed), part(form.b, i, form.b_is_signed));
      if (form.saturates) v = saturated(v, bits, form.d_is_signed);
      const uint32_t word = static_cast<uint32_t>(v);
      d = form.second == VideoSecond::add ? d + word : merged(word, {i * bits, bits}, d);
    }
    return d;
  });
}

// A negated product or addend is its complement, plus one.
void multiply_add(Exec &x, const Op &op, uint32_t mask) {
  on_words(x, op, mask, [&op](const VideoForm &form, uint32_t a, uint32_t b, uint32_t c_word) {
    const Field of_a = field_of(form.a), of_b = field_of(form.b);
    const bool is_signed = form.a_is_signed || form.b_is_signed || op.x & (kNegatesProduct | kNegatesAddend);
    Wide product = extended(a, of_a.shift, of_a.bits, form.a_is_signed) *
                   extended(b, of_b.shift, of_b.bits, form.b_is_signed);
    if (op.x & kNegatesProduct) product = ~product;
    if (op.x & kNegatesAddend) c_word = ~c_word;
    const Wide sum = product + extended(c_word, 0, 32, is_signed) + (op.x ? 1 : 0);
    const Wide v = sum >> op.n;
    return static_cast<uint32_t>(form.saturates ? saturated(v, 32, is_signed) : v);
  });
}

constexpr Row kRows[] = {
    {"video.scalar", scalar},
    {"video.simd", simd},
    {"video.mad", multiply_add},
};
}  // namespace

Rows video_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
