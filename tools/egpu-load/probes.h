// The session's probe object, from the command line's PROBE to what the patcher takes.
#pragma once
#include <string>
#include <vector>

#include "egpu/bpf2ptx.h"
#include "egpu/result.h"
#include "lib/loader/ptx/patch.h"
#include "tools/egpu-load/options.h"

namespace egpu::load {

/// Compiles PROBE: a .bpf.o, a .c file (clang runs in passing), or the name of an installed probe.
/// Errors are ready to print: compiler-style diagnostics or "NAME: cause".
Result<CompiledObject> load_object(const Options &options);

/// The patcher's view of the object's programs, in the same order.
std::vector<ptx::Probe> probes_of(const CompiledObject &object);

}  // namespace egpu::load
