// Maps: zeroed blocks of device memory, and their copies in the snapshot file.
//
// All copies go over the context's own non-blocking stream, so they neither wait for the target's
// kernels nor hold them up. The file is written with pwrite, never through a mapping: a file that
// somebody truncates must not raise SIGBUS in the target.
#pragma once
#include "lib/loader/agent/contexts.h"

namespace egpu::agent {

/// Answers `maps`: allocates, fills from the file, sends `map_blocks`. Takes `fd`.
void make_maps(const session::Maps &maps, const session::MapBlock *blocks, int fd);
/// Copies all maps of a context, which must be current, into its file; sends `snapshot_done`.
void snapshot_context(ContextState *state, bool final);
/// Says that the last snapshot of a context is the final one.
void confirm_final(const ContextState &state);
/// The same for all contexts; says so even if there is nothing to copy.
void snapshot_all(bool final);
/// Writes the consumed position of a printk ring.
void set_ring_tail(const session::RingTail &tail);
/// Allocates the launch slots of a context, which must be current, once.
CUresult make_slots(ContextState *state);

}  // namespace egpu::agent
