#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {
// All whom the barrier waits for have come.
void open_barrier(Exec &x, Block &block, uint32_t id) {
  Barrier &barrier = block.barriers[id];
  uint32_t arrived = barrier.arrived, true_count = barrier.true_count;
  barrier = {};
  Frame *frame = x.frame;
  for (auto &warp : block.warps) {
    bool any = false;
    for (Path *path : warp->paths) {
      if (path->state != Path::at_barrier || path->barrier != id) continue;
      any = true;
      const Op &op = *path->op;
      if (op.x >= 2) {
        enter_frame(x, path->frame);
        if (op.x == 2)
          store_lanes<uint32_t>(x, op.d, path->mask, [&](int) { return true_count; });
        else
          set_predicate(x, op.d, path->mask, (op.x == 3 ? true_count == arrived : true_count > 0) ? kAll : 0);
      }
      set_ready(*warp, *path);
    }
    if (any) merge_ready(x, *warp);
  }
  if (frame) enter_frame(x, frame);
}

void check_barrier(Exec &x, Block &block, uint32_t id) {
  Barrier &barrier = block.barriers[id];
  if (!barrier.arrived) return;
  uint32_t expected = barrier.expected ? barrier.expected : block.live_threads;
  if (barrier.arrived >= expected) open_barrier(x, block, id);
}

void map_local(Exec &x, Block &block, uint64_t size) {
  if (block.local_size >= size) return;
  if (block.local) munmap(block.local, block.local_size);
  void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  block.local = at == MAP_FAILED ? nullptr : static_cast<uint8_t *>(at);
  block.local_size = block.local ? size : 0;
  if (!block.local)
    raise_block(block, Fault::illegal_address,
                "no host memory for " + std::to_string(size) + " bytes of local memory");
  (void)x;
}
}  // namespace

Block::~Block() {
  if (local) munmap(local, local_size);
}

void wait_at(Exec &x, const Op &op, uint32_t lanes, uint32_t id) {
  Path *path = split(x, lanes);
  path->state = Path::at_barrier;
  path->barrier = id;
  path->op = &op;
  --x.warp->ready_count;
}

void barrier_wait(Exec &x, const Op &op, uint32_t lanes, uint32_t id, uint32_t count, uint32_t true_lanes) {
  wait_at(x, op, lanes, id);
  Barrier &barrier = x.block->barriers[id];
  barrier.arrived += static_cast<uint32_t>(std::popcount(lanes));
  barrier.true_count += static_cast<uint32_t>(std::popcount(true_lanes & lanes));
  if (count) barrier.expected = count;
  check_barrier(x, *x.block, id);
}

void barrier_arrive(Exec &x, uint32_t lanes, uint32_t id, uint32_t count) {
  Barrier &barrier = x.block->barriers[id];
  barrier.arrived += static_cast<uint32_t>(std::popcount(lanes));
  if (count) barrier.expected = count;
  // Opening may merge the current path with others: leave the loop first.
  x.path->pc = x.pc;
  x.stop = true;
  check_barrier(x, *x.block, id);
}

void check_barriers(Exec &x, Block &block) {
  for (uint32_t id = 0; id < std::size(block.barriers); ++id) check_barrier(x, block, id);
}

void start_block(Exec &x, Block &block, Grid &grid, const uint32_t *ctaid) {
  const auto &dims = grid.launch->grid;
  const auto &size = grid.launch->block;
  block.grid = &grid;
  std::copy(ctaid, ctaid + 3, block.ctaid);
  block.linear = ctaid[0] + dims[0] * (ctaid[1] + uint64_t{dims[1]} * ctaid[2]);
  block.smid = static_cast<uint32_t>(block.linear % std::max(grid.config->sm_count, 1u));
  block.live_threads = grid.threads;
  block.shared_bytes = grid.shared_bytes;
  block.shared.assign((grid.shared_bytes + 7) / 8 + 2, 0);
  block.written.assign(grid.config->check_shared ? grid.shared_bytes : 0, false);
  for (Barrier &barrier : block.barriers) barrier = {};
  block.random.seed(grid.config->seed * 0x9E3779B97F4A7C15u + block.linear);
  block.clock = 0;
  block.turn = grid.config->seed ? block.random() % std::max(grid.warps, 1u) : 0;
  map_local(x, block, uint64_t{grid.warps} * 32 * grid.local_stride);
  block.warps.resize(grid.warps);
  for (uint32_t w = 0; w < grid.warps; ++w) {
    if (!block.warps[w]) block.warps[w] = std::make_unique<Warp>();
    Warp &warp = *block.warps[w];
    drop_paths(x, warp);
    warp.block = &block;
    warp.index = w;
    warp.at_cluster = 0;
    uint32_t count = std::min(32u, grid.threads - w * 32);
    warp.live = count == 32 ? kAll : (1u << count) - 1;
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t thread = w * 32 + l;
      warp.tid[0][l] = thread % size[0];
      warp.tid[1][l] = thread / size[0] % size[1];
      warp.tid[2][l] = thread / size[0] / size[1];
    }
    Path *path = new_path(x, warp);
    path->mask = warp.live;
    path->frame = new_frame(x, *grid.function);
  }
}

void run_block(Exec &x, Block &block, uint64_t steps) {
  x.block = &block;
  x.grid = block.grid;
  x.shared = reinterpret_cast<uint8_t *>(block.shared.data());
  x.shared_bytes = block.shared_bytes;
  x.unchecked_shared_bytes = block.written.empty() ? block.shared_bytes : 0;
  x.local_stride = block.grid->local_stride;
  x.traced = block.grid->trace != nullptr;
  uint64_t seed = block.grid->config->seed, end = x.warp_steps + steps;
  size_t count = block.warps.size();
  while (!block.finished() && x.warp_steps < end && !block.grid->stopped.load(std::memory_order_relaxed)) {
    bool ran = false;
    for (size_t i = 0; i < count && !block.finished(); ++i) {
      Warp &warp = *block.warps[block.turn];
      block.turn = block.turn + 1 < count ? block.turn + 1 : 0;
      if (!warp.ready_count) continue;
      ran = true;
      run_warp(x, warp, seed ? static_cast<uint32_t>(block.random() % 300 + 1) : 512);
      if (seed && block.random() % 8 == 0) block.turn = block.random() % count;
    }
    if (!ran) return;
  }
}

}  // namespace egpu::sim
