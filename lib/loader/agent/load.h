// Patched modules: compiled in the background, loaded together, published in the table.
#pragma once
#include "lib/loader/agent/contexts.h"
#include "lib/loader/agent/table.h"

namespace egpu::agent {

/// Answers `load`. Takes `fd`.
void load_modules(const session::Load &load, int fd);

/// Answers `want_globals`; `names`: `count` NUL-ended names in `bytes` bytes.
void look_up_globals(const session::WantGlobals &want, const char *names, size_t bytes);

/// Copies the attributes that the target may have set on the original (dynamic shared memory,
/// carve-out, cluster) to the patched function.
void copy_attributes(const Entry &entry);

}  // namespace egpu::agent
