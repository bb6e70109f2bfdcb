// Kernel nodes of graphs that the target builds or changes by hand (captured launches come through
// launch.cc), and how many captures are under way.
//
// A node holds the function it was given, so the patched one is put into it and stays there after
// a detach; what is read back is turned into the original again, so that a target that reads a
// node's parameters, changes some and sets them does not set a patched function with too few.
// launch_ns of a node is the time it was made.
#include "lib/loader/agent/contexts.h"
#include "lib/loader/agent/hooks.h"
#include "lib/loader/agent/launch.h"

namespace egpu::agent {

using driver::CUDA_KERNEL_NODE_PARAMS_v1;
using driver::CUDA_KERNEL_NODE_PARAMS_v2;
using driver::CUgraph;
using driver::CUgraphEdgeData;
using driver::CUgraphExec;
using driver::CUgraphNode;
using driver::CUgraphNodeParams;

namespace {

// What the node launches, as a launch would name it.
LaunchArguments arguments_of(const CUDA_KERNEL_NODE_PARAMS_v1 &p) {
  return {p.func, p.kernelParams, p.extra, {p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes}};
}
LaunchArguments arguments_of(const CUDA_KERNEL_NODE_PARAMS_v2 &p) {
  CUfunction function = p.func ? p.func : reinterpret_cast<CUfunction>(p.kern);
  return {function, p.kernelParams, p.extra, {p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes}};
}

void set_arguments(CUDA_KERNEL_NODE_PARAMS_v1 *p, const LaunchArguments &a) {
  p->func = a.function;
  p->kernelParams = a.params;
  p->extra = a.extra;
}
void set_arguments(CUDA_KERNEL_NODE_PARAMS_v2 *p, const LaunchArguments &a) {
  if (a.function == reinterpret_cast<CUfunction>(p->kern) && !p->func) return;  // the original
  p->func = a.function;
  p->kern = nullptr;
  p->kernelParams = a.params;
  p->extra = a.extra;
}

// A CUkernel in a node may name another context than the current one; that node is left alone.
bool elsewhere(const CUDA_KERNEL_NODE_PARAMS_v1 &) { return false; }
bool elsewhere(const CUDA_KERNEL_NODE_PARAMS_v2 &p) { return !p.func && p.ctx && p.ctx != current_context(); }

template <class Params, class Call>
CUresult redirect_node(const Params *params, Call call) {
  if (!params || elsewhere(*params)) return call(params);
  return redirect(arguments_of(*params), Target::graph, nullptr, [&](const LaunchArguments &a) {
    Params changed = *params;
    set_arguments(&changed, a);
    return call(&changed);
  });
}

template <class Call>
CUresult redirect_generic(CUgraphNodeParams *params, Call call) {
  if (!params || params->type != driver::kGraphNodeKernel) return call(params);
  return redirect_node(&params->kernel, [&](const CUDA_KERNEL_NODE_PARAMS_v2 *kernel) {
    CUgraphNodeParams changed = *params;
    changed.kernel = *kernel;
    return call(&changed);
  });
}

// A patched function read from a node -> the original.
void restore(CUfunction *function, CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  Verdict verdict;
  Entry *entry = look_up(reinterpret_cast<uint64_t>(*function), &verdict);
  if (verdict != Verdict::patched) return;
  Verdict original_verdict;
  Entry *original = look_up(entry->original, &original_verdict);
  if (params && original && original->is_kernel) {
    *function = nullptr;
    params->kern = reinterpret_cast<CUkernel>(entry->original);
    params->ctx = entry->context;
  } else {
    *function = reinterpret_cast<CUfunction>(entry->original);
  }
}

CUresult count_begin(CUresult result) {
  if (result == 0) process.captures_active.fetch_add(1);
  return result;
}
// However it ends, the capture is over; one that began before the hooks is not ours to count.
CUresult count_end(CUresult result) {
  int n = process.captures_active.load();
  while (n > 0 && !process.captures_active.compare_exchange_weak(n, n - 1)) {
  }
  return result;
}

}  // namespace

CUresult hook_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                   size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  return redirect_node(params,
                       [&](auto *p) { return cu.cuGraphAddKernelNode(node, graph, dependencies, count, p); });
}
CUresult hook_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                      size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  return redirect_node(
      params, [&](auto *p) { return cu.cuGraphAddKernelNode_v2(node, graph, dependencies, count, p); });
}
CUresult hook_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  return redirect_node(params, [&](auto *p) { return cu.cuGraphKernelNodeSetParams(node, p); });
}
CUresult hook_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  return redirect_node(params, [&](auto *p) { return cu.cuGraphKernelNodeSetParams_v2(node, p); });
}
CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  return redirect_node(params, [&](auto *p) { return cu.cuGraphExecKernelNodeSetParams(exec, node, p); });
}
CUresult hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  return redirect_node(params, [&](auto *p) { return cu.cuGraphExecKernelNodeSetParams_v2(exec, node, p); });
}
CUresult hook_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                             CUgraphNodeParams *params) {
  return redirect_generic(
      params, [&](CUgraphNodeParams *p) { return cu.cuGraphAddNode(node, graph, dependencies, count, p); });
}
CUresult hook_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params) {
  return redirect_generic(params, [&](CUgraphNodeParams *p) {
    return cu.cuGraphAddNode_v2(node, graph, dependencies, edges, count, p);
  });
}
CUresult hook_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params) {
  return redirect_generic(params, [&](CUgraphNodeParams *p) { return cu.cuGraphNodeSetParams(node, p); });
}
CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params) {
  return redirect_generic(params,
                          [&](CUgraphNodeParams *p) { return cu.cuGraphExecNodeSetParams(exec, node, p); });
}

CUresult hook_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  CUresult result = cu.cuGraphKernelNodeGetParams(node, params);
  if (result == 0 && params) restore(&params->func, nullptr);
  return result;
}
CUresult hook_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  CUresult result = cu.cuGraphKernelNodeGetParams_v2(node, params);
  if (result == 0 && params) restore(&params->func, params);
  return result;
}

CUresult hook_cuStreamBeginCapture(CUstream stream) { return count_begin(cu.cuStreamBeginCapture(stream)); }
CUresult hook_cuStreamBeginCapture_ptsz(CUstream stream) {
  return count_begin(cu.cuStreamBeginCapture_ptsz(stream));
}
CUresult hook_cuStreamBeginCapture_v2(CUstream stream, int mode) {
  return count_begin(cu.cuStreamBeginCapture_v2(stream, mode));
}
CUresult hook_cuStreamBeginCapture_v2_ptsz(CUstream stream, int mode) {
  return count_begin(cu.cuStreamBeginCapture_v2_ptsz(stream, mode));
}
CUresult hook_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *edges, size_t count, int mode) {
  return count_begin(cu.cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges, count, mode));
}
CUresult hook_cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                               const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                               size_t count, int mode) {
  return count_begin(cu.cuStreamBeginCaptureToGraph_ptsz(stream, graph, dependencies, edges, count, mode));
}
CUresult hook_cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  return count_end(cu.cuStreamEndCapture(stream, graph));
}
CUresult hook_cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph) {
  return count_end(cu.cuStreamEndCapture_ptsz(stream, graph));
}

}  // namespace egpu::agent
