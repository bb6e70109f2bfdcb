// The part of the CUDA driver API's types that eGPU uses, declared by us.
//
// cuda.h must not be needed to build: the toolkit may be absent. Names are spelled as the
// driver API manual spells them, inside a namespace, so that cuda.h can be included next to
// this file; tests/agent/layout_test.cc then compares every size, offset and value.
// Source: CUDA Driver API manual 13.0, "Data types used by CUDA driver".
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace egpu::driver {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUlibrary = struct CUlib_st *;
using CUfunction = struct CUfunc_st *;
using CUkernel = struct CUkern_st *;
using CUstream = struct CUstream_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUlinkState = struct CUlinkState_st *;

// CUresult
constexpr CUresult kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kDeinitialized = 4,
                   kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600,
                   kCaptureImplicit = 906;

// CUdevice_attribute
constexpr int kDeviceMultiprocessorCount = 16, kDeviceComputeMajor = 75, kDeviceComputeMinor = 76;

// CUfunction_attribute
constexpr int kFuncSharedBytes = 1, kFuncLocalBytes = 3, kFuncRegisters = 4;
constexpr int kFuncMaxDynamicSharedBytes = 8, kFuncPreferredCarveout = 9, kFuncRequiredClusterWidth = 11,
              kFuncRequiredClusterHeight = 12, kFuncRequiredClusterDepth = 13,
              kFuncNonPortableClusterSize = 14, kFuncClusterSchedulingPolicy = 15;

// CUjit_option, CUjitInputType
constexpr int kJitInfoLogBuffer = 3, kJitInfoLogBufferSize = 4, kJitErrorLogBuffer = 5,
              kJitErrorLogBufferSize = 6;
constexpr int kJitInputPtx = 1;

// CUstream_flags, CUstreamCaptureStatus, CUstreamCaptureMode, CUgraphNodeType
constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureNone = 0;
constexpr int kCaptureModeRelaxed = 2;
constexpr int kGraphNodeKernel = 0;

// cuMemHostAlloc
constexpr unsigned kHostAllocPortable = 1, kHostAllocDeviceMap = 2;

// Names in the `extra` array of a launch: each is followed by its value.
constexpr uintptr_t kLaunchParamEnd = 0, kLaunchParamBufferPointer = 1, kLaunchParamBufferSize = 2;

struct CUlaunchAttribute {
  int id;
  char pad[4];
  char value[64];
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
};

// v2 and v3 are the same: kern counts if func is null, ctx then says where to run it.
struct CUDA_KERNEL_NODE_PARAMS_v2 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUgraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
  };
  long long reserved2;
};

}  // namespace egpu::driver
