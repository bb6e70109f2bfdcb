#include "lib/sim/driver/cluster.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "lib/sim/driver/launch.h"

namespace egpu::sim {
namespace {

using Dimensions = std::array<uint32_t, 3>;

constexpr uint32_t kPortableBlocks = 8, kMostBlocks = 16;
constexpr Dimensions kNone{0, 0, 0};

uint64_t blocks_of(const Dimensions &cluster) { return uint64_t{cluster[0]} * cluster[1] * cluster[2]; }

// By the launch's attributes.
std::optional<Dimensions> asked_cluster(const KernelWork &work) {
  std::optional<Dimensions> asked;
  for (const CUlaunchAttribute &attribute : work.attributes)
    if (attribute.id == kLaunchClusterDimension)
      std::memcpy(&asked.emplace(), attribute.value, sizeof *asked);
  return asked;
}

Dimensions own_cluster(const LoadedFunction &function) {
  Dimensions own;
  for (int i = 0; i < 3; ++i)
    own[static_cast<size_t>(i)] = static_cast<uint32_t>(attribute_value(function, kClusterWidth + i));
  return own;
}

}  // namespace

uint32_t most_cluster_blocks(const LoadedFunction &function) {
  if (function.context.machine().config().compute_major < 9) return 0;
  return attribute_value(function, kNonPortableCluster) ? kMostBlocks : kPortableBlocks;
}

Status choose_cluster(const LoadedFunction &function, KernelWork *work) {
  const std::optional<Dimensions> asked = asked_cluster(*work);
  const Dimensions own = own_cluster(function), cluster = asked.value_or(own);
  work->launch.cluster = cluster;
  if (!asked && own == kNone) return kSuccess;
  const bool is_fixed = function.info.cluster != kNone;
  if (blocks_of(cluster) == 0 || (is_fixed && cluster != own)) return kInvalidClusterSize;
  for (size_t i = 0; i < 3; ++i)
    if (work->launch.grid[i] % cluster[i]) return kInvalidClusterSize;
  const uint32_t most = most_cluster_blocks(function);
  if (most == 0 && blocks_of(cluster) == 1) {  // every block is a cluster of its own
    work->launch.cluster = kNone;
    return kSuccess;
  }
  return blocks_of(cluster) <= most ? kSuccess : kInvalidClusterSize;
}

int active_clusters(const LoadedFunction &function, const KernelWork &work) {
  const auto &block = work.launch.block;
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  const uint64_t blocks = uint64_t{function.context.machine().config().sm_count} *
                          static_cast<uint64_t>(blocks_per_sm(function, static_cast<int>(threads),
                                                              work.launch.dynamic_shared_bytes));
  const uint64_t cluster_blocks = std::max<uint64_t>(1, blocks_of(work.launch.cluster));
  return static_cast<int>(blocks / cluster_blocks);
}

}  // namespace egpu::sim
