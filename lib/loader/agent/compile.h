// PTX to cubin with the driver's linker, which does not hold up other threads' launches (loading
// PTX as a module would, for the whole compile: facts.md, section 1).
#pragma once
#include <stddef.h>

#include "lib/loader/agent/agent.h"

namespace egpu::agent {

constexpr size_t kLogBytes = 8192;

// Options and logs must live as long as the link state (driver API manual, cuLinkCreate).
struct Compiled {
  driver::CUlinkState link;  // owns the cubin
  void *cubin;
  size_t cubin_bytes;
  int options[4];
  void *values[4];
  char errors[kLogBytes], remarks[kLogBytes];  // NUL-ended
};

/// `ptx` is NUL-ended, `bytes` counts the NUL. A context must be current. free_compiled in any case.
CUresult compile_ptx(const char *ptx, size_t bytes, Compiled *compiled);
void free_compiled(Compiled *compiled);

}  // namespace egpu::agent
