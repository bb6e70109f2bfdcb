// Copies and fills as the driver takes them.
#pragma once
#include "lib/sim/runtime/api.h"

namespace egpu::rt {

/// One dimension; `stream` is ignored if not asynchronous.
int copy(void *to, const void *from, size_t size_bytes, int kind, bool is_async, Handle stream);
/// Three dimensions of the driver's from the runtime's.
int convert_copy(const Copy3DParameters *parameters, Copy3D *converted);
/// The other way round, of a copy without arrays.
int convert_back(const Copy3D &copy, Copy3DParameters *parameters);
/// Address of a part of a registered variable; kInvalidValue: beyond its end.
int symbol_range(const void *symbol, size_t size_bytes, size_t offset, char **address);
/// One row as three dimensions, for graph nodes.
int row_copy(void *to, const void *from, size_t size_bytes, int kind, Copy3D *converted);

}  // namespace egpu::rt
