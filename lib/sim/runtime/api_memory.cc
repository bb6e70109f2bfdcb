// Memory: allocation, registration, pools, what a pointer is.
#include "lib/sim/runtime/export.h"

using namespace egpu::rt;

namespace {

constexpr unsigned kPitchElementBytes = 4;

int allocate(Address *address, size_t size_bytes) {
  if (!address) return kInvalidValue;
  RT_TRY(ensure_context());
  if (size_bytes == 0) {
    *address = 0;
    return kOk;
  }
  return cuMemAlloc_v2(address, size_bytes);
}

int allocate_pitched(Address *address, size_t *pitch, size_t width, size_t height) {
  if (!address || !pitch) return kInvalidValue;
  RT_TRY(ensure_context());
  *address = 0;
  *pitch = 0;
  return width && height ? cuMemAllocPitch_v2(address, pitch, width, height, kPitchElementBytes) : kOk;
}

int allocate_host(void **pointer, size_t size_bytes, unsigned flags) {
  if (!pointer) return kInvalidValue;
  RT_TRY(ensure_context());
  *pointer = nullptr;
  return size_bytes ? cuMemHostAlloc(pointer, size_bytes, flags) : kOk;
}

}  // namespace

RT_API(cudaMalloc, (Address * address, size_t size_bytes), (address, size_bytes)) {
  return allocate(address, size_bytes);
}
RT_API(cudaMallocPitch, (Address * address, size_t *pitch, size_t width, size_t height),
       (address, pitch, width, height)) {
  return allocate_pitched(address, pitch, width, height);
}
RT_API(cudaMalloc3D, (PitchedPointer * pointer, Extent extent), (pointer, extent)) {
  if (!pointer) return kInvalidValue;
  Address address = 0;
  RT_TRY(allocate_pitched(&address, &pointer->pitch, extent.width, extent.height * extent.depth));
  pointer->pointer = reinterpret_cast<void *>(address);
  pointer->width = extent.width;
  pointer->height = extent.height;
  return kOk;
}
RT_API(cudaMallocManaged, (Address * address, size_t size_bytes, unsigned flags),
       (address, size_bytes, flags)) {
  if (!address || size_bytes == 0) return kInvalidValue;
  RT_TRY(ensure_context());
  return cuMemAllocManaged(address, size_bytes, flags);
}
RT_API(cudaFree, (Address address), (address)) {
  RT_TRY(ensure_context());
  return address ? cuMemFree_v2(address) : kOk;
}
RT_API(cudaMallocHost, (void **pointer, size_t size_bytes), (pointer, size_bytes)) {
  return allocate_host(pointer, size_bytes, 0);
}
RT_API(cudaHostAlloc, (void **pointer, size_t size_bytes, unsigned flags), (pointer, size_bytes, flags)) {
  return allocate_host(pointer, size_bytes, flags);
}
RT_API(cudaFreeHost, (void *pointer), (pointer)) {
  RT_TRY(ensure_context());
  return pointer ? cuMemFreeHost(pointer) : kOk;
}
RT_FORWARD(cudaHostRegister, cuMemHostRegister_v2, (void *pointer, size_t size_bytes, unsigned flags),
           (pointer, size_bytes, flags))
RT_FORWARD(cudaHostUnregister, cuMemHostUnregister, (void *pointer), (pointer))
RT_FORWARD(cudaHostGetDevicePointer, cuMemHostGetDevicePointer_v2,
           (Address * address, void *pointer, unsigned flags), (address, pointer, flags))
RT_FORWARD(cudaHostGetFlags, cuMemHostGetFlags, (unsigned *flags, void *pointer), (flags, pointer))
RT_FORWARD(cudaMemGetInfo, cuMemGetInfo_v2, (size_t * free_bytes, size_t *total_bytes),
           (free_bytes, total_bytes))
RT_FORWARD(cudaMemAdvise, cuMemAdvise_v2, (Address address, size_t size_bytes, int advice, Location location),
           (address, size_bytes, advice, location))
