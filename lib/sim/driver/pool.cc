#include "lib/sim/driver/pool.h"

#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/capture.h"

namespace egpu::sim {
namespace {

// Of every device: its own pool, made on first use and never freed, and the one it allocates from.
struct DevicePools {
  std::shared_ptr<Pool> own, current;
};

DevicePools &pools_of(Device &device, std::unique_lock<std::mutex> &lock) {
  static std::mutex &mutex = *new std::mutex;
  static auto &all = *new std::map<Ordinal, DevicePools>;
  lock = std::unique_lock(mutex);
  DevicePools &pools = all[device.ordinal];
  if (!pools.own) {
    pools.own = pools.current = std::make_shared<Pool>(device);
    pools.own->is_default = true;
    publish(pools.own);
  }
  return pools;
}

}  // namespace

void Pool::set_access(Device &other, bool is_allowed) {
  {
    const std::lock_guard lock(mutex_);
    if (is_allowed)
      accessing_.insert(&other);
    else
      accessing_.erase(&other);
  }
  share_pool(handle_of(*this), other, is_allowed);
}

std::vector<Device *> Pool::accessing_devices() const {
  const std::lock_guard lock(mutex_);
  return {accessing_.begin(), accessing_.end()};
}

std::shared_ptr<Pool> current_pool(Device &device) {
  std::unique_lock<std::mutex> lock;
  return pools_of(device, lock).current;
}

std::vector<Device *> devices_of_pool(Handle handle) {
  const std::shared_ptr<Pool> pool = find<Pool>(handle);
  return pool ? pool->accessing_devices() : std::vector<Device *>{};
}

Status allocate_in_order(Stream *stream, Pool &pool, size_t size_bytes, Address *address) {
  if (!stream) return kInvalidHandle;
  Context &owner = &stream->context.device == &pool.device ? stream->context : *pool.device.primary;
  {
    const std::lock_guard lock(stream->context.order);
    if (stream->capture) {
      if (!address || size_bytes == 0) return kInvalidValue;
      const std::shared_ptr<GraphMemory> memory = GraphMemory::make(owner, size_bytes);
      if (!memory) return kOutOfMemory;
      *address = memory->base;
      return capture_work(*stream, GraphMemoryWork{memory, false});
    }
  }
  return allocate_device(owner, size_bytes, Allocation::device, address, handle_of(pool));
}

Status free_in_order(Stream *stream, Address address) {
  if (!stream) return kInvalidHandle;
  if (!address) return kSuccess;
  const std::shared_ptr<GraphMemory> memory = find_graph_memory(address);
  Allocation allocation;
  if (memory ? memory->base != address
             : !find_allocation(address, &allocation) || allocation.base != address ||
                   allocation.kind != Allocation::device)
    return kInvalidValue;
  const std::lock_guard lock(stream->context.order);
  if (stream->capture) return memory ? capture_work(*stream, GraphMemoryWork{memory, true}) : kInvalidValue;
  if (memory && !memory->is_given.exchange(false)) return kInvalidValue;
  stream->enqueue([address] { free_allocation(address, false); });
  return kSuccess;
}

}  // namespace egpu::sim

using namespace egpu::sim;

namespace {

constexpr int kReleaseThreshold = 4, kReservedCurrent = 5, kUsedHigh = 8;
constexpr int kAtDevice = 1;                  // CUmemLocationType
constexpr int kPinned = 1;                    // CUmemAllocationType
constexpr int kNoAccess = 0, kReadWrite = 3;  // CUmemAccess_flags

Status device_pool(Handle *pool, Ordinal ordinal, bool is_default) {
  if (!pool) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  Device *device = find_device(ordinal);
  if (!device) return kInvalidDevice;
  std::unique_lock<std::mutex> lock;
  const DevicePools &pools = pools_of(*device, lock);
  *pool = handle_of(is_default ? *pools.own : *pools.current);
  return kSuccess;
}

Status set_device_pool(Ordinal ordinal, Handle handle) {
  if (!driver().initialized) return kNotInitialized;
  Device *device = find_device(ordinal);
  if (!device) return kInvalidDevice;
  std::shared_ptr<Pool> pool = find<Pool>(handle);
  if (!pool || &pool->device != device) return kInvalidValue;
  std::unique_lock<std::mutex> lock;
  pools_of(*device, lock).current = std::move(pool);
  return kSuccess;
}

// Only pools of device memory.
Status check_location(const MemLocation *location, int type) {
  if (!location) return kInvalidValue;
  return type == kPinned && location->type == kAtDevice ? kSuccess : kNotSupported;
}

}  // namespace

