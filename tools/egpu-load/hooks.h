// The jumps at the driver's entry points: relocation here, storing by the agent (start) or by us (attach).
#pragma once
#include <sys/types.h>

#include <vector>

#include "egpu/result.h"
#include "lib/loader/session/protocol.h"
#include "tools/egpu-load/shared.h"

namespace egpu::load {

/// One Hook per entry, in order; an entry whose code cannot be relocated is reported and left alone.
/// `attach`: also writes them into the process, with its threads stopped.
Result<std::vector<session::Hook>> prepare_hooks(pid_t pid, bool attach,
                                                 const std::vector<session::EntryPoint> &entries,
                                                 Shared &shared);

}  // namespace egpu::load
