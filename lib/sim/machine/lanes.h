// Loops over lanes: how a handler is made of a function on values.
//
// A slot is either the same as or disjoint from another of its width, so iterations are
// independent (ivdep), and the compiler makes vector code of the loop over all 32 lanes. With
// some lanes off, cheap functions are computed for all lanes and blended in.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lib/sim/machine/schedule.h"

namespace egpu::sim {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAll = 0xFFFFFFFFu;

template <class F>
inline void each_lane(uint32_t mask, F &&f) {
  for (; mask; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

// A mask of all ones or zeros per lane, of the width of T.
template <class T>
struct LaneMask {
  using Word =
      std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  alignas(64) Word on[kLanes];
  explicit LaneMask(uint32_t mask) {
    for (int l = 0; l < kLanes; ++l) on[l] = static_cast<Word>(0 - ((mask >> l) & 1));
  }
};

template <class D, class Get>
inline void store_lanes(Exec &x, uint32_t d_ref, uint32_t mask, Get &&get) {
  D *d = x.at<D>(d_ref);
  if (mask == kAll) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) d[l] = get(l);
  } else {
    for (uint32_t m = mask; m; m &= m - 1) {
      int l = std::countr_zero(m);
      d[l] = get(l);
    }
  }
}

template <class F, class D, class A>
void unary(Exec &x, const Op &op, uint32_t mask) {
  const A *a = x.at<A>(op.a);
  store_lanes<D>(x, op.d, mask, [&](int l) { return static_cast<D>(F{}(a[l])); });
}

template <class F, class D, class A, class B>
void binary(Exec &x, const Op &op, uint32_t mask) {
  const A *a = x.at<A>(op.a);
  const B *b = x.at<B>(op.b);
  store_lanes<D>(x, op.d, mask, [&](int l) { return static_cast<D>(F{}(a[l], b[l])); });
}

template <class F, class D, class A, class B, class C>
void ternary(Exec &x, const Op &op, uint32_t mask) {
  const A *a = x.at<A>(op.a);
  const B *b = x.at<B>(op.b);
  const C *c = x.at<C>(op.c);
  store_lanes<D>(x, op.d, mask, [&](int l) { return static_cast<D>(F{}(a[l], b[l], c[l])); });
}

// Bits of a condition on all lanes.
template <class Get>
inline uint32_t lane_bits(Get &&get) {
  uint32_t bits = 0;
  alignas(64) uint8_t on[kLanes];
  for (int l = 0; l < kLanes; ++l) on[l] = static_cast<uint8_t>(get(l) ? 1 : 0);
  for (int i = 0; i < 4; ++i) {
    uint64_t eight;
    std::memcpy(&eight, on + 8 * i, 8);
    bits |= static_cast<uint32_t>((eight * 0x0102040810204080u) >> 56) << (8 * i);
  }
  return bits;
}

inline void set_predicate(Exec &x, uint32_t ref, uint32_t mask, uint32_t bits) {
  if (ref == kNone) return;
  uint32_t &p = *x.at<uint32_t>(ref);
  p = (p & ~mask) | (bits & mask);
}

// A table of handlers; families register theirs in run_*.cc.
struct Row {
  std::string_view key;
  Handler run;
};
struct Rows {
  const Row *begin;
  size_t size;
};
Rows integer_rows();
Rows logic_rows();
Rows float_rows();
Rows function_rows();
Rows half_rows();
Rows compare_rows();
Rows convert_rows();
Rows memory_rows();
Rows atomic_rows();
Rows bulk_rows();
Rows together_rows();
Rows control_rows();
Rows move_rows();
Rows matrix_rows();
Rows wmma_rows();
Rows mbarrier_rows();
Rows cluster_rows();
Rows video_rows();

}  // namespace egpu::sim
