// From a launch call's arguments to KernelWork: every check that the driver makes before a
// launch is accepted, and the parameters packed.
#pragma once
#include "lib/sim/driver/module.h"
#include "lib/sim/driver/work.h"

namespace egpu::sim {

/// kInvalidHandle, kInvalidValue, kCooperativeLaunchTooLarge, kInvalidClusterSize, as cuLaunchKernelEx. Takes
/// a CUfunction or a CUkernel.
Status prepare_launch(Context &context, const KernelNodeParams &params,
                      std::vector<CUlaunchAttribute> attributes, KernelWork *work);

/// Blocks of this size that one SM holds at a time.
int blocks_per_sm(const LoadedFunction &function, int threads, size_t dynamic_shared_bytes);

}  // namespace egpu::sim
