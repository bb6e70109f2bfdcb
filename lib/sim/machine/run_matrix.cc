// mma.sync, wmma.mma, ldmatrix, stmatrix, movmatrix.
//
// Floating sums are formed as tensor_sum.h says and rounded to d's type (nearest even); integers agree with
// the ISA whatever the order.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lib/sim/machine/access.h"
#include "lib/sim/machine/fragment.h"
#include "lib/sim/machine/halves.h"
#include "lib/sim/machine/tensor_sum.h"

namespace egpu::sim {

bool all_here(Exec &x, uint32_t mask) {
  if (mask == kAll) return true;
  char lanes[16];
  std::snprintf(lanes, sizeof lanes, "0x%08x", mask);
  raise(x, Fault::illegal_instruction, static_cast<uint32_t>(std::countr_zero(mask)),
        std::string("executed by lanes ") + lanes + ", not by the whole warp");
  return false;
}

namespace {

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

uint64_t rounded(double value, Element element) {
  if (element == Element::f64) return std::bit_cast<uint64_t>(value);
  if (element == Element::f16) return narrow_float(value, kF16, 0, false);
  return std::bit_cast<uint32_t>(canonical(static_cast<float>(value)));
}

template <class T>
T dot(const T *p, const T *q, const MatrixSite &site, T sum) {
  if constexpr (std::is_same_v<T, double>) {
    return tensor_sum(p, q, site, sum);
  } else {
    for (uint32_t k = 0; k < site.k; ++k) sum += site.is_xor ? p[k] ^ q[k] : p[k] * q[k];
    return sum;
  }
}

constexpr uint32_t kMostAccumulators = 8;  // of a lane

template <class T, class Value, class Result>
void multiply(Exec &x, const MatrixSite &site, Value &&value, Result &&result) {
  std::vector<T> a(site.m * site.k), b(site.k * site.n);
  auto read_factor = [&](const std::vector<uint32_t> &refs, Element element, uint32_t side, bool is_a,
                         T *out) {
    uint32_t bits = element_row(element).bits;
    for (uint32_t i = 0; i < side * site.k / kLanes; ++i)
      for (uint32_t l = 0; l < kLanes; ++l) {
        FactorCell at = factor_cell(side, site.k, bits, is_a, i, l);
        out[at.side * site.k + at.k] = value(element_at(x, refs, bits, i, l), element);
      }
  };
  read_factor(site.a_refs, site.a, site.m, true, a.data());
  read_factor(site.b_refs, site.b, site.n, false, b.data());
  uint32_t c_bits = element_row(site.c).bits, d_bits = element_row(site.d).bits;
  for (uint32_t l = 0; l < kLanes; ++l) {
    uint32_t count = site.m * site.n / kLanes;
    T sums[kMostAccumulators];  // of the lane; d may be where c is
    for (uint32_t i = 0; i < count; ++i) {
      Cell at = accumulator_cell(site.m, site.n, i, l);
      const T *p = a.data() + at.row * site.k, *q = b.data() + at.column * site.k;
      sums[i] = dot(p, q, site, value(element_at(x, site.c_refs, c_bits, i, l), site.c));
    }
    for (uint32_t i = 0; i < count; ++i) set_element(x, site.d_refs, d_bits, i, l, result(sums[i]));
  }
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

// Accumulators of m8n8k4, of a quad's t-th lane: of 16 bits row by row, of 32 bits in squares of 2 x 2.
Cell quad_cell(uint32_t bits, uint32_t t, uint32_t i) {
  if (bits == 16) return {t, i};
  return {(t & 1) + (i & 2) + (t & 4), (i & 4) + (t & 2) + (i & 1)};
}

// A (rows) or B (columns) of m8n8k4: a lane has a row's four elements along k, or four rows' elements of one
// k.
void read_quad(Exec &x, const std::vector<uint32_t> &refs, bool along_k, const uint32_t *lanes,
               double (*out)[4]) {
  for (uint32_t t = 0; t < 8; ++t)
    for (uint32_t i = 0; i < 4; ++i)
      (along_k ? out[t][i] : out[i + (t & 4)][t & 3]) =
          real_of(element_at(x, refs, 16, i, lanes[t]), Element::f16);
}

// Four products of 8 x 4 by 4 x 8 halves: the q-th of lanes 4q to 4q + 3 and 16 + 4q to 19 + 4q.
void mma_quads(Exec &x, const Op &op, uint32_t mask) {
  if (!all_here(x, mask)) return;
  const MatrixSite &site = site_of(op);
  const uint32_t d_bits = element_row(site.d).bits, c_bits = element_row(site.c).bits;
  for (uint32_t quad = 0; quad < 4; ++quad) {
    double a[8][4], b[8][4], c[8][8];
    uint32_t lanes[8];
    for (uint32_t t = 0; t < 8; ++t) lanes[t] = 4 * quad + (t & 3) + (t & 4) * 4;
    read_quad(x, site.a_refs, !site.a_is_column, lanes, a);
    read_quad(x, site.b_refs, site.b_is_column, lanes, b);
    for (uint32_t t = 0; t < 8; ++t)
      for (uint32_t i = 0; i < 8; ++i) {
        const Cell at = quad_cell(c_bits, t, i);
        c[at.row][at.column] = real_of(element_at(x, site.c_refs, c_bits, i, lanes[t]), site.c);
      }
    for (uint32_t t = 0; t < 8; ++t)
      for (uint32_t i = 0; i < 8; ++i) {
        const Cell at = quad_cell(d_bits, t, i);
        const double sum = dot(a[at.row], b[at.column], site, c[at.row][at.column]);
        set_element(x, site.d_refs, d_bits, i, lanes[t], rounded(sum, site.d));
      }
  }
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
    {"mma.quads", mma_quads},
    {"ldmatrix", move_rows_of<true>},
    {"stmatrix", move_rows_of<false>},
    {"movmatrix", movmatrix},
};
}  // namespace

Rows matrix_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
