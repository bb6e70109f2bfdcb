// Graphs: nodes, instantiation, launch. Graphs' node structures for memsets and host functions are
// the driver's; kernels and copies are converted.
#include "lib/sim/runtime/copy.h"
#include "lib/sim/runtime/export.h"
#include "lib/sim/runtime/registry.h"

using namespace egpu::rt;

namespace {

int convert_kernel(const KernelNode *node, egpu::sim::KernelNodeParams *converted) {
  if (!node) return kInvalidValue;
  Handle kernel = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(find_kernel(node->function, &kernel));
  *converted = {};
  converted->kern = static_cast<egpu::driver::CUkernel>(kernel);
  converted->gridDimX = node->grid.x;
  converted->gridDimY = node->grid.y;
  converted->gridDimZ = node->grid.z;
  converted->blockDimX = node->block.x;
  converted->blockDimY = node->block.y;
  converted->blockDimZ = node->block.z;
  converted->sharedMemBytes = node->shared_bytes;
  converted->kernelParams = node->parameters;
  converted->extra = node->extra;
  return kOk;
}

int add_copy(Handle *node, Handle graph, const Handle *dependencies, size_t count, const Copy3D &copy) {
  Handle context = nullptr;
  RT_TRY(cuCtxGetCurrent(&context));
  return cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, context);
}

}  // namespace

RT_FORWARD(cudaGraphCreate, cuGraphCreate, (Handle * graph, unsigned flags), (graph, flags))
RT_FORWARD(cudaGraphDestroy, cuGraphDestroy, (Handle graph), (graph))
RT_FORWARD(cudaGraphClone, cuGraphClone, (Handle * clone, Handle graph), (clone, graph))

RT_API(cudaGraphAddKernelNode,
       (Handle * node, Handle graph, const Handle *dependencies, size_t count, const KernelNode *kernel),
       (node, graph, dependencies, count, kernel)) {
  egpu::sim::KernelNodeParams converted;
  RT_TRY(convert_kernel(kernel, &converted));
  return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &converted);
}
RT_API(cudaGraphKernelNodeSetParams, (Handle node, const KernelNode *kernel), (node, kernel)) {
  egpu::sim::KernelNodeParams converted;
  RT_TRY(convert_kernel(kernel, &converted));
  return cuGraphKernelNodeSetParams_v2(node, &converted);
}
RT_API(cudaGraphExecKernelNodeSetParams, (Handle graph, Handle node, const KernelNode *kernel),
       (graph, node, kernel)) {
  egpu::sim::KernelNodeParams converted;
  RT_TRY(convert_kernel(kernel, &converted));
  return cuGraphExecKernelNodeSetParams_v2(graph, node, &converted);
}
RT_API(cudaGraphKernelNodeGetParams, (Handle node, KernelNode *kernel), (node, kernel)) {
  if (!kernel) return kInvalidValue;
  egpu::sim::KernelNodeParams has{};
  RT_TRY(ensure_context());
  RT_TRY(cuGraphKernelNodeGetParams_v2(node, &has));
  const Handle handle = has.kern ? static_cast<Handle>(has.kern) : static_cast<Handle>(has.func);
  const void *host = host_function_of(handle);
  if (!host) know_kernel(handle);
  *kernel = {host ? const_cast<void *>(host) : handle,
             {has.gridDimX, has.gridDimY, has.gridDimZ},
             {has.blockDimX, has.blockDimY, has.blockDimZ},
             has.sharedMemBytes,
             has.kernelParams,
             has.extra};
  return kOk;
}

