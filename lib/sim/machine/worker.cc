#include "lib/sim/machine/worker.h"

#include <cstdio>

#include "lib/sim/machine/schedule.h"

namespace egpu::sim {
namespace {

// Steps after which a cluster that has not ended gets company, and those that a resident one
// gets in turn.
constexpr uint64_t kPatience = 1u << 19, kTurn = 1u << 14;
constexpr size_t kMaxResident = 64;

// Who waits where, in a cluster in which nobody can run.
std::string describe_wait(const Cluster &cluster) {
  std::string text = "deadlock:";
  for (const auto &block : cluster.blocks)
    for (const auto &warp : block->warps)
      for (const Path *path : warp->paths) {
        char lanes[16];
        std::snprintf(lanes, sizeof lanes, "0x%08x", path->mask);
        if (text.size() > 400) return text + " ...";
        if (cluster.blocks.size() > 1) text += " rank " + std::to_string(block->rank);
        text += " warp " + std::to_string(warp->index) + " lanes " + lanes + " at " +
                place_of(*block->grid->program, *path->frame->function, path->pc ? path->pc - 1 : 0) + " " +
                std::string(path->frame->function->sites[path->pc ? path->pc - 1 : 0].text) + ";";
      }
  return text;
}

// The block to name: the first one that has not ended.
Block &first_waiting(Cluster &cluster) {
  for (auto &block : cluster.blocks)
    if (!block->finished()) return *block;
  return *cluster.blocks.front();
}

// The next cluster of the grid, started; nullptr: there is none.
std::unique_ptr<Cluster> next_cluster(Worker &worker, Grid &grid) {
  uint64_t next = grid.next_cluster.load();
  while (next < grid.cluster_count && !grid.next_cluster.compare_exchange_weak(next, next + 1)) {
  }
  if (next >= grid.cluster_count) return nullptr;
  std::unique_ptr<Cluster> cluster;
  if (worker.clusters.empty()) {
    cluster = std::make_unique<Cluster>();
  } else {
    cluster = std::move(worker.clusters.back());
    worker.clusters.pop_back();
  }
  start_cluster(worker.exec, *cluster, grid, next);
  return cluster;
}
}  // namespace

void run_grid(Worker &worker, Grid &grid) {
  Exec &x = worker.exec;
  std::vector<std::unique_ptr<Cluster>> resident;
  size_t limit = grid.launch->cooperative ? SIZE_MAX : 1;
  uint64_t patience = 0;
  x.generation = 0;
  x.warp_steps = x.lane_steps = 0;
  while (!grid.stopped) {
    while (resident.size() < limit) {
      std::unique_ptr<Cluster> cluster = next_cluster(worker, grid);
      if (!cluster) break;
      resident.push_back(std::move(cluster));
    }
    if (resident.empty()) break;
    uint64_t before = x.warp_steps;
    for (size_t i = 0; i < resident.size() && !grid.stopped;) {
      bool alone = resident.size() == 1 && limit == 1 && resident[i]->blocks.size() == 1;
      if (!run_cluster(x, *resident[i], alone ? kPatience : kTurn))
        raise_block(first_waiting(*resident[i]), Fault::deadlock, describe_wait(*resident[i]));
      if (resident[i]->finished()) {
        worker.clusters.push_back(std::move(resident[i]));
        resident.erase(resident.begin() + static_cast<ptrdiff_t>(i));
        patience = 0;
      } else {
        ++i;
      }
    }
    patience += x.warp_steps - before;
    if (patience >= (limit == 1 ? kPatience : kTurn * limit * 4) && limit < kMaxResident) {
      ++limit;
      patience = 0;
    } else if (resident.empty() && limit != SIZE_MAX) {
      limit = 1;
    }
  }
  grid.warp_steps += x.warp_steps;
  grid.lane_steps += x.lane_steps;
}

}  // namespace egpu::sim
