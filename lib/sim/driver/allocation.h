// What memory the program has: for frees, pointer queries and the ranges of copies.
// Device addresses are host addresses, one space for all devices.
#pragma once
#include <functional>

#include "lib/sim/driver/driver.h"

namespace egpu::sim {

struct Allocation {
  enum Kind { device, managed, host, registered } kind = device;
  Address base = 0;
  uint64_t size_bytes = 0, id = 0;
  unsigned flags = 0;
  Context *context = nullptr;
  Handle pool = nullptr;               // that it comes from
  std::shared_ptr<void> graph_memory;  // of a graph: what owns the bytes
};

// What cuMemAdvise and cuMemPrefetchAsync have said of an allocation; nothing follows from it here.
inline constexpr Ordinal kAtHost = -1, kNowhere = -2;  // as CU_DEVICE_CPU and CU_DEVICE_INVALID
struct Advice {
  bool is_read_mostly = false;
  Ordinal preferred = kNowhere, prefetched = kNowhere;
  std::set<Ordinal> accessed_by;
};

/// Device or managed memory; kOutOfMemory.
Status allocate_device(Context &context, uint64_t size_bytes, Allocation::Kind kind, Address *base,
                       Handle pool = nullptr);
/// Makes known what a graph has allocated.
void add_graph_allocation(Context &context, Address base, uint64_t size_bytes, std::shared_ptr<void> owner);
/// Page-locked host memory, zeroed; kernels can use it.
Status allocate_host(Context &context, uint64_t size_bytes, unsigned flags, void **base);
Status register_host(Context &context, void *base, uint64_t size_bytes, unsigned flags);
/// kInvalidValue: not the base of an allocation of one of the kinds.
Status free_allocation(Address base, bool is_host);
Status unregister_host(void *base);
void free_allocations_of(Context &context);
/// Lets kernels of another device use the context's device memory, all that there is now; or no more.
void share_allocations(Context &owner, Device &device, bool is_shared);
/// The same for one pool's memory.
void share_pool(Handle pool, Device &device, bool is_shared);
/// kInvalidValue: not managed memory. `change` may read and write; it must not call back.
Status with_advice(Address address, uint64_t size_bytes, const std::function<void(Advice &)> &change);

/// The allocation that holds the address; false: none of ours (a module's variable, plain host memory).
bool find_allocation(Address address, Allocation *found);
/// Is the whole range memory of some device (allocations, variables of modules, what a graph will allocate)?
bool is_device_range(Address address, uint64_t size_bytes);
/// The device whose memory holds the address, and the range's bounds; null: none.
Device *device_of(Address address, uint64_t *base, uint64_t *size_bytes);
/// Page-locked or registered host memory: copies from it are truly asynchronous.
bool is_pinned_host(Address address);

}  // namespace egpu::sim
