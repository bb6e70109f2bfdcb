// The driver's entry points that are hooked: one row each.
//
// A hook is a jump stored over the first bytes of the driver's exported function, so every
// caller is seen, however it found the address (dlsym, cuGetProcAddress, cudart's table). The
// relocated first instructions live in a trampoline; the row's `original` (a member of `cu`)
// is set to it before egpu-load is asked for the code, because in attach mode the first thread
// may come through the hook before the agent's thread runs again.
// Un-hooking stores the original 8 bytes, one aligned store, whatever threads do meanwhile.
#pragma once
#include <type_traits>

#include "lib/loader/agent/agent.h"

// X(name): hook_name replaces the driver's function of that name.
#define EGPU_HOOKS(X)                                                                                     \
  /* launch.cc */                                                                                         \
  X(cuLaunchKernel)                                                                                       \
  X(cuLaunchKernel_ptsz)                                                                                  \
  X(cuLaunchKernelEx)                                                                                     \
  X(cuLaunchKernelEx_ptsz) X(cuLaunchCooperativeKernel) X(cuLaunchCooperativeKernel_ptsz) /* graph.cc */  \
      X(cuGraphAddKernelNode) X(cuGraphAddKernelNode_v2) X(cuGraphKernelNodeSetParams)                    \
          X(cuGraphKernelNodeSetParams_v2) X(cuGraphKernelNodeGetParams) X(cuGraphKernelNodeGetParams_v2) \
              X(cuGraphExecKernelNodeSetParams) X(cuGraphExecKernelNodeSetParams_v2) X(cuGraphAddNode)    \
                  X(cuGraphAddNode_v2) X(cuGraphNodeSetParams) X(cuGraphExecNodeSetParams)                \
                      X(cuStreamBeginCapture) X(cuStreamBeginCapture_ptsz) X(cuStreamBeginCapture_v2)     \
                          X(cuStreamBeginCapture_v2_ptsz) X(cuStreamBeginCaptureToGraph)                  \
                              X(cuStreamBeginCaptureToGraph_ptsz) X(cuStreamEndCapture)                   \
                                  X(cuStreamEndCapture_ptsz) /* modules.cc */                             \
      X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleLoadFatBinary)                  \
          X(cuLibraryLoadData) X(cuLibraryLoadFromFile) X(cuModuleUnload) X(cuLibraryUnload)              \
              X(cuFuncSetAttribute) X(cuFuncSetCacheConfig) X(cuFuncSetSharedMemConfig)                   \
                  X(cuKernelGetFunction) X(cuLibraryGetModule) X(cuKernelSetAttribute)                    \
                      X(cuKernelSetCacheConfig) X(cuCtxDestroy) X(cuCtxDestroy_v2)                        \
                          X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxRelease_v2)                    \
                              X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxReset_v2)

namespace egpu::agent {

#define EGPU_DECLARE_HOOK(name) std::remove_pointer_t<decltype(driver::Driver::name)> hook_##name;
EGPU_HOOKS(EGPU_DECLARE_HOOK)
#undef EGPU_DECLARE_HOOK

/// Finds the entry points once and gives each its trampoline memory. False: no memory.
bool prepare_hooks();
/// Sends `entries`. From here on `cu` points to the trampolines.
bool send_entries();
/// Applies the answer: start mode stores the jumps, attach mode believes `written`. Number of hooks in place.
int install_hooks(const session::Hook *hooks, uint32_t count);
/// The original bytes are back at every entry point when this returns. Any number of times.
void remove_hooks();

}  // namespace egpu::agent