RT_STREAM_FORWARD(cudaMemPrefetchAsync, cuMemPrefetchAsync_v2,
                  (Address address, size_t size_bytes, Location location, unsigned flags, Handle stream),
                  (address, size_bytes, location, flags, which(stream)))

RT_STREAM_FORWARD(cudaMallocAsync, cuMemAllocAsync, (Address * address, size_t size_bytes, Handle stream),
                  (address, size_bytes, which(stream)))
RT_STREAM_FORWARD(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync,
                  (Address * address, size_t size_bytes, Handle pool, Handle stream),
                  (address, size_bytes, pool, which(stream)))
RT_STREAM_FORWARD(cudaFreeAsync, cuMemFreeAsync, (Address address, Handle stream), (address, which(stream)))
RT_FORWARD(cudaMemPoolCreate, cuMemPoolCreate, (Handle * pool, const void *properties), (pool, properties))
RT_FORWARD(cudaMemPoolDestroy, cuMemPoolDestroy, (Handle pool), (pool))
RT_FORWARD(cudaMemPoolTrimTo, cuMemPoolTrimTo, (Handle pool, size_t keep_bytes), (pool, keep_bytes))
RT_FORWARD(cudaMemPoolSetAttribute, cuMemPoolSetAttribute, (Handle pool, int attribute, void *value),
           (pool, attribute, value))
RT_FORWARD(cudaMemPoolGetAttribute, cuMemPoolGetAttribute, (Handle pool, int attribute, void *value),
           (pool, attribute, value))
RT_FORWARD(cudaMemPoolSetAccess, cuMemPoolSetAccess, (Handle pool, const void *list, size_t count),
           (pool, list, count))
RT_FORWARD(cudaMemPoolGetAccess, cuMemPoolGetAccess, (int *flags, Handle pool, void *location),
           (flags, pool, location))

RT_FORWARD(cudaMemGetDefaultMemPool, cuMemGetDefaultMemPool,
           (Handle * pool, const Location *location, int type), (pool, location, type))
RT_FORWARD(cudaMemGetMemPool, cuMemGetMemPool, (Handle * pool, const Location *location, int type),
           (pool, location, type))
RT_FORWARD(cudaMemSetMemPool, cuMemSetMemPool, (const Location *location, int type, Handle pool),
           (location, type, pool))

RT_FORWARD(cudaMemRangeGetAttribute, cuMemRangeGetAttribute,
           (void *data, size_t data_bytes, int attribute, Address address, size_t size_bytes),
           (data, data_bytes, attribute, address, size_bytes))
RT_FORWARD(cudaMemRangeGetAttributes, cuMemRangeGetAttributes,
           (void **data, size_t *data_bytes, int *attributes, size_t count, Address address,
            size_t size_bytes),
           (data, data_bytes, attributes, count, address, size_bytes))

// CUpointer_attribute: 2 memory type, 3 device pointer, 4 host pointer, 8 is managed, 9 device ordinal.
RT_API(cudaPointerGetAttributes, (PointerAttributes * attributes, const void *pointer),
       (attributes, pointer)) {
  if (!attributes) return kInvalidValue;
  RT_TRY(ensure_context());
  int type = 0, device = -2;
  unsigned is_managed = 0;
  Address device_pointer = 0;
  void *host_pointer = nullptr;
  const int wanted[] = {2, 3, 4, 8, 9};
  void *data[] = {&type, &device_pointer, &host_pointer, &is_managed, &device};
  RT_TRY(cuPointerGetAttributes(5, wanted, data, reinterpret_cast<Address>(pointer)));
  *attributes = {};
  if (type == 0) {  // memory that CUDA does not know
    attributes->device = -2;
    attributes->host_pointer = const_cast<void *>(pointer);
    return kOk;
  }
  attributes->type = is_managed ? 3 : type;
  attributes->device = device;
  attributes->device_pointer = reinterpret_cast<void *>(device_pointer);
  attributes->host_pointer = host_pointer;
  return kOk;
}
