// Moves, packing, special registers, symbol addresses and address conversions.
#include <time.h>

#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/special.h"

namespace egpu::sim {
namespace {
struct Wide {
  uint64_t low, high;
};

struct Copy {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

template <class D, class S>
void resize(Exec &x, const Op &op, uint32_t mask) {
  const S *a = x.at<S>(op.a);
  // Slots of different widths: copy first, they may not be walked in step.
  alignas(64) S copy[kLanes];
  std::memcpy(copy, a, sizeof copy);
  store_lanes<D>(x, op.d, mask, [&](int l) { return static_cast<D>(copy[l]); });
}

void move_predicate(Exec &x, const Op &op, uint32_t mask) {
  uint32_t a = x.predicate(op.a);
  set_predicate(x, op.d, mask, op.x ? ~a : a);
}

// Elements are side by side in memory order; 8-bit ones are stored in 16 bits.
template <int kElement, int kWhole>
void pack(Exec &x, const Op &op, uint32_t mask) {
  const uint32_t *refs = x.frame->function->lists.data() + op.e;
  uint8_t result[kLanes][kWhole];
  for (int i = 0; i < op.n; ++i) {
    constexpr int kStride = kElement == 1 ? 2 : kElement;
    const uint8_t *a = x.at<uint8_t>(refs[i]);
    for (int l = 0; l < kLanes; ++l) std::memcpy(result[l] + i * kElement, a + l * kStride, kElement);
  }
  uint8_t *d = x.at<uint8_t>(op.d);
  each_lane(mask, [&](uint32_t l) { std::memcpy(d + l * kWhole, result[l], kWhole); });
}

template <int kElement, int kWhole>
void unpack(Exec &x, const Op &op, uint32_t mask) {
  const uint32_t *refs = x.frame->function->lists.data() + op.e;
  uint8_t whole[kLanes * kWhole];
  std::memcpy(whole, x.at<uint8_t>(op.a), sizeof whole);
  for (int i = 0; i < op.n; ++i) {
    if (refs[i] == kNone) continue;
    constexpr int kStride = kElement == 1 ? 2 : kElement;
    uint8_t *d = x.at<uint8_t>(refs[i]);
    each_lane(mask, [&](uint32_t l) {
      if (kElement == 1) d[l * kStride + 1] = 0;
      std::memcpy(d + l * kStride, whole + l * kWhole + i * kElement, kElement);
    });
  }
}

uint64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec) +
         kGlobalTimerOffset;
}

uint64_t uniform_special(Exec &x, Special special) {
  const Grid &grid = *x.grid;
  Block &block = *x.block;
  auto index = static_cast<uint32_t>(special);
  auto axis = [&](Special first) { return index - static_cast<uint32_t>(first); };
  switch (special) {
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z:
      return grid.launch->block[axis(Special::ntid_x)];
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
      return block.ctaid[axis(Special::ctaid_x)];
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      return grid.launch->grid[axis(Special::nctaid_x)];
    case Special::warpid:
      return x.warp->index;
    case Special::nwarpid:
      return 64;
    case Special::smid:
      return block.smid;
    case Special::nsmid:
      return grid.config->sm_count;
    case Special::gridid:
      return grid.id;
    // A step of a warp counts as 4 cycles; the counter never stands still between two reads.
    case Special::clock:
    case Special::clock64:
      return (block.clock += 4);
    case Special::clock_hi:
      return block.clock >> 32;
    case Special::globaltimer:
    case Special::globaltimer_lo:
      return nanoseconds();
    case Special::globaltimer_hi:
      return nanoseconds() >> 32;
    case Special::dynamic_smem_size:
      return grid.dynamic_shared_bytes;
    case Special::total_smem_size:
    case Special::aggr_smem_size:
      return grid.shared_bytes;
    case Special::envreg1:
      return grid.workspace >> 32;  // cooperative_groups/details/driver_abi.h
    case Special::envreg2:
      return grid.workspace & 0xFFFFFFFF;
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z: {
      uint32_t i = axis(Special::clusterid_x);
      return block.ctaid[i] / grid.cluster[i];
    }
    case Special::nclusterid_x:
    case Special::nclusterid_y:
    case Special::nclusterid_z: {
      uint32_t i = axis(Special::nclusterid_x);
      return grid.launch->grid[i] / grid.cluster[i];
    }
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z: {
      uint32_t i = axis(Special::cluster_ctaid_x);
      return block.ctaid[i] % grid.cluster[i];
    }
    case Special::cluster_nctaid_x:
    case Special::cluster_nctaid_y:
    case Special::cluster_nctaid_z:
      return grid.cluster[axis(Special::cluster_nctaid_x)];
    case Special::cluster_ctarank:
      return block.rank;
    case Special::cluster_nctarank:
      return block.cluster->blocks.size();
    case Special::is_explicit_cluster:
      return grid.explicit_cluster;
    case Special::one:
      return 1;
    default:
      return 0;
  }
}

template <class T>
void special(Exec &x, const Op &op, uint32_t mask) {
  auto which = static_cast<Special>(op.x);
  auto lanes = [&](auto &&get) {
    store_lanes<T>(x, op.d, mask, [&](int l) { return static_cast<T>(get(static_cast<uint32_t>(l))); });
  };
  switch (which) {
    case Special::tid_x:
      return lanes([&](uint32_t l) { return x.warp->tid[0][l]; });
    case Special::tid_y:
      return lanes([&](uint32_t l) { return x.warp->tid[1][l]; });
    case Special::tid_z:
      return lanes([&](uint32_t l) { return x.warp->tid[2][l]; });
    case Special::laneid:
      return lanes([](uint32_t l) { return l; });
    case Special::lanemask_eq:
      return lanes([](uint32_t l) { return 1u << l; });
    case Special::lanemask_lt:
      return lanes([](uint32_t l) { return (1u << l) - 1; });
    case Special::lanemask_le:
      return lanes([](uint32_t l) { return (2u << l) - 1; });
    case Special::lanemask_gt:
      return lanes([](uint32_t l) { return ~((2u << l) - 1); });
    case Special::lanemask_ge:
      return lanes([](uint32_t l) { return ~((1u << l) - 1); });
    default: {
      T value = static_cast<T>(uniform_special(x, which));
      lanes([&](uint32_t) { return value; });
    }
  }
}

template <class T>
void address_frame(Exec &x, const Op &op, uint32_t mask) {
  T value = static_cast<T>(x.frame->local_base + op.imm);
  store_lanes<T>(x, op.d, mask, [&](int) { return value; });
}
template <class T>
void address_param(Exec &x, const Op &op, uint32_t mask) {
  T value =
      static_cast<T>(reinterpret_cast<uint64_t>(x.grid->parameters.data()) + static_cast<uint64_t>(op.imm));
  store_lanes<T>(x, op.d, mask, [&](int) { return value; });
}
template <class T>
void address_dynamic(Exec &x, const Op &op, uint32_t mask) {
  uint32_t base = x.grid->shared_bytes - x.grid->dynamic_shared_bytes;
  T value = static_cast<T>(base + op.imm);
  store_lanes<T>(x, op.d, mask, [&](int) { return value; });
}

template <class T>
void to_generic(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  T window = static_cast<T>(static_cast<uint64_t>(op.imm) << (sizeof(T) == 8 ? kWindowShift : 24));
  store_lanes<T>(x, op.d, mask, [&](int l) { return static_cast<T>(a[l] | window); });
}
template <class T>
void from_generic(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  T keep = sizeof(T) == 8 ? static_cast<T>(~kWindowMask) : static_cast<T>(0xFFFFFF);
  store_lanes<T>(x, op.d, mask, [&](int l) { return static_cast<T>(a[l] & keep); });
}

template <class T>
void isspacep(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  auto space = static_cast<Space>(op.x);
  uint64_t params = reinterpret_cast<uint64_t>(x.grid->parameters.data());
  set_predicate(x, op.d, mask, lane_bits([&](int l) {
                  uint64_t address = a[l], tag = address >> kWindowShift;
                  bool is_param = address - params < x.grid->parameter_bytes;
                  switch (space) {
                    case Space::shared: {
                      uint64_t rank = (address & ~kWindowMask) >> kRankShift;
                      return tag == 1 && (op.n == 2 || rank == 0 || rank == x.block->rank + 1);
                    }
                    case Space::local:
                      return tag == 2;
                    case Space::param:
                      return is_param;
                    case Space::global:
                      return tag == 0 && !is_param;
                    default: {
                      for (auto &[name, info] : x.grid->program->globals)
                        if (info.is_const && address - info.address < info.size_bytes) return true;
                      return false;
                    }
                  }
                }));
}

#define RESIZE(from, S, U)                                                                     \
  {"resize." from ".u2", resize<uint16_t, U>}, {"resize." from ".s2", resize<int16_t, S>},     \
      {"resize." from ".u4", resize<uint32_t, U>}, {"resize." from ".s4", resize<int32_t, S>}, \
      {"resize." from ".u8", resize<uint64_t, U>}, {                                           \
    "resize." from ".s8", resize<int64_t, S>                                                   \
  }

constexpr Row kRows[] = {
    {"mov.2", unary<Copy, uint16_t, uint16_t>},
    {"mov.4", unary<Copy, uint32_t, uint32_t>},
    {"mov.8", unary<Copy, uint64_t, uint64_t>},
    {"mov.16", unary<Copy, Wide, Wide>},
    {"mov.pred", move_predicate},
    RESIZE("2", int16_t, uint16_t),
    RESIZE("4", int32_t, uint32_t),
    RESIZE("8", int64_t, uint64_t),
    {"pack.1.2", pack<1, 2>},
    {"pack.1.4", pack<1, 4>},
    {"pack.2.4", pack<2, 4>},
    {"pack.2.8", pack<2, 8>},
    {"pack.4.8", pack<4, 8>},
    {"pack.8.16", pack<8, 16>},
    {"pack.4.16", pack<4, 16>},
    {"unpack.1.2", unpack<1, 2>},
    {"unpack.1.4", unpack<1, 4>},
    {"unpack.2.4", unpack<2, 4>},
    {"unpack.2.8", unpack<2, 8>},
    {"unpack.4.8", unpack<4, 8>},
    {"unpack.8.16", unpack<8, 16>},
    {"unpack.4.16", unpack<4, 16>},
    {"special.2", special<uint16_t>},
    {"special.4", special<uint32_t>},
    {"special.8", special<uint64_t>},
    {"address.frame.4", address_frame<uint32_t>},
    {"address.frame.8", address_frame<uint64_t>},
    {"address.param.4", address_param<uint32_t>},
    {"address.param.8", address_param<uint64_t>},
    {"address.dynamic.4", address_dynamic<uint32_t>},
    {"address.dynamic.8", address_dynamic<uint64_t>},
    {"cvta.from.4", to_generic<uint32_t>},
    {"cvta.from.8", to_generic<uint64_t>},
    {"cvta.to.4", from_generic<uint32_t>},
    {"cvta.to.8", from_generic<uint64_t>},
    {"isspacep.4", isspacep<uint32_t>},
    {"isspacep.8", isspacep<uint64_t>},
};

struct Name {
  std::string_view name;
  Special special;
};
constexpr Name kSpecials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%tid.w", Special::zero},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ntid.w", Special::one},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%ctaid.w", Special::zero},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%nctaid.w", Special::one},
    {"%tid", Special::tid_x},
    {"%ntid", Special::ntid_x},
    {"%ctaid", Special::ctaid_x},
    {"%nctaid", Special::nctaid_x},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%clock", Special::clock},
    {"%clock_hi", Special::clock_hi},
    {"%clock64", Special::clock64},
    {"%globaltimer", Special::globaltimer},
    {"%globaltimer_lo", Special::globaltimer_lo},
    {"%globaltimer_hi", Special::globaltimer_hi},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%aggr_smem_size", Special::aggr_smem_size},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
    {"%reserved_smem_offset_begin", Special::zero},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
};
}  // namespace

Special find_special(std::string_view name) {
  for (const Name &row : kSpecials)
    if (row.name == name) return row.special;
  if (name.starts_with("%envreg") || name.starts_with("%pm")) return Special::zero;
  return Special::count;
}

Rows move_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
