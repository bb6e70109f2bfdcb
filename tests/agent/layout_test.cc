// Our declarations of the driver API against cuda.h, where there is one.
#include <gtest/gtest.h>

#include "lib/loader/driver/cuda_api.h"

#if __has_include(<cuda.h>)
#  include <cuda.h>

namespace {
namespace ours = egpu::driver;

#  define SAME_SIZE(name) static_assert(sizeof(ours::name) == sizeof(::name))
#  define SAME_OFFSET(type, member) static_assert(offsetof(ours::type, member) == offsetof(::type, member))
SAME_SIZE(CUresult);
SAME_SIZE(CUdevice);
SAME_SIZE(CUdeviceptr);
SAME_SIZE(CUlaunchAttribute);
SAME_OFFSET(CUlaunchAttribute, value);
SAME_SIZE(CUlaunchConfig);
SAME_OFFSET(CUlaunchConfig, sharedMemBytes);
SAME_OFFSET(CUlaunchConfig, hStream);
SAME_OFFSET(CUlaunchConfig, attrs);
SAME_OFFSET(CUlaunchConfig, numAttrs);
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS_v1);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v1, extra);
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS_v2);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v2, extra);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_OFFSET(CUDA_KERNEL_NODE_PARAMS_v2, ctx);
#  if CUDA_VERSION >= 12030
static_assert(sizeof(::CUDA_KERNEL_NODE_PARAMS_v3) == sizeof(ours::CUDA_KERNEL_NODE_PARAMS_v2));
SAME_SIZE(CUgraphNodeParams);
SAME_OFFSET(CUgraphNodeParams, kernel);
SAME_OFFSET(CUgraphNodeParams, reserved2);
#  endif

TEST(Layout, ValuesAreThoseOfCudaH) {
  struct Value {
    const char *name;
    long ours, theirs;
  };
#  define ROW(ours, theirs) {#theirs, static_cast<long>(ours), (long)(theirs)}
  const Value values[] = {
      ROW(ours::kSuccess, CUDA_SUCCESS),
      ROW(ours::kInvalidValue, CUDA_ERROR_INVALID_VALUE),
      ROW(ours::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY),
      ROW(ours::kDeinitialized, CUDA_ERROR_DEINITIALIZED),
      ROW(ours::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT),
      ROW(ours::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE),
      ROW(ours::kNotFound, CUDA_ERROR_NOT_FOUND),
      ROW(ours::kNotReady, CUDA_ERROR_NOT_READY),
      ROW(ours::kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
      ROW(ours::kDeviceMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
      ROW(ours::kDeviceComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
      ROW(ours::kDeviceComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
      ROW(ours::kFuncMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
      ROW(ours::kFuncPreferredCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
      ROW(ours::kFuncRequiredClusterWidth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
      ROW(ours::kFuncRequiredClusterHeight, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
      ROW(ours::kFuncRequiredClusterDepth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
      ROW(ours::kFuncNonPortableClusterSize, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
      ROW(ours::kFuncClusterSchedulingPolicy, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
      ROW(ours::kJitInfoLogBuffer, CU_JIT_INFO_LOG_BUFFER),
      ROW(ours::kJitInfoLogBufferSize, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES),
      ROW(ours::kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER),
      ROW(ours::kJitErrorLogBufferSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES),
      ROW(ours::kJitInputPtx, CU_JIT_INPUT_PTX),
      ROW(ours::kStreamNonBlocking, CU_STREAM_NON_BLOCKING),
      ROW(ours::kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE),
      ROW(ours::kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED),
      ROW(ours::kGraphNodeKernel, CU_GRAPH_NODE_TYPE_KERNEL),
      ROW(ours::kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE),
      ROW(ours::kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP),
      ROW(ours::kLaunchParamEnd, CU_LAUNCH_PARAM_END),
      ROW(ours::kLaunchParamBufferPointer, CU_LAUNCH_PARAM_BUFFER_POINTER),
      ROW(ours::kLaunchParamBufferSize, CU_LAUNCH_PARAM_BUFFER_SIZE),
  };
  for (const Value &value : values) EXPECT_EQ(value.ours, value.theirs) << value.name;
}
}  // namespace
#else
TEST(Layout, ValuesAreThoseOfCudaH) { GTEST_SKIP() << "no cuda.h here"; }
#endif
