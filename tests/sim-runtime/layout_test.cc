// The runtime's own declarations against the toolkit's, where it is installed.
#include <cstdio>

#ifndef EGPU_HAVE_CUDA_RUNTIME_API_H
int main() {
  std::puts("skipped: no cuda_runtime_api.h");
  return 77;
}
#else
#  include <cuda_runtime_api.h>

#  include "lib/sim/runtime/api.h"

namespace rt = egpu::rt;

#  define SAME_SIZE(ours, theirs) static_assert(sizeof(rt::ours) == sizeof(theirs))
#  define SAME_PLACE(ours, field, theirs, their_field) \
    static_assert(offsetof(rt::ours, field) == offsetof(theirs, their_field))

SAME_SIZE(Dim3, dim3);
SAME_SIZE(Extent, cudaExtent);
SAME_SIZE(Position, cudaPos);
SAME_SIZE(PitchedPointer, cudaPitchedPtr);
SAME_SIZE(Copy3DParameters, cudaMemcpy3DParms);
SAME_PLACE(Copy3DParameters, to_array, cudaMemcpy3DParms, dstArray);
SAME_PLACE(Copy3DParameters, to, cudaMemcpy3DParms, dstPtr);
SAME_PLACE(Copy3DParameters, kind, cudaMemcpy3DParms, kind);
SAME_SIZE(PeerCopy3DParameters, cudaMemcpy3DPeerParms);
SAME_PLACE(PeerCopy3DParameters, from_device, cudaMemcpy3DPeerParms, srcDevice);
SAME_PLACE(PeerCopy3DParameters, to, cudaMemcpy3DPeerParms, dstPtr);
SAME_PLACE(PeerCopy3DParameters, extent, cudaMemcpy3DPeerParms, extent);
SAME_SIZE(NodeParameters, cudaGraphNodeParams);
SAME_PLACE(NodeParameters, kernel, cudaGraphNodeParams, kernel);
SAME_SIZE(CopyNode, cudaMemcpyNodeParams);
SAME_PLACE(CopyNode, copy, cudaMemcpyNodeParams, copyParams);
SAME_SIZE(Location, cudaMemLocation);
SAME_SIZE(ChannelFormat, cudaChannelFormatDesc);
SAME_SIZE(LaunchConfig, cudaLaunchConfig_t);
SAME_PLACE(LaunchConfig, stream, cudaLaunchConfig_t, stream);
SAME_PLACE(LaunchConfig, attribute_count, cudaLaunchConfig_t, numAttrs);
static_assert(sizeof(egpu::sim::CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
SAME_SIZE(KernelNode, cudaKernelNodeParams);
SAME_PLACE(KernelNode, parameters, cudaKernelNodeParams, kernelParams);
static_assert(sizeof(egpu::sim::MemsetNodeParams) == sizeof(cudaMemsetParams));
static_assert(sizeof(egpu::sim::HostNodeParams) == sizeof(cudaHostNodeParams));
SAME_SIZE(PointerAttributes, cudaPointerAttributes);
SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(FunctionAttributes, cudaFuncAttributes);
SAME_PLACE(FunctionAttributes, max_threads, cudaFuncAttributes, maxThreadsPerBlock);
SAME_PLACE(FunctionAttributes, cluster_must_be_set, cudaFuncAttributes, clusterDimMustBeSet);
SAME_PLACE(FunctionAttributes, cluster_policy, cudaFuncAttributes, clusterSchedulingPolicyPreference);
SAME_PLACE(FunctionAttributes, non_portable_cluster, cudaFuncAttributes, nonPortableClusterSizeAllowed);
SAME_SIZE(DeviceProperties, cudaDeviceProp);
SAME_PLACE(DeviceProperties, total_bytes, cudaDeviceProp, totalGlobalMem);
SAME_PLACE(DeviceProperties, grid, cudaDeviceProp, maxGridSize);
SAME_PLACE(DeviceProperties, sm_count, cudaDeviceProp, multiProcessorCount);
SAME_PLACE(DeviceProperties, texture_cube, cudaDeviceProp, maxTextureCubemap);
SAME_PLACE(DeviceProperties, surface_alignment, cudaDeviceProp, surfaceAlignment);
SAME_PLACE(DeviceProperties, l2_bytes, cudaDeviceProp, l2CacheSize);
SAME_PLACE(DeviceProperties, shared_per_sm, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME_PLACE(DeviceProperties, cooperative_launch, cudaDeviceProp, cooperativeLaunch);
SAME_PLACE(DeviceProperties, blocks_per_sm, cudaDeviceProp, maxBlocksPerMultiProcessor);
SAME_PLACE(DeviceProperties, memory_pools, cudaDeviceProp, memoryPoolsSupported);
SAME_PLACE(DeviceProperties, cluster_launch, cudaDeviceProp, clusterLaunch);
SAME_PLACE(DeviceProperties, host_numa_ipc, cudaDeviceProp, hostNumaMultinodeIpcSupported);

// Every error of the toolkit's header that is in our table has its number.
#  define X(number, name, text) static_assert(number == name);
#  include "lib/sim/runtime/errors.inc"
#  undef X

int main() { return 0; }
#endif
