// The CUDA driver's entry points that eGPU calls or hooks, as function pointers.
//
// resolve() fills the table by dlsym from a libcuda.so.1 that is loaded already (or, if
// `load` is set, loads it). Rows are the ABI names that the library exports, so versions
// (_v2) and stream twins (_ptsz: NULL is the thread's own default stream) are rows of their
// own. A row marked optional is null where the driver is too old to have it.
// The agent overwrites the pointer of an entry point that it hooks by the trampoline to the
// original code: calls made through this table are never seen by the hooks.
// Source of the prototypes: CUDA Driver API manual 13.0. libc only, no exceptions.
#pragma once
#include "lib/loader/driver/cuda_api.h"

namespace egpu::driver {

struct CUgraphEdgeData;

// X(name, parameters, required)
#define EGPU_LAUNCH_ARGS                                                                       \
  (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
   unsigned shared, CUstream stream, void **params, void **extra)
#define EGPU_COOPERATIVE_ARGS                                                                  \
  (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
   unsigned shared, CUstream stream, void **params)

#define EGPU_DRIVER_FUNCTIONS(X)                                                                             \
  /* launches */                                                                                             \
  X(cuLaunchKernel, EGPU_LAUNCH_ARGS, 1)                                                                     \
  X(cuLaunchKernel_ptsz, EGPU_LAUNCH_ARGS, 0)                                                                \
  X(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra), 0)          \
  X(cuLaunchKernelEx_ptsz, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra), 0)     \
  X(cuLaunchCooperativeKernel, EGPU_COOPERATIVE_ARGS, 0)                                                     \
  X(cuLaunchCooperativeKernel_ptsz, EGPU_COOPERATIVE_ARGS, 0)                                                \
  /* kernel nodes of graphs */                                                                               \
  X(cuGraphAddKernelNode,                                                                                    \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                       \
     const CUDA_KERNEL_NODE_PARAMS_v1 *params),                                                              \
    0)                                                                                                       \
  X(cuGraphAddKernelNode_v2,                                                                                 \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                       \
     const CUDA_KERNEL_NODE_PARAMS_v2 *params),                                                              \
    0)                                                                                                       \
  X(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params), 0)             \
  X(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params), 0)          \
  X(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 * params), 0)                  \
  X(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 * params), 0)               \
  X(cuGraphExecKernelNodeSetParams,                                                                          \
    (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params), 0)                       \
  X(cuGraphExecKernelNodeSetParams_v2,                                                                       \
    (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params), 0)                       \
  X(cuGraphAddNode,                                                                                          \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                       \
     CUgraphNodeParams *params),                                                                             \
    0)                                                                                                       \
  X(cuGraphAddNode_v2,                                                                                       \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,       \
     size_t count, CUgraphNodeParams *params),                                                               \
    0)                                                                                                       \
  X(cuGraphNodeSetParams, (CUgraphNode node, CUgraphNodeParams * params), 0)                                 \
  X(cuGraphExecNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams * params), 0)           \
  /* modules and libraries */                                                                                \
  X(cuModuleLoad, (CUmodule * module, const char *path), 0)                                                  \
  X(cuModuleLoadData, (CUmodule * module, const void *image), 1)                                             \
  X(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned count, int *options, void **values), \
    0)                                                                                                       \
  X(cuModuleLoadFatBinary, (CUmodule * module, const void *image), 0)                                        \
  X(cuModuleUnload, (CUmodule module), 1)                                                                    \
  X(cuModuleGetFunction, (CUfunction * f, CUmodule module, const char *name), 1)                             \
  X(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *name), 1)      \
  X(cuLibraryLoadData,                                                                                       \
    (CUlibrary * library, const void *code, int *jit_options, void **jit_values, unsigned jit_count,         \
     int *options, void **values, unsigned count),                                                           \
    0)                                                                                                       \
  X(cuLibraryLoadFromFile,                                                                                   \
    (CUlibrary * library, const char *path, int *jit_options, void **jit_values, unsigned jit_count,         \
     int *options, void **values, unsigned count),                                                           \
    0)                                                                                                       \
  X(cuLibraryUnload, (CUlibrary library), 0)                                                                 \
  X(cuLibraryGetGlobal, (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name), 0)      \
  X(cuLibraryGetManaged, (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name), 0)     \
  X(cuLibraryGetModule, (CUmodule * module, CUlibrary library), 0)                                           \
  X(cuLinkCreate_v2, (unsigned count, int *options, void **values, CUlinkState *state), 1)                   \
  X(cuLinkAddData_v2,                                                                                        \
    (CUlinkState state, int type, void *data, size_t bytes, const char *name, unsigned count, int *options,  \
     void **values),                                                                                         \
    1)                                                                                                       \
  X(cuLinkComplete, (CUlinkState state, void **cubin, size_t *bytes), 1)                                     \
  X(cuLinkDestroy, (CUlinkState state), 1)                                                                   \
  /* functions and kernels */                                                                                \
  X(cuFuncGetName, (const char **name, CUfunction f), 0)                                                     \
  X(cuFuncGetModule, (CUmodule * module, CUfunction f), 0)                                                   \
  X(cuFuncGetAttribute, (int *value, int attribute, CUfunction f), 1)                                        \
  X(cuFuncLoad, (CUfunction f), 0)                                                                           \
  X(cuFuncSetAttribute, (CUfunction f, int attribute, int value), 1)                                         \
  X(cuFuncSetCacheConfig, (CUfunction f, int config), 0)                                                     \
  X(cuFuncSetSharedMemConfig, (CUfunction f, int config), 0)                                                 \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                              \
    (int *blocks, CUfunction f, int threads, size_t shared_bytes), 0)                                        \
  X(cuKernelGetName, (const char **name, CUkernel kernel), 0)                                                \
  X(cuKernelGetLibrary, (CUlibrary * library, CUkernel kernel), 0)                                           \
  X(cuKernelGetFunction, (CUfunction * f, CUkernel kernel), 0)                                               \
  X(cuKernelGetAttribute, (int *value, int attribute, CUkernel kernel, CUdevice device), 0)                  \
  X(cuKernelSetAttribute, (int attribute, int value, CUkernel kernel, CUdevice device), 0)                   \
  X(cuKernelSetCacheConfig, (CUkernel kernel, int config, CUdevice device), 0)                               \
  /* devices and contexts */                                                                                 \
  X(cuDriverGetVersion, (int *version), 1)                                                                   \
  X(cuDeviceGetName, (char *name, int bytes, CUdevice device), 1)                                            \
  X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device), 1)                                   \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), 1)                                     \
  X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active), 0)                          \
  X(cuDevicePrimaryCtxRelease, (CUdevice device), 0)                                                         \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device), 0)                                                      \
  X(cuDevicePrimaryCtxReset, (CUdevice device), 0)                                                           \
  X(cuDevicePrimaryCtxReset_v2, (CUdevice device), 0)                                                        \
  X(cuCtxDestroy, (CUcontext context), 0)                                                                    \
  X(cuCtxDestroy_v2, (CUcontext context), 0)                                                                 \
  X(cuCtxGetCurrent, (CUcontext * context), 1)                                                               \
  X(cuCtxSetCurrent, (CUcontext context), 1)                                                                 \
  X(cuCtxGetDevice, (CUdevice * device), 1)                                                                  \
  X(cuCtxSynchronize, (), 1)                                                                                 \
  X(cuGetErrorName, (CUresult error, const char **name), 0)                                                  \
  /* streams and memory */                                                                                   \
  X(cuThreadExchangeStreamCaptureMode, (int *mode), 0)                                                       \
  X(cuStreamCreate, (CUstream * stream, unsigned flags), 1)                                                  \
  X(cuStreamDestroy_v2, (CUstream stream), 1)                                                                \
  X(cuStreamSynchronize, (CUstream stream), 1)                                                               \
  X(cuStreamQuery, (CUstream stream), 1)                                                                     \
  X(cuStreamIsCapturing, (CUstream stream, int *status), 0)                                                  \
  X(cuStreamIsCapturing_ptsz, (CUstream stream, int *status), 0)                                             \
  X(cuStreamBeginCapture, (CUstream stream), 0)                                                              \
  X(cuStreamBeginCapture_ptsz, (CUstream stream), 0)                                                         \
  X(cuStreamBeginCapture_v2, (CUstream stream, int mode), 0)                                                 \
  X(cuStreamBeginCapture_v2_ptsz, (CUstream stream, int mode), 0)                                            \
  X(cuStreamBeginCaptureToGraph,                                                                             \
    (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,          \
     size_t count, int mode),                                                                                \
    0)                                                                                                       \
  X(cuStreamBeginCaptureToGraph_ptsz,                                                                        \
    (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,          \
     size_t count, int mode),                                                                                \
    0)                                                                                                       \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph), 0)                                               \
  X(cuStreamEndCapture_ptsz, (CUstream stream, CUgraph * graph), 0)                                          \
  X(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes), 1)                                                 \
  X(cuMemFree_v2, (CUdeviceptr address), 1)                                                                  \
  X(cuMemHostAlloc, (void **address, size_t bytes, unsigned flags), 0)                                       \
  X(cuMemFreeHost, (void *address), 0)                                                                       \
  X(cuMemsetD8Async, (CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream), 1)           \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream), 1)              \
  X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), 1)

struct Driver {
#define EGPU_MEMBER(name, parameters, required) CUresult(*name) parameters = nullptr;
  EGPU_DRIVER_FUNCTIONS(EGPU_MEMBER)
#undef EGPU_MEMBER

  /// Null if every required row was found, else the name of what is missing.
  const char *resolve(bool load);
};

}  // namespace egpu::driver
