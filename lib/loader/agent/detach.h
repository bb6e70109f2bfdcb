// Ends of sessions: draining, last snapshots, freeing what nothing can use any more.
#pragma once
#include "lib/loader/agent/contexts.h"

namespace egpu::agent {

/// Back to the target's own kernels: table emptied, hooks gone, memory freed or kept for a later
/// try if a launch may still use it. `answer`: egpu-load is there and gets snapshots and `detached`.
void end_session(bool answer);

/// Waits, bounded, until no redirected launch is between its look-up and its return and the device
/// has finished all work of the context. False: something still runs.
bool drain(ContextState *state, uint64_t deadline_ns);

/// Sets patched modules aside that no entry launches any more, and frees what was set aside, as far
/// as its context has been idle since.
void collect_garbage();
bool has_garbage();
/// Forgets what was set aside in a context that is gone.
void drop_garbage(CUcontext context);

}  // namespace egpu::agent
