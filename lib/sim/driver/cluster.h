// Clusters: which one a launch has, and which ones the device takes.
//
// A kernel's own size (.reqnctapercluster) cannot be changed; one without gets it from the launch's
// attribute, else from the function's attributes. Errors, all at the launch: kInvalidClusterSize where the
// grid is no multiple of it, where it is not the kernel's, or where it has more blocks than are allowed.
// Source: CUDA Driver API, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
// CUDA C++ Programming Guide, "Thread Block Clusters".
#pragma once
#include "lib/sim/driver/module.h"
#include "lib/sim/driver/work.h"

namespace egpu::sim {

/// Fills in launch.cluster of a work whose grid and attributes are there; zeros: no cluster.
Status choose_cluster(const LoadedFunction &function, KernelWork *work);

/// Blocks of a cluster at most: 8, or 16 if the function allows sizes that not all devices take; 0: the
/// device has no clusters.
uint32_t most_cluster_blocks(const LoadedFunction &function);

/// Clusters that the device holds at a time.
int active_clusters(const LoadedFunction &function, const KernelWork &work);

}  // namespace egpu::sim
