// PTX modules of rows: a kernel per row, named row0, row1, ... after its place in the table.
#pragma once
#include <string>

#include "tests/sim-machine/vectors/table.h"

namespace egpu::vectors {

std::string kernel_name(size_t row);
/// Kernels of rows[begin] up to rows[end]; parameters as gpu.h says. A row's text may also use
/// p, q (predicates), t, u (.b32), x (.b64), lane, and the addresses global_cell and shared_cell of
/// 16 bytes of the thread's own.
std::string module_of(const std::vector<Row> &rows, size_t begin, size_t end);

}  // namespace egpu::vectors
