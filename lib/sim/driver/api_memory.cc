// Memory: allocation and registration.
#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/graph_memory.h"
#include "lib/sim/driver/pool.h"

using namespace egpu::sim;

namespace {

Status allocate(Address *address, size_t size_bytes) {
  if (!address) return kInvalidValue;
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  return allocate_device(*context, size_bytes, Allocation::device, address);
}

// The real cuMemFree waits for the device; kernels that use the memory are then done.
Status free_device(Address address) {
  CU_CONTEXT(context);
  if (!address) return kSuccess;
  CU_TRY(check_unsafe_call());
  CU_TRY(context->synchronize());
  if (const std::shared_ptr<GraphMemory> memory = find_graph_memory(address))
    if (memory->base != address || !memory->is_given.exchange(false)) return kInvalidValue;
  return free_allocation(address, false);
}

Status allocate_page_locked(void **address, size_t size_bytes, unsigned flags) {
  if (!address) return kInvalidValue;
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  return allocate_host(*context, size_bytes, flags, address);
}

Status allocate_pitch(Address *address, size_t *pitch, size_t width_bytes, size_t height,
                      unsigned element_bytes) {
  if (!address || !pitch || width_bytes == 0 || height == 0) return kInvalidValue;
  if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) return kInvalidValue;
  *pitch = (width_bytes + 511) / 512 * 512;
  return allocate(address, *pitch * height);
}

Status memory_info(size_t *free_bytes, size_t *total_bytes) {
  CU_CONTEXT(context);
  const size_t used = context->machine().memory().used_bytes();
  if (free_bytes) *free_bytes = used < kDeviceBytes ? kDeviceBytes - used : 0;
  if (total_bytes) *total_bytes = kDeviceBytes;
  return kSuccess;
}

Status address_range(Address *base, size_t *size_bytes, Address address) {
  CU_CONTEXT(context);
  uint64_t first = 0, size = 0;
  if (!device_of(address, &first, &size)) return kNotFound;
  if (base) *base = first;
  if (size_bytes) *size_bytes = size;
  return kSuccess;
}

Status host_device_pointer(Address *device, void *host) {
  if (!device || !host) return kInvalidValue;
  CU_CONTEXT(context);
  if (!is_pinned_host(reinterpret_cast<Address>(host))) return kInvalidValue;
  *device = reinterpret_cast<Address>(host);
  return kSuccess;
}

}  // namespace

CU_API(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total_bytes), (free_bytes, total_bytes)) {
  return memory_info(free_bytes, total_bytes);
}
CU_API(cuMemAlloc_v2, (Address * address, size_t size_bytes), (address, size_bytes)) {
  return allocate(address, size_bytes);
}
CU_API(cuMemAllocPitch_v2,
       (Address * address, size_t *pitch, size_t width_bytes, size_t height, unsigned element_bytes),
       (address, pitch, width_bytes, height, element_bytes)) {
  return allocate_pitch(address, pitch, width_bytes, height, element_bytes);
}
CU_API(cuMemFree_v2, (Address address), (address)) { return free_device(address); }
CU_API(cuMemGetAddressRange_v2, (Address * base, size_t *size_bytes, Address address),
       (base, size_bytes, address)) {
  return address_range(base, size_bytes, address);
}
CU_API(cuMemAllocHost_v2, (void **address, size_t size_bytes), (address, size_bytes)) {
  return allocate_page_locked(address, size_bytes, 0);
}
CU_API(cuMemHostAlloc, (void **address, size_t size_bytes, unsigned flags), (address, size_bytes, flags)) {
  if (flags > 7) return kInvalidValue;
  return allocate_page_locked(address, size_bytes, flags);
}
CU_API(cuMemFreeHost, (void *address), (address)) {
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  CU_TRY(context->synchronize());
  return free_allocation(reinterpret_cast<Address>(address), true);
}
CU_API(cuMemHostGetDevicePointer_v2, (Address * device, void *host, unsigned flags), (device, host, flags)) {
  if (flags != 0) return kInvalidValue;
  return host_device_pointer(device, host);
}
CU_API(cuMemHostGetFlags, (unsigned *flags, void *host), (flags, host)) {
  if (!flags) return kInvalidValue;
  CU_CONTEXT(context);
  Allocation allocation;
  if (!find_allocation(reinterpret_cast<Address>(host), &allocation) || allocation.kind != Allocation::host)
    return kInvalidValue;
  *flags = allocation.flags;
  return kSuccess;
}
CU_API(cuMemHostRegister_v2, (void *host, size_t size_bytes, unsigned flags), (host, size_bytes, flags)) {
  CU_CONTEXT(context);
  return register_host(*context, host, size_bytes, flags);
}
CU_API(cuMemHostUnregister, (void *host), (host)) {
  CU_CONTEXT(context);
  CU_TRY(context->synchronize());
  return unregister_host(host);
}
CU_API(cuMemAllocManaged, (Address * address, size_t size_bytes, unsigned flags),
       (address, size_bytes, flags)) {
  if (!address || (flags != 1 && flags != 2 && flags != 4)) return kInvalidValue;
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  return allocate_device(*context, size_bytes, Allocation::managed, address);
}

// Stream-ordered allocation: the memory is there at once, and freed in stream order.
CU_STREAM_API(cuMemAllocAsync, _ptsz, (Address * address, size_t size_bytes, Handle stream),
              (address, size_bytes, stream)) {
  if (!address) return kInvalidValue;
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> on = find_stream(*context, stream, which);
  return on ? allocate_in_order(on.get(), *current_pool(on->context.device), size_bytes, address)
            : kInvalidHandle;
}
CU_STREAM_API(cuMemAllocFromPoolAsync, _ptsz,
              (Address * address, size_t size_bytes, Handle pool, Handle stream),
              (address, size_bytes, pool, stream)) {
  const std::shared_ptr<Pool> from = find<Pool>(pool);
  if (!address || !from) return kInvalidValue;
  CU_CONTEXT(context);
  return allocate_in_order(find_stream(*context, stream, which).get(), *from, size_bytes, address);
}
CU_STREAM_API(cuMemFreeAsync, _ptsz, (Address address, Handle stream), (address, stream)) {
  CU_CONTEXT(context);
  return free_in_order(find_stream(*context, stream, which).get(), address);
}
