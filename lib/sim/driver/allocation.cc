#include "lib/sim/driver/allocation.h"

#include <cstdlib>
#include <cstring>
#include <shared_mutex>

#include "lib/sim/driver/graph_memory.h"
#include "lib/sim/driver/peer.h"
#include "lib/sim/driver/pool.h"

namespace egpu::sim {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<Address, Allocation> by_base;
  std::map<Address, Advice> advice;  // of managed ones that have any
  uint64_t next_id = 1;
};

Table &table() {
  static Table &table = *new Table;
  return table;
}

void add(Allocation allocation) {
  const std::unique_lock lock(table().mutex);
  allocation.id = table().next_id++;
  table().by_base[allocation.base] = allocation;
}

// Caller holds the mutex.
const Allocation *find_in_table(Address address) {
  auto at = table().by_base.upper_bound(address);
  if (at == table().by_base.begin()) return nullptr;
  --at;
  return address - at->second.base < at->second.size_bytes ? &at->second : nullptr;
}

bool is_host_kind(Allocation::Kind kind) {
  return kind == Allocation::host || kind == Allocation::registered;
}

// Kernels of every device may use host memory.
void share(Address base, uint64_t size_bytes, bool add_it) {
  for (const auto &device : driver().devices) {
    if (add_it)
      device->machine->memory().add_external(base, size_bytes);
    else
      device->machine->memory().remove_external(base);
  }
}

void give_back(const Allocation &allocation) {
  if (is_host_kind(allocation.kind)) {
    share(allocation.base, allocation.size_bytes, false);
    if (allocation.kind == Allocation::host) std::free(reinterpret_cast<void *>(allocation.base));
    return;
  }
  for (const auto &device : driver().devices)
    if (device.get() != &allocation.context->device || allocation.graph_memory)
      device->machine->memory().remove_external(allocation.base);
  if (!allocation.graph_memory) allocation.context->machine().memory().free(allocation.base);
}

}  // namespace

Status allocate_device(Context &context, uint64_t size_bytes, Allocation::Kind kind, Address *base,
                       Handle pool) {
  if (size_bytes == 0) return kInvalidValue;
  *base = context.machine().memory().allocate(size_bytes);
  if (!*base) return kOutOfMemory;
  add({kind, *base, size_bytes, 0, 0, &context, pool, nullptr});
  std::vector<Device *> users = pool ? devices_of_pool(pool) : peer_devices(context);
  if (kind == Allocation::managed)
    for (const auto &device : driver().devices) users.push_back(device.get());
  for (Device *device : users)
    if (device != &context.device) device->machine->memory().add_external(*base, size_bytes);
  return kSuccess;
}

void add_graph_allocation(Context &context, Address base, uint64_t size_bytes, std::shared_ptr<void> owner) {
  context.machine().memory().add_external(base, size_bytes);
  for (Device *device : peer_devices(context)) device->machine->memory().add_external(base, size_bytes);
  add({Allocation::device, base, size_bytes, 0, 0, &context, nullptr, std::move(owner)});
}

namespace {

template <class Which>
void share_if(Device &device, bool is_shared, Which which) {
  const std::shared_lock lock(table().mutex);
  for (const auto &[base, allocation] : table().by_base) {
    if (allocation.kind != Allocation::device || !which(allocation)) continue;
    if (is_shared)
      device.machine->memory().add_external(base, allocation.size_bytes);
    else
      device.machine->memory().remove_external(base);
  }
}

}  // namespace

void share_allocations(Context &owner, Device &device, bool is_shared) {
  share_if(device, is_shared, [&](const Allocation &it) { return it.context == &owner && !it.pool; });
}

void share_pool(Handle pool, Device &device, bool is_shared) {
  share_if(device, is_shared, [&](const Allocation &it) { return it.pool == pool; });
}

Status with_advice(Address address, uint64_t size_bytes, const std::function<void(Advice &)> &change) {
  const std::unique_lock lock(table().mutex);
  const Allocation *found = find_in_table(address);
  if (!found || found->kind != Allocation::managed || size_bytes == 0 ||
      size_bytes > found->base + found->size_bytes - address)
    return kInvalidValue;
  change(table().advice[found->base]);
  return kSuccess;
}

Status allocate_host(Context &context, uint64_t size_bytes, unsigned flags, void **base) {
  if (size_bytes == 0) return kInvalidValue;
  constexpr uint64_t kPage = 4096;
  *base = std::aligned_alloc(kPage, (size_bytes + kPage - 1) / kPage * kPage);
  if (!*base) return kOutOfMemory;
  std::memset(*base, 0, size_bytes);
  const Address address = reinterpret_cast<Address>(*base);
  share(address, size_bytes, true);
  add({Allocation::host, address, size_bytes, 0, flags, &context, nullptr, nullptr});
  return kSuccess;
}

Status register_host(Context &context, void *base, uint64_t size_bytes, unsigned flags) {
  if (!base || size_bytes == 0) return kInvalidValue;
  const Address address = reinterpret_cast<Address>(base);
  if (Allocation other; find_allocation(address, &other) || find_allocation(address + size_bytes - 1, &other))
    return kHostMemoryAlreadyRegistered;
  share(address, size_bytes, true);
  add({Allocation::registered, address, size_bytes, 0, flags, &context, nullptr, nullptr});
  return kSuccess;
}

Status free_allocation(Address base, bool is_host) {
  Allocation allocation;
  {
    const std::unique_lock lock(table().mutex);
    const auto at = table().by_base.find(base);
    if (at == table().by_base.end() || at->second.kind == Allocation::registered ||
        is_host_kind(at->second.kind) != is_host)
      return kInvalidValue;
    allocation = at->second;
    table().by_base.erase(at);
    table().advice.erase(base);
  }
  give_back(allocation);
  return kSuccess;
}

Status unregister_host(void *base) {
  Allocation allocation;
  {
    const std::unique_lock lock(table().mutex);
    const auto at = table().by_base.find(reinterpret_cast<Address>(base));
    if (at == table().by_base.end() || at->second.kind != Allocation::registered)
      return kHostMemoryNotRegistered;
    allocation = at->second;
    table().by_base.erase(at);
  }
  give_back(allocation);
  return kSuccess;
}

void free_allocations_of(Context &context) {
  std::vector<Allocation> freed;
  {
    const std::unique_lock lock(table().mutex);
    for (auto at = table().by_base.begin(); at != table().by_base.end();) {
      if (at->second.context == &context) {
        freed.push_back(at->second);
        table().advice.erase(at->first);
        at = table().by_base.erase(at);
      } else {
        ++at;
      }
    }
  }
  for (const Allocation &allocation : freed) give_back(allocation);
}

bool find_allocation(Address address, Allocation *found) {
  const std::shared_lock lock(table().mutex);
  const Allocation *allocation = find_in_table(address);
  if (allocation) *found = *allocation;
  return allocation != nullptr;
}

bool is_device_range(Address address, uint64_t size_bytes) {
  for (const auto &device : driver().devices)
    if (device->machine->memory().contains(address, size_bytes)) return true;
  return is_graph_memory(address, size_bytes);
}

Device *device_of(Address address, uint64_t *base, uint64_t *size_bytes) {
  for (const auto &device : driver().devices) {
    uint64_t first = 0, size = 0;
    if (!device->machine->memory().find(address, &first, &size)) continue;
    *base = first;
    *size_bytes = size;
    return device.get();
  }
  return nullptr;
}

bool is_pinned_host(Address address) {
  Allocation allocation;
  return find_allocation(address, &allocation) && allocation.kind != Allocation::device;
}

}  // namespace egpu::sim