RT_API(cudaGraphAddMemcpyNode,
       (Handle * node, Handle graph, const Handle *dependencies, size_t count,
        const Copy3DParameters *parameters),
       (node, graph, dependencies, count, parameters)) {
  Copy3D converted;
  RT_TRY(ensure_context());
  RT_TRY(convert_copy(parameters, &converted));
  return add_copy(node, graph, dependencies, count, converted);
}
RT_API(cudaGraphAddMemcpyNode1D,
       (Handle * node, Handle graph, const Handle *dependencies, size_t count, void *to, const void *from,
        size_t size_bytes, int kind),
       (node, graph, dependencies, count, to, from, size_bytes, kind)) {
  Copy3D converted;
  RT_TRY(ensure_context());
  RT_TRY(row_copy(to, from, size_bytes, kind, &converted));
  return add_copy(node, graph, dependencies, count, converted);
}
RT_API(cudaGraphAddMemsetNode,
       (Handle * node, Handle graph, const Handle *dependencies, size_t count, const void *parameters),
       (node, graph, dependencies, count, parameters)) {
  Handle context = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(cuCtxGetCurrent(&context));
  return cuGraphAddMemsetNode(node, graph, dependencies, count, parameters, context);
}
RT_FORWARD(cudaGraphAddHostNode, cuGraphAddHostNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count, const void *parameters),
           (node, graph, dependencies, count, parameters))
RT_FORWARD(cudaGraphAddEmptyNode, cuGraphAddEmptyNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count),
           (node, graph, dependencies, count))
RT_FORWARD(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count, Handle child),
           (node, graph, dependencies, count, child))
RT_FORWARD(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count, Handle event),
           (node, graph, dependencies, count, event))
RT_FORWARD(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count, Handle event),
           (node, graph, dependencies, count, event))

RT_FORWARD(cudaGraphNodeGetType, cuGraphNodeGetType, (Handle node, int *type), (node, type))
RT_FORWARD(cudaGraphGetNodes, cuGraphGetNodes, (Handle graph, Handle *nodes, size_t *count),
           (graph, nodes, count))
RT_FORWARD(cudaGraphGetRootNodes, cuGraphGetRootNodes, (Handle graph, Handle *nodes, size_t *count),
           (graph, nodes, count))
RT_FORWARD(cudaGraphGetEdges, cuGraphGetEdges_v2,
           (Handle graph, Handle *from, Handle *to, void *edges, size_t *count),
           (graph, from, to, edges, count))
RT_FORWARD(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
           (Handle node, Handle *dependencies, void *edges, size_t *count),
           (node, dependencies, edges, count))
RT_FORWARD(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
           (Handle node, Handle *dependents, void *edges, size_t *count), (node, dependents, edges, count))
RT_FORWARD(cudaGraphAddDependencies, cuGraphAddDependencies_v2,
           (Handle graph, const Handle *from, const Handle *to, const void *edges, size_t count),
           (graph, from, to, edges, count))
RT_FORWARD(cudaGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
           (Handle graph, const Handle *from, const Handle *to, const void *edges, size_t count),
           (graph, from, to, edges, count))
RT_FORWARD(cudaGraphDestroyNode, cuGraphDestroyNode, (Handle node), (node))
RT_FORWARD(cudaGraphDebugDotPrint, cuGraphDebugDotPrint, (Handle graph, const char *path, unsigned flags),
           (graph, path, flags))

RT_FORWARD(cudaGraphInstantiate, cuGraphInstantiateWithFlags,
           (Handle * instance, Handle graph, unsigned long long flags), (instance, graph, flags))
RT_FORWARD(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
           (Handle * instance, Handle graph, unsigned long long flags), (instance, graph, flags))
RT_STREAM_FORWARD(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams,
                  (Handle * instance, Handle graph, void *parameters), (instance, graph, parameters))
RT_FORWARD(cudaGraphExecDestroy, cuGraphExecDestroy, (Handle instance), (instance))
RT_FORWARD(cudaGraphExecUpdate, cuGraphExecUpdate_v2, (Handle instance, Handle graph, void *result),
           (instance, graph, result))
RT_STREAM_FORWARD(cudaGraphUpload, cuGraphUpload, (Handle instance, Handle stream), (instance, which(stream)))
RT_STREAM_FORWARD(cudaGraphLaunch, cuGraphLaunch, (Handle instance, Handle stream), (instance, which(stream)))
