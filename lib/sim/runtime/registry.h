// What the program's objects register before main: fatbins, and which host address stands for
// which kernel or variable in them.
//
// Registration runs in static constructors of other objects, so nothing here relies on one, and
// nothing is destroyed: the stubs keep Function handles in statics and use them until exit. A
// fatbin becomes a library of the driver (cuLibraryLoadData) when something in it is first used,
// or at once if it has managed variables, whose addresses the host code reads without a call.
// Source: crt/host_runtime.h; docs/cuda-formats.md, section 3.
#pragma once
#include "lib/sim/runtime/api.h"

namespace egpu::rt {

struct Fatbin;
struct Function;

/// The driver's CUkernel for a kernel's host function, for a Function that __cudaGetKernel gave,
/// or for a handle that the runtime gave out (cudaGetKernel and the like).
int find_kernel(const void *function, Handle *kernel);
/// The host function of a kernel; null: none.
const void *host_function_of(Handle kernel);
/// A handle that the program may pass as a kernel from now on.
void know_kernel(Handle kernel);

/// Address and size of a registered variable in the current context.
int find_variable(const void *symbol, Address *address, size_t *size_bytes);

}  // namespace egpu::rt
