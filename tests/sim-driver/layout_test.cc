// Our declarations against NVIDIA's cuda.h, where it is installed.
#include <gtest/gtest.h>

#include "lib/sim/driver/api.h"

#ifdef EGPU_HAVE_CUDA_H
#  include <cuda.h>

namespace sim = egpu::sim;

#  define SAME_PLACE(ours, mine, theirs, field)                           \
    static_assert(offsetof(sim::ours, mine) == offsetof(theirs, field) && \
                  sizeof(sim::ours::mine) == sizeof(theirs::field))
#  define SAME_SIZE(ours, theirs) static_assert(sizeof(sim::ours) == sizeof(theirs))
#  define SAME_VALUE(ours, theirs) \
    static_assert(static_cast<long long>(sim::ours) == static_cast<long long>(theirs))

#  define X(number, name, constant, text) SAME_VALUE(constant, name);
#  include "lib/sim/driver/status.inc"
#  undef X

SAME_SIZE(CUlaunchConfig, CUlaunchConfig);
SAME_PLACE(CUlaunchConfig, hStream, CUlaunchConfig, hStream);
SAME_PLACE(CUlaunchConfig, numAttrs, CUlaunchConfig, numAttrs);
SAME_SIZE(CUlaunchAttribute, CUlaunchAttribute);
SAME_PLACE(CUlaunchAttribute, value, CUlaunchAttribute, value);
SAME_SIZE(KernelNodeParamsV1, CUDA_KERNEL_NODE_PARAMS_v1);
SAME_SIZE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2);
SAME_PLACE(KernelNodeParams, kern, CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_SIZE(MemsetNodeParams, CUDA_MEMSET_NODE_PARAMS);
SAME_PLACE(MemsetNodeParams, element_bytes, CUDA_MEMSET_NODE_PARAMS, elementSize);
SAME_PLACE(MemsetNodeParams, height, CUDA_MEMSET_NODE_PARAMS, height);
SAME_SIZE(HostNodeParams, CUDA_HOST_NODE_PARAMS);
SAME_SIZE(CUgraphNodeParams, CUgraphNodeParams);
SAME_SIZE(MemoryOp, CUstreamBatchMemOpParams);
SAME_PLACE(MemoryOp, address, CUstreamBatchMemOpParams, waitValue.address);
SAME_PLACE(MemoryOp, value, CUstreamBatchMemOpParams, writeValue.value64);
SAME_PLACE(MemoryOp, flags, CUstreamBatchMemOpParams, waitValue.flags);
SAME_PLACE(MemoryOp, barrier_flags, CUstreamBatchMemOpParams, memoryBarrier.flags);
SAME_SIZE(MemoryOpNodeParams, CUDA_BATCH_MEM_OP_NODE_PARAMS);
SAME_PLACE(MemoryOpNodeParams, operations, CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray);
SAME_SIZE(GraphExecUpdateResult, CUgraphExecUpdateResultInfo);
SAME_PLACE(GraphExecUpdateResult, error_node, CUgraphExecUpdateResultInfo, errorNode);
SAME_SIZE(GraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_PLACE(GraphInstantiateParams, result, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_SIZE(Copy2D, CUDA_MEMCPY2D);
SAME_PLACE(Copy2D, from_device, CUDA_MEMCPY2D, srcDevice);
SAME_PLACE(Copy2D, to_type, CUDA_MEMCPY2D, dstMemoryType);
SAME_PLACE(Copy2D, to_pitch, CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(Copy2D, height, CUDA_MEMCPY2D, Height);
SAME_SIZE(Copy3D, CUDA_MEMCPY3D);
SAME_PLACE(Copy3D, from_height, CUDA_MEMCPY3D, srcHeight);
SAME_PLACE(Copy3D, to_device, CUDA_MEMCPY3D, dstDevice);
SAME_PLACE(Copy3D, to_height, CUDA_MEMCPY3D, dstHeight);
SAME_PLACE(Copy3D, depth, CUDA_MEMCPY3D, Depth);
SAME_SIZE(ArrayDescriptor2D, CUDA_ARRAY_DESCRIPTOR);
SAME_SIZE(ArrayDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(ArrayDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(Copy3DPeer, CUDA_MEMCPY3D_PEER);
SAME_PLACE(Copy3DPeer, from_context, CUDA_MEMCPY3D_PEER, srcContext);
SAME_PLACE(Copy3DPeer, to_type, CUDA_MEMCPY3D_PEER, dstMemoryType);
SAME_PLACE(Copy3DPeer, depth, CUDA_MEMCPY3D_PEER, Depth);
SAME_SIZE(CopyAttributes, CUmemcpyAttributes);
SAME_PLACE(CopyAttributes, flags, CUmemcpyAttributes, flags);
SAME_VALUE(kSourceDuringCall, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
SAME_SIZE(MemLocation, CUmemLocation);
SAME_SIZE(MemAccess, CUmemAccessDesc);
SAME_PLACE(MemAccess, flags, CUmemAccessDesc, flags);
SAME_SIZE(MemPoolProperties, CUmemPoolProps);
SAME_PLACE(MemPoolProperties, location, CUmemPoolProps, location);
SAME_SIZE(MemoryAllocationNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS);
SAME_PLACE(MemoryAllocationNodeParams, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME_SIZE(Uuid, CUuuid);
SAME_SIZE(DeviceProperties, CUdevprop);
SAME_PLACE(DeviceProperties, clock_khz, CUdevprop, clockRate);

SAME_VALUE(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_VALUE(kMemoryUnified, CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(kJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(kJitInfoLogBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(kJitPtx, CU_JIT_INPUT_PTX);
SAME_VALUE(kJitFatbin, CU_JIT_INPUT_FATBINARY);
SAME_VALUE(kLaunchCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(kLaunchPriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
SAME_VALUE(kLaunchClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_VALUE(kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(kClusterPolicy, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
SAME_VALUE(kFunctionAttributeCount, CU_FUNC_ATTRIBUTE_MAX);
SAME_VALUE(kNodeEventRecord, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
SAME_VALUE(kNodeMemoryAllocation, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME_VALUE(kNodeMemoryFree, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME_VALUE(kNodeMemoryOps, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);

TEST(Layout, IsTheToolkits) { SUCCEED() << "compared at compile time"; }
#else
TEST(Layout, IsTheToolkits) { GTEST_SKIP() << "no cuda.h here to compare with"; }
#endif
