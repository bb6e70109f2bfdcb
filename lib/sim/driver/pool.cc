#include "lib/sim/driver/pool.h"

#include "lib/sim/driver/allocation.h"

namespace egpu::sim {
namespace {

// The device's pool, made on first use; it is never freed.
std::shared_ptr<Pool> default_pool(Device &device) {
  static std::mutex &mutex = *new std::mutex;
  static auto &pools = *new std::map<Ordinal, std::shared_ptr<Pool>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Pool> &pool = pools[device.ordinal];
  if (!pool) {
    pool = std::make_shared<Pool>(device);
    publish(pool);
  }
  return pool;
}

Status device_pool(Handle *pool, Ordinal ordinal) {
  if (!pool) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  Device *device = find_device(ordinal);
  if (!device) return kInvalidDevice;
  *pool = handle_of(*default_pool(*device));
  return kSuccess;
}

constexpr int kReleaseThreshold = 4, kReservedCurrent = 5, kUsedHigh = 8;

}  // namespace

Status allocate_in_order(Context &context, Stream *stream, size_t size_bytes, Address *address) {
  if (!stream) return kInvalidHandle;
  {
    const std::lock_guard lock(stream->context.order);
    if (stream->capture) return kNotSupported;
  }
  return allocate_device(context, size_bytes, Allocation::device, address);
}

Status free_in_order(Stream *stream, Address address) {
  if (!stream) return kInvalidHandle;
  if (!address) return kSuccess;
  Allocation allocation;
  if (!find_allocation(address, &allocation) || allocation.base != address ||
      allocation.kind != Allocation::device)
    return kInvalidValue;
  const std::lock_guard lock(stream->context.order);
  if (stream->capture) return kNotSupported;
  stream->enqueue([address] { free_allocation(address, false); });
  return kSuccess;
}

}  // namespace egpu::sim

using namespace egpu::sim;

CU_API(cuDeviceGetDefaultMemPool, (Handle * pool, Ordinal device), (pool, device)) {
  return device_pool(pool, device);
}
CU_API(cuDeviceGetMemPool, (Handle * pool, Ordinal device), (pool, device)) {
  return device_pool(pool, device);
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
