// Functions on the running state (exec.h): paths and joins, frames, blocks, barriers, clusters,
// faults, and the slow path of memory accesses.
#pragma once
#include <string>

#include "lib/sim/machine/exec.h"

namespace egpu::sim {

// --- path.cc: paths and joins ---
struct Way {
  uint32_t lanes, pc;
};
/// The current path's lanes go these ways and meet at `join_pc` of the frame (kNone: at its end).
void diverge(Exec &x, const Way *ways, size_t count, uint32_t join_pc);
/// Makes `lanes` of the current path a path of their own; both go on at x.pc and meet there.
/// All lanes: the current path. Leaves the loop.
Path *split(Exec &x, uint32_t lanes);
/// At a leader, of the operation at x.pc: joins or merges. False if the path must be left.
bool arrive(Exec &x);
Path *new_path(Exec &x, Warp &warp);
void remove_path(Exec &x, Warp &warp, Path *path);
void drop_paths(Exec &x, Warp &warp);
void set_ready(Warp &warp, Path &path);
/// Merges ready paths of the warp that are at the same place.
void merge_ready(Exec &x, Warp &warp);
Join *new_join(Exec &x);
/// All its lanes have come or will never come.
void release(Exec &x, Warp &warp, Join *join, uint32_t slices);
/// `lanes` no longer come to the joins from `from` up to, not including, `until`.
void leave_joins(Exec &x, Warp &warp, Join *from, const Join *until, uint32_t lanes, uint32_t slices);
/// Lanes wait at joins for lanes that spin for them: they go ahead.
void release_waiting(Exec &x, Warp &warp, Path *path);

// --- frame.cc: calls, returns and the end of lanes ---
Frame *new_frame(Exec &x, const Function &function);
/// Makes the path's frame the one that handlers see.
void enter_frame(Exec &x, Frame *frame);
void call_function(Exec &x, const CallSite &site, const Function &target, uint32_t lanes);
void return_lanes(Exec &x, uint32_t lanes);
void exit_lanes(Exec &x, uint32_t lanes);

// --- together.cc ---
/// Waits until all live lanes of each lane's member mask have come here; see Together.
void do_together(Exec &x, const Op &op, uint32_t lanes, const Together &what);
/// Groups that wait in the same operation with the same members, and are complete now, go on.
void check_together(Exec &x, Warp &warp);

// --- schedule.cc ---
inline constexpr uint32_t kSlice = 2048;  // steps before another path of the warp runs
void run_warp(Exec &x, Warp &warp, uint32_t steps);

// --- block.cc: blocks and their barriers ---
/// `ctaid`: 3 coordinates.
void start_block(Exec &x, Block &block, Grid &grid, const uint32_t *ctaid);
/// Runs about `steps` warp steps, fewer if nothing in the block can run.
void run_block(Exec &x, Block &block, uint64_t steps);
/// The current path's lanes wait at barrier `id`.
void wait_at(Exec &x, const Op &op, uint32_t lanes, uint32_t id);
void barrier_wait(Exec &x, const Op &op, uint32_t lanes, uint32_t id, uint32_t count, uint32_t true_lanes);
void barrier_arrive(Exec &x, uint32_t lanes, uint32_t id, uint32_t count);
void check_barriers(Exec &x, Block &block);

// --- cluster.cc: blocks that run together ---
void start_cluster(Exec &x, Cluster &cluster, Grid &grid, uint64_t number);
/// Runs each block about `steps` warp steps; false: none could run.
bool run_cluster(Exec &x, Cluster &cluster, uint64_t steps);
void cluster_arrive(Exec &x, uint32_t lanes);
void cluster_wait(Exec &x, const Op &op, uint32_t lanes);
/// `lanes` of the current warp have exited.
void leave_cluster(Exec &x, uint32_t lanes);

// --- fault.cc ---
/// Stops the grid. `lane` is the thread to name; the operation is the one before x.pc.
void raise(Exec &x, Fault::Kind kind, uint32_t lane, const std::string &cause);
void raise_block(Block &block, Fault::Kind kind, const std::string &cause);
/// "ptx:41 (a.cu:12)"
std::string place_of(const Program &program, const Function &function, uint32_t pc);

// --- access.cc: slow path of memory accesses ---
enum class Access : uint8_t { read, write, update };
/// Host address of `bytes` bytes at `address`, or nullptr after having raised the fault.
uint8_t *resolve(Exec &x, Space space, uint64_t address, uint32_t bytes, uint32_t align, uint32_t lane,
                 Access access = Access::read);

}  // namespace egpu::sim
