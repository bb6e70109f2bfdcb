// The running state of a launch: grid, blocks, warps, paths, joins, frames.
//
// Threads of a warp are independent, as on Volta and later. Lanes that are at the same place
// form a Path (mask, frame, pc); a converged warp has one. A divergent branch makes two paths
// and a Join at the branch's immediate post-dominator (flow.h); a path that reaches its join
// waits there until the join's other lanes have arrived, left the function or exited, and all
// go on as one path. So lanes reconverge where hardware does. Among ready paths the one with the
// deepest frame and then the lowest pc runs, until its slice of steps is used up; then the others
// get theirs, so a path that spins cannot starve the lanes it waits for. If it spins for lanes
// that wait at its own join, the join lets them go ahead (path.cc, release_waiting).
// A call makes a Frame, shared by the lanes that called together, and a Join at the return.
//
// One host thread executes a cluster of blocks at a time (without clusters: one block); one that
// does not end gets company (worker.cc), so that blocks may wait for each other.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "lib/sim/machine/machine.h"
#include "lib/sim/machine/program.h"

namespace egpu::sim {

inline constexpr uint64_t kWindowShift = 56;
inline constexpr uint64_t kSharedWindow = uint64_t{1} << kWindowShift;  // generic addresses
inline constexpr uint64_t kLocalWindow = uint64_t{2} << kWindowShift;
inline constexpr uint64_t kWindowMask = ~uint64_t{0} << kWindowShift;
// An address of shared memory: the offset in the block's own, or, above kRankShift, 1 + the rank
// in the cluster of the block whose memory it is (PTX ISA 9.0, 5.1.7.1: shared::cluster).
inline constexpr uint64_t kRankShift = 24;
inline constexpr uint32_t kMaxClusterBlocks = 16;
inline constexpr uint32_t kMaxDepth = 2000;  // frames of a call chain

struct Frame {
  const Function *function = nullptr;
  std::unique_ptr<uint8_t[]> registers;
  uint32_t capacity = 0;
  uint32_t local_base = 0, local_top = 0;  // of every lane's local memory
  uint32_t depth = 0;
  Frame *caller = nullptr;
};

struct Join {
  uint32_t pc = 0;
  Frame *frame = nullptr;
  Join *outer = nullptr;
  uint32_t pending = 0, arrived = 0;
  Frame *callee = nullptr;  // of a call's join
  const CallSite *call = nullptr;
};

// Operations that lanes do together: publish() stores what the others need into
// Warp::exchange, finish() computes the results of `mask`'s lanes for the group `all`.
struct Together {
  void (*publish)(Exec &x, const Op &op, uint32_t mask);
  void (*finish)(Exec &x, const Op &op, uint32_t mask, uint32_t all);
};

struct Path {
  enum State : uint8_t { ready, at_together, at_barrier } state = ready;
  uint32_t mask = 0, pc = 0;
  Frame *frame = nullptr;
  Join *join = nullptr;
  uint32_t slices = 0;                 // slices used up
  uint32_t steps = 0;                  // of the current slice
  uint32_t spins = 0;                  // spinning operations in the current slice
  const Op *op = nullptr;              // at_together, at_barrier: what it waits in
  const Together *together = nullptr;  // at_together
  uint32_t members = 0;
  uint32_t barrier = 0;  // at_barrier: its number, or kClusterBarrier
};
inline constexpr uint32_t kClusterBarrier = 16;

struct Block;

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0;
  uint32_t live = 0;  // lanes that have not exited
  std::vector<Path *> paths;
  uint32_t ready_count = 0;
  uint32_t at_cluster = 0;  // lanes that have arrived in the current phase of the cluster's barrier
  uint32_t tid[3][32];
  uint64_t exchange[32];
};

struct Barrier {
  uint32_t arrived = 0, expected = 0;  // expected 0: all live threads
  uint32_t true_count = 0;             // bar.red
  bool in_use = false;
};

struct Grid;
struct Cluster;

struct Block {
  Grid *grid = nullptr;
  Cluster *cluster = nullptr;
  uint32_t rank = 0;  // in the cluster
  uint32_t ctaid[3] = {}, smid = 0;
  uint64_t linear = 0;
  uint32_t live_threads = 0;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint64_t> shared;  // as 8-byte words, for alignment
  std::vector<bool> written;     // bytes of it, if reads are checked; else empty
  uint32_t shared_bytes = 0;
  uint8_t *local = nullptr;  // mapped
  uint64_t local_size = 0;
  Barrier barriers[16];
  std::mt19937_64 random;
  uint64_t clock = 0;  // steps of this block, for %clock
  size_t turn = 0;
  Block() = default;
  ~Block();
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  bool finished() const { return live_threads == 0; }
};

// Blocks that are scheduled together, by rank; without clusters one.
struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  uint32_t arrived = 0;  // threads at the barrier, in the current phase
  bool finished() const {
    for (const auto &block : blocks)
      if (!block->finished()) return false;
    return true;
  }
};

// One worker's context: everything a handler needs, and pools.
struct Exec {
  uint8_t *base[2] = {};  // registers, constants
  uint32_t pc = 0;        // of the next operation
  bool stop = false;      // leave the loop: the path changed
  bool watch = false;     // paths may have to be merged at leaders
  bool yield = false;     // let another warp run
  uint32_t spins = 0;
  Path *path = nullptr;
  Frame *frame = nullptr;
  Warp *warp = nullptr;
  Block *block = nullptr;
  Grid *grid = nullptr;
  uint8_t *shared = nullptr, *local = nullptr;  // local: of the warp's lane 0
  uint32_t shared_bytes = 0, local_stride = 0;
  uint32_t unchecked_shared_bytes = 0;  // shared_bytes, or 0 if each access is to be checked
  struct Range {
    uint64_t begin = 0, end = 0;
  } ranges[4];
  uint32_t next_range = 0;
  uint64_t generation = 0;
  uint64_t warp_steps = 0, lane_steps = 0;
  bool traced = false;
  uint64_t trace_addresses[32];
  bool trace_has_addresses = false;

  std::vector<std::unique_ptr<Path>> path_pool;
  std::vector<std::unique_ptr<Join>> join_pool;
  std::vector<std::unique_ptr<Frame>> frame_pool;
  std::vector<Path *> free_paths;
  std::vector<Join *> free_joins;
  std::vector<Frame *> free_frames;

  template <class T>
  T *at(uint32_t ref) {
    return reinterpret_cast<T *>(base[ref >> 31] + (ref & ~kConstantBit));
  }
  uint32_t predicate(uint32_t ref) { return *at<uint32_t>(ref); }
};

// A launch.
struct Grid {
  const Launch *launch = nullptr;
  const Program *program = nullptr;
  const Function *function = nullptr;
  const DeviceConfig *config = nullptr;
  Memory *memory = nullptr;
  Trace *trace = nullptr;
  uint64_t id = 0;
  std::vector<uint64_t> parameters;  // as 8-byte words
  uint32_t parameter_bytes = 0;
  uint32_t shared_bytes = 0, dynamic_shared_bytes = 0;
  uint32_t threads = 0, warps = 0;  // of a block
  uint32_t local_stride = 0;
  uint64_t cluster_count = 0;
  uint32_t cluster[3] = {1, 1, 1};  // blocks
  bool explicit_cluster = false;
  uint64_t workspace = 0;  // of a cooperative launch
  std::atomic<uint64_t> next_cluster{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  bool has_fault = false;
  Fault fault{};
  std::atomic<uint64_t> warp_steps{0}, lane_steps{0};
};

}  // namespace egpu::sim