CU_API(cuDeviceGetDefaultMemPool, (Handle * pool, Ordinal device), (pool, device)) {
  return device_pool(pool, device, true);
}
CU_API(cuDeviceGetMemPool, (Handle * pool, Ordinal device), (pool, device)) {
  return device_pool(pool, device, false);
}
CU_API(cuDeviceSetMemPool, (Ordinal device, Handle pool), (device, pool)) {
  return set_device_pool(device, pool);
}
CU_API(cuMemGetDefaultMemPool, (Handle * pool, const MemLocation *location, int type),
       (pool, location, type)) {
  CU_TRY(check_location(location, type));
  return device_pool(pool, location->id, true);
}
CU_API(cuMemGetMemPool, (Handle * pool, const MemLocation *location, int type), (pool, location, type)) {
  CU_TRY(check_location(location, type));
  return device_pool(pool, location->id, false);
}
CU_API(cuMemSetMemPool, (const MemLocation *location, int type, Handle pool), (location, type, pool)) {
  CU_TRY(check_location(location, type));
  return set_device_pool(location->id, pool);
}

CU_API(cuMemPoolCreate, (Handle * made, const MemPoolProperties *properties), (made, properties)) {
  if (!driver().initialized) return kNotInitialized;
  if (!made || !properties) return kInvalidValue;
  CU_TRY(check_location(&properties->location, properties->type));
  if (properties->handle_types != 0) return kNotSupported;  // shared between processes
  Device *device = find_device(properties->location.id);
  if (!device) return kInvalidValue;
  *made = publish(std::make_shared<Pool>(*device));
  return kSuccess;
}
// What has been allocated from it stays until it is freed.
CU_API(cuMemPoolDestroy, (Handle handle), (handle)) {
  const std::shared_ptr<Pool> pool = find<Pool>(handle);
  if (!pool || pool->is_default) return kInvalidValue;
  {
    std::unique_lock<std::mutex> lock;
    DevicePools &pools = pools_of(pool->device, lock);
    if (pools.current == pool) pools.current = pools.own;
  }
  retire(handle);
  return kSuccess;
}
CU_API(cuMemPoolTrimTo, (Handle pool, size_t), (pool, 0)) {
  return find<Pool>(pool) ? kSuccess : kInvalidValue;
}
CU_API(cuMemPoolGetAttribute, (Handle handle, int attribute, void *value), (handle, attribute, value)) {
  const std::shared_ptr<Pool> pool = find<Pool>(handle);
  if (!pool || !value) return kInvalidValue;
  const uint64_t used = pool->device.machine->memory().used_bytes();
  if (attribute >= kReservedCurrent && attribute <= kUsedHigh)
    *static_cast<uint64_t *>(value) = used;
  else if (attribute == kReleaseThreshold)
    *static_cast<uint64_t *>(value) = pool->release_threshold;
  else if (attribute >= 1 && attribute < kReleaseThreshold)
    *static_cast<int *>(value) = 1;  // the reuse policies
  else
    return kInvalidValue;
  return kSuccess;
}
CU_API(cuMemPoolSetAttribute, (Handle handle, int attribute, void *value), (handle, attribute, value)) {
  const std::shared_ptr<Pool> pool = find<Pool>(handle);
  if (!pool || !value || attribute < 1 || attribute > kUsedHigh) return kInvalidValue;
  if (attribute == kReleaseThreshold) pool->release_threshold = *static_cast<uint64_t *>(value);
  return kSuccess;
}
CU_API(cuMemPoolSetAccess, (Handle handle, const MemAccess *list, size_t count), (handle, list, count)) {
  const std::shared_ptr<Pool> pool = find<Pool>(handle);
  if (!pool || (count && !list)) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    Device *device = find_device(list[i].location.id);
    const bool is_own = device == &pool->device;
    if (list[i].location.type != kAtDevice || !device ||
        (list[i].flags != kNoAccess && list[i].flags != kReadWrite) || (is_own && list[i].flags == kNoAccess))
      return kInvalidValue;
    if (!is_own) pool->set_access(*device, list[i].flags == kReadWrite);
  }
  return kSuccess;
}
CU_API(cuMemPoolGetAccess, (int *flags, Handle handle, const MemLocation *location),
       (flags, handle, location)) {
  const std::shared_ptr<Pool> pool = find<Pool>(handle);
  if (!flags || !pool || !location || location->type != kAtDevice) return kInvalidValue;
  Device *device = find_device(location->id);
  if (!device) return kInvalidValue;
  *flags = device == &pool->device ? kReadWrite : kNoAccess;
  for (const Device *other : pool->accessing_devices())
    if (other == device) *flags = kReadWrite;
  return kSuccess;
}
