// Memory: a device's is the host's.
#include <cstdlib>
#include <cstring>

#include "tests/agent/fakecuda/state.h"

EXPORT cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  unsafe_call();
  *address = reinterpret_cast<CUdeviceptr>(malloc(bytes));
  memset(reinterpret_cast<void *>(*address), 0xee, bytes);
  std::lock_guard lock(mutex);
  allocations[*address] = bytes;
  return 0;
}

EXPORT cuMemFree_v2(CUdeviceptr address) {
  unsafe_call();
  std::lock_guard lock(mutex);
  if (!allocations.erase(address)) return kInvalidValue;
  free(reinterpret_cast<void *>(address));
  return 0;
}

EXPORT cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  *address = keep(calloc(1, bytes));
  return 0;
}

EXPORT cuMemFreeHost(void *) { return 0; }

EXPORT cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream) {
  memset(reinterpret_cast<void *>(address), value, bytes);
  return 0;
}

EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream) {
  memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}

EXPORT cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream) {
  memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
