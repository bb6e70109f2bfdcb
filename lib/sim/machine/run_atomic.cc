// atom and red, lane by lane.
#include "lib/sim/machine/access.h"
#include "lib/sim/machine/atomics.h"

namespace egpu::sim {
namespace {
using namespace atomics;

template <class T, class Do>
void on_lanes(Exec &x, const Op &op, uint32_t mask, Do &&action) {
  Hosts hosts;
  if (op.flags & kSpins) ++x.spins;
  if (!locate_in(x, static_cast<Space>(op.x), {op.a, (op.flags & kAddress32) != 0, op.imm, Access::update},
                 mask, sizeof(T), sizeof(T), hosts))
    return;
  T *d = op.d == kNone ? nullptr : x.at<T>(op.d);
  each_lane(mask, [&](uint32_t l) {
    T old = action(reinterpret_cast<T *>(hosts.at[l]), l);
    if (d) d[l] = old;
  });
}

template <class F, class T>
void atomic(Exec &x, const Op &op, uint32_t mask) {
  T b[kLanes];  // d may be the same slot
  std::memcpy(b, x.at<T>(op.b), sizeof b);
  on_lanes<T>(x, op, mask, [&](T *target, uint32_t l) { return F{}(target, b[l]); });
}

bool is_shared(Exec &x, const void *target) {
  return reinterpret_cast<uint64_t>(target) - reinterpret_cast<uint64_t>(x.shared) < x.shared_bytes;
}

template <class T>
void compare_and_swap(Exec &x, const Op &op, uint32_t mask) {
  T b[kLanes], c[kLanes];
  std::memcpy(b, x.at<T>(op.b), sizeof b);
  std::memcpy(c, x.at<T>(op.c), sizeof c);
  on_lanes<T>(x, op, mask, [&](T *target, uint32_t l) {
    T old = b[l];
    __atomic_compare_exchange_n(target, &old, c[l], false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
  });
}

#if defined(__x86_64__)
// 128 bits: the host's instruction is on x86-64 alone, and only here may the compiler assume it.
__extension__ typedef unsigned __int128 Wide;
__attribute__((target("cx16"))) Wide swap_if_equal(Wide *target, Wide expected, Wide wanted) {
  return __sync_val_compare_and_swap(target, expected, wanted);
}

void exchange_wide(Exec &x, const Op &op, uint32_t mask) {
  Wide b[kLanes];
  std::memcpy(b, x.at<Wide>(op.b), sizeof b);
  on_lanes<Wide>(x, op, mask, [&](Wide *target, uint32_t l) {
    Wide old = 0, seen;
    while ((seen = swap_if_equal(target, old, b[l])) != old) old = seen;
    return old;
  });
}

void compare_and_swap_wide(Exec &x, const Op &op, uint32_t mask) {
  Wide b[kLanes], c[kLanes];
  std::memcpy(b, x.at<Wide>(op.b), sizeof b);
  std::memcpy(c, x.at<Wide>(op.c), sizeof c);
  on_lanes<Wide>(x, op, mask, [&](Wide *target, uint32_t l) { return swap_if_equal(target, b[l], c[l]); });
}
#endif

// PTX ISA 9.0, 9.7.13.6 "atom": on global memory, add.f32 flushes subnormal numbers.
void add_f32(Exec &x, const Op &op, uint32_t mask) {
  uint32_t b[kLanes];
  std::memcpy(b, x.at<uint32_t>(op.b), sizeof b);
  on_lanes<uint32_t>(
      x, op, mask, [&](uint32_t *target, uint32_t l) { return AddF32{!is_shared(x, target)}(target, b[l]); });
}

void add_f64(Exec &x, const Op &op, uint32_t mask) {
  uint64_t b[kLanes];
  std::memcpy(b, x.at<uint64_t>(op.b), sizeof b);
  on_lanes<uint64_t>(
      x, op, mask, [&](uint64_t *target, uint32_t l) { return AddF64{is_shared(x, target)}(target, b[l]); });
}

#define TWO(name, F, T32, T64, k32, k64) \
  {"atom." name "." k32, atomic<Integer<F>, T32>}, { "atom." name "." k64, atomic<Integer<F>, T64> }
#define HALVES(name, F)                                              \
  {"atom." name ".f16", atomic<Halves<Half, F>, uint16_t>},          \
      {"atom." name ".f16x2", atomic<Halves<Half, F>, uint32_t>},    \
      {"atom." name ".bf16", atomic<Halves<Bfloat, F>, uint16_t>}, { \
    "atom." name ".bf16x2", atomic<Halves<Bfloat, F>, uint32_t>      \
  }

constexpr Row kRows[] = {
    TWO("add", Add, uint32_t, uint64_t, "b32", "b64"),
    TWO("and", And, uint32_t, uint64_t, "b32", "b64"),
    TWO("or", Or, uint32_t, uint64_t, "b32", "b64"),
    TWO("xor", Xor, uint32_t, uint64_t, "b32", "b64"),
    TWO("exch", Exchange, uint32_t, uint64_t, "b32", "b64"),
    TWO("inc", Inc, uint32_t, uint64_t, "b32", "b64"),
    TWO("dec", Dec, uint32_t, uint64_t, "b32", "b64"),
    TWO("min", Min, uint32_t, uint64_t, "u32", "u64"),
    TWO("min", Min, int32_t, int64_t, "s32", "s64"),
    TWO("max", Max, uint32_t, uint64_t, "u32", "u64"),
    TWO("max", Max, int32_t, int64_t, "s32", "s64"),
    {"atom.cas.b16", compare_and_swap<uint16_t>},
    {"atom.cas.b32", compare_and_swap<uint32_t>},
    {"atom.cas.b64", compare_and_swap<uint64_t>},
#if defined(__x86_64__)
    {"atom.exch.b128", exchange_wide},
    {"atom.cas.b128", compare_and_swap_wide},
#endif
    {"atom.add.f32", add_f32},
    {"atom.add.f64", add_f64},
    HALVES("add", AddReal),
    HALVES("min", MinReal),
    HALVES("max", MaxReal),
};
}  // namespace

Rows atomic_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
