// Special registers. Source: PTX ISA 9.0, 10.
#pragma once
#include <cstdint>
#include <string_view>

namespace egpu::sim {

enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  dynamic_smem_size,
  total_smem_size,
  aggr_smem_size,
  envreg1,
  envreg2,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  zero,
  one,
  count,
};

/// Of "%tid.x"; Special::count if there is none of that name.
Special find_special(std::string_view name);

// %globaltimer: nanoseconds of CLOCK_MONOTONIC plus this, so that code that takes one for the
// other is caught.
inline constexpr uint64_t kGlobalTimerOffset = 1'000'003'000'000'007;

}  // namespace egpu::sim
