// mma.sync, ldmatrix, stmatrix, movmatrix.
//
// Products are exact. A floating sum is formed in double, from c on in the order of k, and rounded
// once to d's type (nearest even); f64 is a chain of fused multiply-adds in the order of k. A
// tensor core adds several products at a time, aligned to the largest of them and truncated, so
// its last bits differ unless all sums are exact. Integers agree.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lib/sim/machine/access.h"
#include "lib/sim/machine/halves.h"

namespace egpu::sim {
namespace {

const MatrixSite &site_of(const Op &op) {
  return *reinterpret_cast<const MatrixSite *>(static_cast<intptr_t>(op.imm));
}

bool all_here(Exec &x, uint32_t mask) {
  if (mask == kAll) return true;
  char lanes[16];
  std::snprintf(lanes, sizeof lanes, "0x%08x", mask);
  raise(x, Fault::illegal_instruction, static_cast<uint32_t>(std::countr_zero(mask)),
        std::string("executed by lanes ") + lanes + ", not by the whole warp");
  return false;
}

// Elements of a fragment: lane l = 4 * group + member holds, in register r, the next few in a row.
// visit(row, column, bits) with columns along k (A) or n (C).
template <class Visit>
void each_element(Exec &x, const std::vector<uint32_t> &refs, uint32_t bits, uint32_t rows, Visit &&visit) {
  uint32_t width = bits == 64 ? 64 : 32, per = width / bits;
  for (uint32_t r = 0; r < refs.size(); ++r)
    for (uint32_t l = 0; l < kLanes; ++l) {
      uint64_t word = width == 64 ? x.at<uint64_t>(refs[r])[l] : x.at<uint32_t>(refs[r])[l];
      uint32_t half = rows == 16 ? r & 1 : 0, block = rows == 16 ? r >> 1 : r;
      for (uint32_t j = 0; j < per; ++j)
        visit(l / 4 + 8 * half, block * 4 * per + l % 4 * per + j,
              bits == 64 ? word : word >> (j * bits) & ((uint64_t{1} << bits) - 1));
    }
}

// Of C and D: pairs of columns, whatever the registers' width.
template <class Visit>
void each_accumulator(uint32_t m, Visit &&visit) {
  for (uint32_t i = 0; i < m / 4; ++i)
    for (uint32_t l = 0; l < kLanes; ++l) visit(i, l, l / 4 + 8 * (i >> 1), l % 4 * 2 + (i & 1));
}

double real_of(uint64_t bits, Element element) {
  uint32_t word = static_cast<uint32_t>(bits);
  switch (element) {
    case Element::f16:
      return widen_float(word, kF16);
    case Element::bf16:
      return static_cast<double>(bf16_to_float(static_cast<uint16_t>(word)));
    case Element::tf32:  // the low 13 bits do not take part
      return static_cast<double>(std::bit_cast<float>(word & ~0x1FFFu));
    case Element::e4m3:
      return widen_float(word, kE4m3);
    case Element::e5m2:
      return widen_float(word, kE5m2);
    case Element::f64:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(std::bit_cast<float>(word));
  }
}

int64_t integer_of(uint64_t bits, Element element) {
  switch (element) {
    case Element::s8:
      return static_cast<int8_t>(bits);
    case Element::s4:
      return static_cast<int64_t>(bits << 60) >> 60;
    case Element::s32:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

// The accumulator's element i in lane l, of registers that hold `bits` bits each element.
uint64_t accumulator(Exec &x, const std::vector<uint32_t> &refs, uint32_t bits, uint32_t i, uint32_t l) {
  if (bits == 64) return x.at<uint64_t>(refs[i])[l];
  if (bits == 32) return x.at<uint32_t>(refs[i])[l];
  return x.at<uint32_t>(refs[i / 2])[l] >> (16 * (i & 1)) & 0xFFFF;
}
void set_accumulator(Exec &x, const std::vector<uint32_t> &refs, uint32_t bits, uint32_t i, uint32_t l,
                     uint64_t value) {
  if (bits == 64) {
    x.at<uint64_t>(refs[i])[l] = value;
  } else if (bits == 32) {
    x.at<uint32_t>(refs[i])[l] = static_cast<uint32_t>(value);
  } else {
    uint32_t &word = x.at<uint32_t>(refs[i / 2])[l], shift = 16 * (i & 1);
    word = (word & ~(0xFFFFu << shift)) | static_cast<uint32_t>(value) << shift;
  }
}

uint64_t rounded(double value, Element element) {
  if (element == Element::f64) return std::bit_cast<uint64_t>(value);
  if (element == Element::f16) return narrow_float(value, kF16, 0, false);
  return std::bit_cast<uint32_t>(canonical(static_cast<float>(value)));
}

template <class T, class Value, class Result>
void multiply(Exec &x, const MatrixSite &site, Value &&value, Result &&result) {
  std::vector<T> a(site.m * site.k), b(site.k * site.n), c(site.m * site.n);
  each_element(x, site.a_refs, element_row(site.a).bits, site.m,
               [&](uint32_t row, uint32_t k, uint64_t bits) { a[row * site.k + k] = value(bits, site.a); });
  each_element(
      x, site.b_refs, element_row(site.b).bits, site.n,
      [&](uint32_t column, uint32_t k, uint64_t bits) { b[column * site.k + k] = value(bits, site.b); });
  uint32_t c_bits = element_row(site.c).bits, d_bits = element_row(site.d).bits;
  each_accumulator(site.m, [&](uint32_t i, uint32_t l, uint32_t row, uint32_t column) {
    c[row * site.n + column] = value(accumulator(x, site.c_refs, c_bits, i, l), site.c);
  });
  each_accumulator(site.m, [&](uint32_t i, uint32_t l, uint32_t row, uint32_t column) {
    T sum = c[row * site.n + column];
    const T *p = a.data() + row * site.k, *q = b.data() + column * site.k;
    for (uint32_t k = 0; k < site.k; ++k) {
      if constexpr (std::is_same_v<T, double>)
        sum = site.d == Element::f64 ? std::fma(p[k], q[k], sum) : sum + p[k] * q[k];
      else
        sum += p[k] * q[k];
    }
    set_accumulator(x, site.d_refs, d_bits, i, l, result(sum));
  });
}

void mma(Exec &x, const Op &op, uint32_t mask) {
  if (!all_here(x, mask)) return;
  const MatrixSite &site = site_of(op);
  if (site.d != Element::s32)
    return multiply<double>(x, site, real_of, [&](double sum) { return rounded(sum, site.d); });
  multiply<int64_t>(x, site, integer_of, [&](int64_t sum) {
    if (site.saturates) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint64_t>(sum) & 0xFFFFFFFF;
  });
}

// Rows of 8 halves; lane l has elements 2 * (l % 4) and the next of row l / 4, or of that column.
uint16_t &half_at(Exec &x, uint32_t ref, bool transposes, uint32_t row, uint32_t column) {
  if (transposes) std::swap(row, column);
  return x.at<uint16_t>(ref)[2 * (4 * row + column / 2) + column % 2];
}

template <bool kLoads>
void move_rows_of(Exec &x, const Op &op, uint32_t mask) {
  if (!all_here(x, mask)) return;
  const MatrixSite &site = site_of(op);
  const std::vector<uint32_t> &refs = kLoads ? site.d_refs : site.a_refs;
  uint32_t lanes = static_cast<uint32_t>((uint64_t{1} << 8 * refs.size()) - 1);  // give the rows' addresses
  Reference r{op.a, (op.flags & kAddress32) != 0, static_cast<int32_t>(op.y),
              kLoads ? Access::read : Access::write};
  Hosts hosts;
  if (!locate<Space::shared>(x, r, lanes, 16, 16, hosts)) return;
  for (uint32_t i = 0; i < refs.size(); ++i)
    for (uint32_t row = 0; row < 8; ++row)
      for (uint32_t column = 0; column < 8; ++column) {
        uint16_t &memory = reinterpret_cast<uint16_t *>(hosts.at[8 * i + row])[column];
        uint16_t &half = half_at(x, refs[i], site.transposes, row, column);
        if constexpr (kLoads)
          half = memory;
        else
          memory = half;
      }
}

void movmatrix(Exec &x, const Op &op, uint32_t mask) {
  if (!all_here(x, mask)) return;
  const MatrixSite &site = site_of(op);
  uint16_t in[64];
  for (uint32_t i = 0; i < 64; ++i) in[i] = half_at(x, site.a_refs[0], false, i / 8, i % 8);
  for (uint32_t i = 0; i < 64; ++i) half_at(x, site.d_refs[0], site.transposes, i / 8, i % 8) = in[i];
}

constexpr Row kRows[] = {
    {"mma", mma},
    {"ldmatrix", move_rows_of<true>},
    {"stmatrix", move_rows_of<false>},
    {"movmatrix", movmatrix},
};
}  // namespace

Rows matrix_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
