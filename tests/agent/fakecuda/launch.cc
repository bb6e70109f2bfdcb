// Launches, and kernel nodes of graphs: each is recorded.
#include <time.h>

#include <cstring>

#include "tests/agent/fakecuda/state.h"

namespace {

uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// The parameters as the device would see them, from either form.
bool read_parameters(const Function &f, void **params, void **extra, std::vector<uint64_t> *values) {
  const char *buffer = nullptr;
  size_t bytes = 0, offset = 0;
  for (; extra && extra[0]; extra += 2) {
    if (reinterpret_cast<uintptr_t>(extra[0]) == kLaunchParamBufferPointer)
      buffer = static_cast<char *>(extra[1]);
    if (reinterpret_cast<uintptr_t>(extra[0]) == kLaunchParamBufferSize)
      bytes = *static_cast<size_t *>(extra[1]);
  }
  for (size_t i = 0; i < f.parameter_bytes.size(); ++i) {
    size_t size = f.parameter_bytes[i];
    uint64_t value = 0;
    offset = (offset + size - 1) / size * size;
    if (buffer) {
      if (offset + size > bytes) return false;
      memcpy(&value, buffer + offset, size);
    } else {
      if (!params) return false;
      memcpy(&value, params[i], size);
    }
    offset += size;
    values->push_back(value);
  }
  return true;
}

CUresult launch(const char *entry_point, CUfunction handle, unsigned shared, CUstream stream, void **params,
                void **extra, bool cooperative = false) {
  Function *f = resolve(handle);
  if (!f || !current) return kInvalidHandle;
  if (f->module->patched() && patched_error) return patched_error;
  if (shared > static_cast<unsigned>(f->attributes[8])) return kInvalidValue;
  Launch record;
  if (!read_parameters(*f, params, extra, &record.parameters)) return kInvalidValue;
  if (f->name == "egpu_agent_clock") {
    *reinterpret_cast<std::atomic<uint64_t> *>(record.parameters[0]) =
        monotonic_ns() - static_cast<uint64_t>(fakecuda::kClockOffsetNs);
    return 0;
  }
  f->launches.fetch_add(1);
  if (f->counter) f->counter->fetch_add(1);
  auto *s = reinterpret_cast<Stream *>(stream);
  record.captured = reinterpret_cast<uintptr_t>(stream) > 2 && s->capturing;
  record.entry_point = entry_point;
  record.function = f->name;
  record.module_text = f->module->text;
  record.stream = stream;
  record.cooperative = cooperative;
  std::lock_guard lock(mutex);
  if (f->module->patched()) last_patched_function = f;
  ++counts[f->name + (f->module->patched() ? "/patched" : "")];
  if (launches.size() < 10000) launches.push_back(std::move(record));
  return 0;
}

}  // namespace

HOOKABLE(cuLaunchKernel);
IMPLEMENT fake_cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned shared, CUstream stream, void **params, void **extra) {
  return launch("cuLaunchKernel", f, shared, stream, params, extra);
}

HOOKABLE(cuLaunchKernel_ptsz);
IMPLEMENT fake_cuLaunchKernel_ptsz(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned shared, CUstream stream, void **params, void **extra) {
  return launch("cuLaunchKernel_ptsz", f, shared, stream, params, extra);
}

HOOKABLE(cuLaunchKernelEx);
IMPLEMENT fake_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) {
  return launch("cuLaunchKernelEx", f, config->sharedMemBytes, config->hStream, params, extra);
}

HOOKABLE(cuLaunchKernelEx_ptsz);
// Calls another exported entry point, as a driver might: a redirected launch then comes by twice.
IMPLEMENT fake_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params,
                                     void **extra) {
  return cuLaunchKernelEx(config, f, params, extra);
}

HOOKABLE(cuLaunchCooperativeKernel);
IMPLEMENT fake_cuLaunchCooperativeKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned shared, CUstream stream, void **params) {
  return launch("cuLaunchCooperativeKernel", f, shared, stream, params, nullptr, true);
}

HOOKABLE(cuGraphAddKernelNode_v2);
IMPLEMENT fake_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph, const CUgraphNode *, size_t,
                                       const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  CUfunction f = params->func ? params->func : reinterpret_cast<CUfunction>(params->kern);
  CUresult result = launch("cuGraphAddKernelNode_v2", f, params->sharedMemBytes, nullptr,
                           params->kernelParams, params->extra);
  if (result == 0) *node = reinterpret_cast<CUgraphNode>(keep(new Node{*params}));
  return result;
}

HOOKABLE(cuGraphKernelNodeGetParams_v2);
IMPLEMENT fake_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  *params = reinterpret_cast<Node *>(node)->params;
  return 0;
}

HOOKABLE(cuGraphKernelNodeSetParams_v2);
IMPLEMENT fake_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  CUresult result = launch("cuGraphKernelNodeSetParams_v2", params->func, params->sharedMemBytes, nullptr,
                           params->kernelParams, params->extra);
  if (result == 0) reinterpret_cast<Node *>(node)->params = *params;
  return result;
}

HOOKABLE(cuGraphAddNode_v2);
IMPLEMENT fake_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *,
                                 const CUgraphEdgeData *, size_t, CUgraphNodeParams *params) {
  return fake_cuGraphAddKernelNode_v2(node, graph, nullptr, 0, &params->kernel);
}

EXPORT cuGraphCreate(CUgraph *graph, unsigned) {
  *graph = reinterpret_cast<CUgraph>(uintptr_t{0x6000});
  return 0;
}
