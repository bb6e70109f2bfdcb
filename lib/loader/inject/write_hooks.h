// Stores the jumps at the driver's entry points of a running process (attach mode).
//
// All threads are stopped, those that stand inside the bytes to be replaced are moved out, the
// trampolines and then the jumps are written, and all go on. Nothing runs in the target for it.
// A tracer that dies in between leaves whole hooks only: each jump is one 8-byte store, and its
// trampoline is there before.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/session/protocol.h"

namespace egpu::inject {

struct StopTime {
  uint32_t thread_count;
  uint64_t stopped_us;  // from the first thread's stop to the last one's release
};

/// Hooks with ok = 1 get written = 1; one whose entry no longer holds the original bytes gets
/// ok = 0. Error: the threads could not all be stopped, or memory not be written; then no hook
/// is left behind.
Result<StopTime> write_hooks(pid_t pid, const std::vector<session::EntryPoint> &entries,
                             std::vector<session::Hook> &hooks);

}  // namespace egpu::inject
