// Memory: allocation, registration, queries.
#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
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

// What cuPointerGetAttribute can be asked, for one address.
struct Pointer {
  Address address = 0;
  uint64_t base = 0, size_bytes = 0, id = 0;
  bool known = false, is_host = false, is_managed = false;
  Context *context = nullptr;
  Ordinal device = -2;  // "no device", as the driver says it
};

Pointer describe(Address address) {
  Pointer pointer;
  pointer.address = address;
  if (Allocation allocation; find_allocation(address, &allocation)) {
    pointer.known = true;
    pointer.base = allocation.base;
    pointer.size_bytes = allocation.size_bytes;
    pointer.id = allocation.id;
    pointer.is_host = allocation.kind == Allocation::host || allocation.kind == Allocation::registered;
    pointer.is_managed = allocation.kind == Allocation::managed;
    pointer.context = allocation.context;
    pointer.device = allocation.context->device.ordinal;
  } else if (const Device *device = device_of(address, &pointer.base, &pointer.size_bytes)) {
    pointer.known = true;  // a module's variable
    pointer.context = device->primary;
    pointer.device = device->ordinal;
  }
  return pointer;
}

// CUpointer_attribute by number. Strict: an unknown pointer is an error (cuPointerGetAttribute);
// else it gets a null value (cuPointerGetAttributes).
Status pointer_attribute(const Pointer &pointer, int attribute, void *data, bool strict) {
  if (!data) return kInvalidValue;
  if (strict && !pointer.known) return kInvalidValue;
  switch (attribute) {
    case 1:
      *static_cast<Handle *>(data) = pointer.context ? handle_of(*pointer.context) : nullptr;
      break;
    case 2:
      *static_cast<int *>(data) = !pointer.known ? 0 : pointer.is_host ? kMemoryHost : kMemoryDevice;
      break;
    case 3:
      *static_cast<Address *>(data) = pointer.known ? pointer.address : 0;
      break;
    case 4: {
      const bool has = pointer.is_host || pointer.is_managed;
      *static_cast<void **>(data) =
          has || !pointer.known ? reinterpret_cast<void *>(pointer.address) : nullptr;
      if (strict && !has) return kInvalidValue;
      break;
    }
    case 6:  // SYNC_MEMOPS
    case 8:
      *static_cast<unsigned char *>(data) = attribute == 8 && pointer.is_managed;
      break;
    case 7:
      *static_cast<unsigned long long *>(data) = pointer.id;
      break;
    case 9:
      *static_cast<int *>(data) = pointer.device;
      break;
    case 10:
      *static_cast<unsigned char *>(data) = 0;
      break;
    case 11:
      *static_cast<Address *>(data) = pointer.base;
      break;
    case 12:
      *static_cast<size_t *>(data) = pointer.size_bytes;
      break;
    case 13:
      *static_cast<unsigned char *>(data) = pointer.known;
      break;
    case 14:
      *static_cast<unsigned long long *>(data) = 0;
      break;
    case 15:
      *static_cast<unsigned char *>(data) = 0;
      break;
    case 16:
      *static_cast<int *>(data) = pointer.known ? 3 : 0;
      break;  // read and write
    case 17:
      *static_cast<Handle *>(data) = nullptr;
      break;
    default:
      return kInvalidValue;
  }
  return kSuccess;
}

}  // namespace

CU_API(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes), (free_bytes, total_bytes)) {
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

CU_API(cuPointerGetAttribute, (void *data, int attribute, Address address), (data, attribute, address)) {
  if (!driver().initialized) return kNotInitialized;
  return pointer_attribute(describe(address), attribute, data, true);
}
CU_API(cuPointerGetAttributes, (unsigned count, int *attributes, void **data, Address address),
       (count, attributes, data, address)) {
  if (!attributes || !data) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const Pointer pointer = describe(address);
  for (unsigned i = 0; i < count; ++i) CU_TRY(pointer_attribute(pointer, attributes[i], data[i], false));
  return kSuccess;
}
CU_API(cuPointerSetAttribute, (const void *value, int attribute, Address address),
       (value, attribute, address)) {
  if (!value || attribute != 6 || !describe(address).known) return kInvalidValue;
  return kSuccess;  // SYNC_MEMOPS: copies of one memory are in order as it is
}

// Advice and prefetches: one memory, nothing to move.
CU_API(cuMemAdvise, (Address address, size_t size_bytes, int, Ordinal), (address, size_bytes, 0, 0)) {
  CU_CONTEXT(context);
  return is_device_range(address, size_bytes) ? kSuccess : kInvalidValue;
}
CU_API(cuMemAdvise_v2, (Address address, size_t size_bytes, int, int64_t), (address, size_bytes, 0, 0)) {
  CU_CONTEXT(context);
  return is_device_range(address, size_bytes) ? kSuccess : kInvalidValue;
}
CU_STREAM_API(cuMemPrefetchAsync, _ptsz, (Address address, size_t size_bytes, Ordinal, Handle stream),
              (address, size_bytes, 0, stream)) {
  CU_CONTEXT(context);
  if (!find_stream(*context, stream, which)) return kInvalidHandle;
  return is_device_range(address, size_bytes) ? kSuccess : kInvalidValue;
}
CU_STREAM_API(cuMemPrefetchAsync_v2, _ptsz,
              (Address address, size_t size_bytes, int64_t, unsigned, Handle stream),
              (address, size_bytes, 0, 0, stream)) {
  CU_CONTEXT(context);
  if (!find_stream(*context, stream, which)) return kInvalidHandle;
  return is_device_range(address, size_bytes) ? kSuccess : kInvalidValue;
}
CU_STREAM_API(cuStreamAttachMemAsync, _ptsz, (Handle stream, Address, size_t, unsigned), (stream, 0, 0, 0)) {
  CU_CONTEXT(context);
  return find_stream(*context, stream, which) ? kSuccess : kInvalidHandle;
}

// Stream-ordered allocation: the memory is there at once, and freed in stream order.
CU_STREAM_API(cuMemAllocAsync, _ptsz, (Address * address, size_t size_bytes, Handle stream),
              (address, size_bytes, stream)) {
  if (!address) return kInvalidValue;
  CU_CONTEXT(context);
  return allocate_in_order(*context, find_stream(*context, stream, which).get(), size_bytes, address);
}
CU_STREAM_API(cuMemAllocFromPoolAsync, _ptsz,
              (Address * address, size_t size_bytes, Handle pool, Handle stream),
              (address, size_bytes, pool, stream)) {
  if (!address || !find<Pool>(pool)) return kInvalidValue;
  CU_CONTEXT(context);
  return allocate_in_order(*context, find_stream(*context, stream, which).get(), size_bytes, address);
}
CU_STREAM_API(cuMemFreeAsync, _ptsz, (Address address, Handle stream), (address, stream)) {
  CU_CONTEXT(context);
  return free_in_order(find_stream(*context, stream, which).get(), address);
}
