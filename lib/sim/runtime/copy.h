// Copies and fills as the driver takes them.
#pragma once
#include "lib/sim/runtime/api.h"

namespace egpu::rt {

/// One dimension; `stream` is ignored if not asynchronous.
int copy(void *to, const void *from, size_t size_bytes, int kind, bool is_async, Handle stream);
/// Three dimensions of the driver's from the runtime's.
int convert_copy(const Copy3DParameters *parameters, Copy3D *converted);
/// One row as three dimensions, for graph nodes.
int row_copy(void *to, const void *from, size_t size_bytes, int kind, Copy3D *converted);

}  // namespace egpu::rt
