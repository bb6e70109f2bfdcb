// Copies and fills as the driver takes them.
#pragma once
#include "lib/sim/runtime/export.h"

namespace egpu::rt {

// CUmemorytype; unified: whatever the pointer is.
enum MemoryKind : int { kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4 };
/// Of the ends of a copy, if they are no arrays, by the cudaMemcpyKind.
int from_type(int kind);
int to_type(int kind);

/// A synchronous call: of the legacy stream, or of the thread's.
template <class Body>
int run_synchronously(Which which, Body body) {
  const Handle stream = which(nullptr);
  RT_TRY(body(stream != nullptr, stream));
  return stream ? cuStreamSynchronize(stream) : kOk;
}

/// One dimension; `stream` is ignored if not asynchronous.
int copy(void *to, const void *from, size_t size_bytes, int kind, bool is_async, Handle stream);
/// Three dimensions of the driver's from the runtime's.
int convert_copy(const Copy3DParameters *parameters, Copy3D *converted);
/// The other way round.
int convert_back(const Copy3D &copy, Copy3DParameters *parameters);
/// Of an element of the array; kInvalidResourceHandle.
int element_bytes_of(Handle array, size_t *size_bytes);
/// Address of a part of a registered variable; kInvalidValue: beyond its end.
int symbol_range(const void *symbol, size_t size_bytes, size_t offset, char **address);
/// One row as three dimensions, for graph nodes.
int row_copy(void *to, const void *from, size_t size_bytes, int kind, Copy3D *converted);

}  // namespace egpu::rt
