// From the lanes' addresses to host addresses, checked.
//
// A worker remembers the last few allocations that accesses fell into, so the common case is a
// comparison; Memory::generation() tells when that knowledge is stale.
#pragma once
#include "lib/sim/machine/lanes.h"

namespace egpu::sim {

struct Hosts {
  uint64_t at[kLanes];
};  // of the active lanes

struct Reference {
  uint32_t ref;
  bool narrow;
  int64_t offset;
  Access access = Access::read;
};

inline void lane_addresses(Exec &x, const Reference &r, uint64_t *out) {
  if (r.narrow) {
    const uint32_t *a = x.at<uint32_t>(r.ref);
    uint32_t offset = static_cast<uint32_t>(r.offset);
    for (int l = 0; l < kLanes; ++l) out[l] = a[l] + offset;
  } else {
    const uint64_t *a = x.at<uint64_t>(r.ref);
    uint64_t offset = static_cast<uint64_t>(r.offset);
    for (int l = 0; l < kLanes; ++l) out[l] = a[l] + offset;
  }
}

/// The same place in the shared memory of the cluster's block of that rank.
inline uint64_t in_block(uint64_t shared_address, uint32_t rank) {
  return (shared_address & ((uint64_t{1} << kRankShift) - 1)) | uint64_t{rank + 1} << kRankShift;
}

/// All accesses inside one known allocation and aligned?
inline bool all_inside(const uint64_t *at, uint32_t mask, uint64_t begin, uint64_t end, uint32_t bytes,
                       uint32_t align) {
  if (end - begin < bytes) return false;
  uint64_t limit = end - begin - bytes, bad = 0;
  if (mask == kAll) {
    for (int l = 0; l < kLanes; ++l)
      bad |= static_cast<uint64_t>(at[l] - begin > limit) | (at[l] & (align - 1));
  } else {
    each_lane(mask, [&](uint32_t l) {
      bad |= static_cast<uint64_t>(at[l] - begin > limit) | (at[l] & (align - 1));
    });
  }
  return bad == 0;
}

inline void note_addresses(Exec &x, const uint64_t *at) {
  if (!x.traced) return;
  std::memcpy(x.trace_addresses, at, sizeof x.trace_addresses);
  x.trace_has_addresses = true;
}

/// Makes the addresses in `hosts` of `bytes` bytes, of the lanes of `mask`, host addresses; false: a fault
/// was raised.
template <Space kSpace>
inline bool locate_addresses(Exec &x, Access access, uint32_t mask, uint32_t bytes, uint32_t align,
                             Hosts &hosts) {
  if constexpr (kSpace == Space::shared) {
    if (all_inside(hosts.at, mask, 0, x.unchecked_shared_bytes, bytes, align)) {
      uint64_t base = reinterpret_cast<uint64_t>(x.shared);
      for (int l = 0; l < kLanes; ++l) hosts.at[l] += base;
      return true;
    }
  } else if constexpr (kSpace == Space::local) {
    if (all_inside(hosts.at, mask, 0, x.local_stride, bytes, align)) {
      uint64_t base = reinterpret_cast<uint64_t>(x.local);
      for (int l = 0; l < kLanes; ++l) hosts.at[l] += base + static_cast<uint64_t>(l) * x.local_stride;
      return true;
    }
  } else {
    if (x.generation == x.grid->memory->generation()) {
      if (all_inside(hosts.at, mask, x.ranges[0].begin, x.ranges[0].end, bytes, align)) return true;
      for (int i = 1; i < 4; ++i)
        if (all_inside(hosts.at, mask, x.ranges[i].begin, x.ranges[i].end, bytes, align)) {
          std::swap(x.ranges[0], x.ranges[i]);
          return true;
        }
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t l = static_cast<uint32_t>(std::countr_zero(m));
    uint8_t *host = resolve(x, kSpace, hosts.at[l], bytes, align, l, access);
    if (!host) return false;
    hosts.at[l] = reinterpret_cast<uint64_t>(host);
  }
  return true;
}

/// Of the operand's addresses.
template <Space kSpace>
inline bool locate(Exec &x, const Reference &r, uint32_t mask, uint32_t bytes, uint32_t align, Hosts &hosts) {
  lane_addresses(x, r, hosts.at);
  note_addresses(x, hosts.at);
  return locate_addresses<kSpace>(x, r.access, mask, bytes, align, hosts);
}

inline bool locate_addresses_in(Exec &x, Space space, Access access, uint32_t mask, uint32_t bytes,
                                uint32_t align, Hosts &hosts) {
  switch (space) {
    case Space::shared:
      return locate_addresses<Space::shared>(x, access, mask, bytes, align, hosts);
    case Space::local:
      return locate_addresses<Space::local>(x, access, mask, bytes, align, hosts);
    case Space::generic:
      return locate_addresses<Space::generic>(x, access, mask, bytes, align, hosts);
    default:
      return locate_addresses<Space::global>(x, access, mask, bytes, align, hosts);
  }
}

inline bool locate_in(Exec &x, Space space, const Reference &r, uint32_t mask, uint32_t bytes, uint32_t align,
                      Hosts &hosts) {
  lane_addresses(x, r, hosts.at);
  note_addresses(x, hosts.at);
  return locate_addresses_in(x, space, r.access, mask, bytes, align, hosts);
}

}  // namespace egpu::sim
