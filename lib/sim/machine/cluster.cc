// Clusters: their blocks run in turn on one host thread, and share a barrier of two steps.
// Source: PTX ISA 9.0, 9.7.13.4 "barrier.cluster".
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

uint32_t count_of(uint32_t lanes) { return static_cast<uint32_t>(std::popcount(lanes)); }

// If all threads that have not exited have arrived, a new phase begins.
void check_cluster(Exec &x, Cluster &cluster) {
  uint32_t live = 0;
  for (auto &block : cluster.blocks) live += block->live_threads;
  if (!cluster.arrived || cluster.arrived < live) return;
  cluster.arrived = 0;
  for (auto &block : cluster.blocks)
    for (auto &warp : block->warps) {
      warp->at_cluster = 0;
      bool any = false;
      for (Path *path : warp->paths) {
        if (path->state != Path::at_barrier || path->barrier != kClusterBarrier) continue;
        set_ready(*warp, *path);
        any = true;
      }
      if (any) merge_ready(x, *warp);
    }
}

void arrive_row(Exec &x, const Op &, uint32_t mask) { cluster_arrive(x, mask); }

// The address in the memory of another block; generic ones keep their window.
template <class T>
void map_address(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  const uint32_t *ranks = x.at<uint32_t>(op.b);
  constexpr T kOffset = (T{1} << kRankShift) - 1;
  store_lanes<T>(x, op.d, mask, [&](int l) {
    T window = sizeof(T) == 8 ? static_cast<T>(a[l] & static_cast<T>(kWindowMask)) : T{0};
    return static_cast<T>(window | (a[l] & kOffset) | (static_cast<T>(ranks[l] % 128 + 1) << kRankShift));
  });
}

template <class T>
void rank_of_address(Exec &x, const Op &op, uint32_t mask) {
  T a[kLanes];
  std::memcpy(a, x.at<T>(op.a), sizeof a);
  store_lanes<uint32_t>(x, op.d, mask, [&](int l) {
    uint32_t tag = static_cast<uint32_t>(a[l] >> kRankShift) & 255;
    return tag ? tag - 1 : x.block->rank;
  });
}

constexpr Row kRows[] = {
    {"cluster.arrive", arrive_row},
    {"cluster.wait", cluster_wait},
    {"mapa.4", map_address<uint32_t>},
    {"mapa.8", map_address<uint64_t>},
    {"getctarank.4", rank_of_address<uint32_t>},
    {"getctarank.8", rank_of_address<uint64_t>},
};
}  // namespace

Rows cluster_rows() { return {kRows, std::size(kRows)}; }

void cluster_arrive(Exec &x, uint32_t lanes) {
  if (uint32_t again = lanes & x.warp->at_cluster)
    return raise(x, Fault::illegal_instruction, static_cast<uint32_t>(std::countr_zero(again)),
                 "arrives twice without a wait");
  x.warp->at_cluster |= lanes;
  x.block->cluster->arrived += count_of(lanes);
  // A new phase may merge the current path with others: leave the loop first.
  x.path->pc = x.pc;
  x.stop = true;
  check_cluster(x, *x.block->cluster);
}

// Lanes whose phase is over, because the last one has arrived, do not wait.
void cluster_wait(Exec &x, const Op &op, uint32_t lanes) {
  if (uint32_t waiting = lanes & x.warp->at_cluster) wait_at(x, op, waiting, kClusterBarrier);
}

void leave_cluster(Exec &x, uint32_t lanes) {
  Cluster &cluster = *x.block->cluster;
  cluster.arrived -= count_of(lanes & x.warp->at_cluster);
  x.warp->at_cluster &= ~lanes;
  check_cluster(x, cluster);
}

void start_cluster(Exec &x, Cluster &cluster, Grid &grid, uint64_t number) {
  const auto &dims = grid.launch->grid;
  const uint32_t *size = grid.cluster;
  cluster.arrived = 0;
  cluster.blocks.resize(size[0] * size[1] * size[2]);
  uint64_t x_count = dims[0] / size[0], y_count = dims[1] / size[1];
  uint32_t first[3] = {static_cast<uint32_t>(number % x_count) * size[0],
                       static_cast<uint32_t>(number / x_count % y_count) * size[1],
                       static_cast<uint32_t>(number / x_count / y_count) * size[2]};
  for (uint32_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    auto &block = cluster.blocks[rank];
    if (!block) block = std::make_unique<Block>();
    block->cluster = &cluster;
    block->rank = rank;
    uint32_t ctaid[3] = {first[0] + rank % size[0], first[1] + rank / size[0] % size[1],
                         first[2] + rank / size[0] / size[1]};
    start_block(x, *block, grid, ctaid);
  }
}

bool run_cluster(Exec &x, Cluster &cluster, uint64_t steps) {
  uint64_t before = x.warp_steps;
  for (auto &block : cluster.blocks)
    if (!block->finished() && !block->grid->stopped) run_block(x, *block, steps);
  return x.warp_steps != before;
}

}  // namespace egpu::sim
