// Bulk copies and reductions, each lane's range as a whole. Source: PTX ISA 9.0, 9.7.9.25.
#include "lib/sim/machine/access.h"
#include "lib/sim/machine/atomics.h"
#include "lib/sim/machine/bulk.h"

namespace egpu::sim {
namespace {
using namespace atomics;

constexpr uint32_t kBulkAlign = 16;

// The range's host address; nullptr: a fault was raised.
uint8_t *range(Exec &x, bool is_shared, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
  return resolve(x, is_shared ? Space::shared : Space::global, address, bytes, kBulkAlign, lane, access);
}

// Calls move(to, from, bytes, lane) for each lane, and for each block that a multicast names.
template <class Move>
void on_ranges(Exec &x, const Op &op, uint32_t mask, Access access, Move &&move) {
  uint64_t to[kLanes], from[kLanes];
  lane_addresses(x, {op.b, (op.x & kFromIsNarrow) != 0, static_cast<int32_t>(op.y)}, from);
  lane_addresses(x, {op.a, (op.x & kToIsNarrow) != 0, op.imm}, to);
  note_addresses(x, to);
  const uint32_t *sizes = x.at<uint32_t>(op.c);
  const uint16_t *blocks = op.e == kNone ? nullptr : x.at<uint16_t>(op.e);
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = static_cast<uint32_t>(std::countr_zero(m)), bytes = sizes[l];
    if (bytes % kBulkAlign)
      return raise(x, Fault::illegal_instruction, l,
                   "size " + std::to_string(bytes) + " is no multiple of " + std::to_string(kBulkAlign));
    if (!bytes) continue;
    const uint8_t *source = range(x, op.x & kFromShared, from[l], bytes, l, Access::read);
    if (!source) return;
    const auto one = [&](uint64_t address) {
      uint8_t *target = range(x, op.x & kToShared, address, bytes, l, access);
      if (target) move(target, source, bytes, l);
      return target != nullptr;
    };
    if (!blocks && !one(to[l])) return;
    for (uint32_t ranks = blocks ? blocks[l] : 0; ranks; ranks &= ranks - 1)
      if (!one(in_block(to[l], static_cast<uint32_t>(std::countr_zero(ranks))))) return;
  }
}

// With a mask, the bytes of each 16 whose bits are set.
void copy(Exec &x, const Op &op, uint32_t mask) {
  const uint16_t *chosen = op.d == kNone ? nullptr : x.at<uint16_t>(op.d);
  on_ranges(x, op, mask, Access::write, [&](uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t l) {
    if (!chosen) return (void)std::memmove(to, from, bytes);
    for (uint32_t i = 0; i < bytes; ++i)
      if (chosen[l] >> (i % 16) & 1) to[i] = from[i];
  });
}

template <class T, class Update>
void reduce_with(Exec &x, const Op &op, uint32_t mask, Update update) {
  on_ranges(x, op, mask, Access::update, [&](uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t) {
    for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
      T b;
      std::memcpy(&b, from + i, sizeof b);
      update(reinterpret_cast<T *>(to + i), b);
    }
  });
}
template <class Update, class T>
void reduce(Exec &x, const Op &op, uint32_t mask) {
  reduce_with<T>(x, op, mask, Update{});
}
// Floating sums are of global memory only; subnormal numbers are kept, other than by atom.
void add_f32(Exec &x, const Op &op, uint32_t mask) { reduce_with<uint32_t>(x, op, mask, AddF32{false}); }
void add_f64(Exec &x, const Op &op, uint32_t mask) { reduce_with<uint64_t>(x, op, mask, AddF64{false}); }

void zero(Exec &x, const Op &op, uint32_t mask) {
  uint64_t to[kLanes];
  lane_addresses(x, {op.a, (op.flags & kAddress32) != 0, op.imm}, to);
  note_addresses(x, to);
  const uint64_t *sizes = x.at<uint64_t>(op.c);
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = static_cast<uint32_t>(std::countr_zero(m)), bytes = static_cast<uint32_t>(sizes[l]);
    if (sizes[l] % 8 || bytes != sizes[l])
      return raise(x, Fault::illegal_instruction, l,
                   "size " + std::to_string(sizes[l]) + " is no multiple of 8 below 2^32");
    if (!bytes) continue;
    uint8_t *target = resolve(x, static_cast<Space>(op.x), to[l], bytes, 8, l, Access::write);
    if (!target) return;
    std::memset(target, 0, bytes);
  }
}

#define TWO(name, F, T32, T64, k32, k64) \
  {"bulk." name "." k32, reduce<Integer<F>, T32>}, { "bulk." name "." k64, reduce<Integer<F>, T64> }
#define HALVES(name, F)                                       \
  {"bulk." name ".f16", reduce<Halves<Half, F>, uint16_t>}, { \
    "bulk." name ".bf16", reduce<Halves<Bfloat, F>, uint16_t> \
  }

constexpr Row kRows[] = {
    {"bulk.copy", copy},
    {"bulk.zero", zero},
    TWO("add", Add, uint32_t, uint64_t, "b32", "b64"),
    TWO("and", And, uint32_t, uint64_t, "b32", "b64"),
    TWO("or", Or, uint32_t, uint64_t, "b32", "b64"),
    TWO("xor", Xor, uint32_t, uint64_t, "b32", "b64"),
    TWO("min", Min, uint32_t, uint64_t, "u32", "u64"),
    TWO("min", Min, int32_t, int64_t, "s32", "s64"),
    TWO("max", Max, uint32_t, uint64_t, "u32", "u64"),
    TWO("max", Max, int32_t, int64_t, "s32", "s64"),
    {"bulk.inc.b32", reduce<Integer<Inc>, uint32_t>},
    {"bulk.dec.b32", reduce<Integer<Dec>, uint32_t>},
    {"bulk.add.f32", add_f32},
    {"bulk.add.f64", add_f64},
    HALVES("add", AddReal),
    HALVES("min", MinReal),
    HALVES("max", MaxReal),
};
}  // namespace

Rows bulk_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
