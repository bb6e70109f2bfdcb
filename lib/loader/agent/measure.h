// What a kernel takes of an SM, original and patched, for egpu-load -v.
#pragma once
#include "lib/loader/agent/table.h"

namespace egpu::agent {

/// Tells egpu-load. On a driver that loads lazily this loads the original, which in start mode is
/// never launched: so only when it is asked for.
void measure(const Entry &entry, const session::LoadKernel &kernel);

}  // namespace egpu::agent
