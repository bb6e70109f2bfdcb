// Graph nodes by type. The structures of fills and host functions are the driver's; kernels and
// copies are converted.
#include <cstring>

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

// What is copied to or from a registered variable.
int symbol_copy(const void *symbol, size_t offset, size_t size_bytes, const void *other, int kind,
                bool to_symbol, Copy3D *copy) {
  char *in_symbol = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(symbol_range(symbol, size_bytes, offset, &in_symbol));
  return to_symbol ? row_copy(in_symbol, other, size_bytes, kind, copy)
                   : row_copy(const_cast<void *>(other), in_symbol, size_bytes, kind, copy);
}

int exec_copy(Handle instance, Handle node, const Copy3D &copy) {
  Handle context = nullptr;
  RT_TRY(cuCtxGetCurrent(&context));
  return cuGraphExecMemcpyNodeSetParams(instance, node, &copy, context);
}

constexpr int kKernelNode = 0, kMemcpyNode = 1, kMemsetNode = 2;

// The runtime's description of a node as the driver's: kernels and copies differ, and the driver
// wants to know the context of copies and fills (its structures have room for it).
int convert_node(const NodeParameters *node, egpu::sim::CUgraphNodeParams *converted) {
  if (!node) return kInvalidValue;
  static_assert(sizeof *converted == sizeof *node);
  Handle context = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(cuCtxGetCurrent(&context));
  std::memcpy(converted, node, sizeof *node);
  auto *const words = reinterpret_cast<char *>(converted->reserved1);
  if (node->type == kKernelNode) {
    RT_TRY(convert_kernel(&node->kernel, &converted->kernel));
  } else if (node->type == kMemcpyNode) {
    Copy3D copy;
    RT_TRY(convert_copy(&node->memcpy.copy, &copy));
    std::memset(words, 0, sizeof converted->reserved1);
    std::memcpy(words + 8, &context, sizeof context);
    std::memcpy(words + 16, &copy, sizeof copy);
  } else if (node->type == kMemsetNode) {
    std::memcpy(words + sizeof(egpu::sim::MemsetNodeParams), &context, sizeof context);
  }
  return kOk;
}

}  // namespace

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
RT_API(cudaGraphAddMemcpyNodeToSymbol,
       (Handle * node, Handle graph, const Handle *dependencies, size_t count, const void *symbol,
        const void *from, size_t size_bytes, size_t offset, int kind),
       (node, graph, dependencies, count, symbol, from, size_bytes, offset, kind)) {
  Copy3D copy;
  RT_TRY(symbol_copy(symbol, offset, size_bytes, from, kind, true, &copy));
  return add_copy(node, graph, dependencies, count, copy);
}
RT_API(cudaGraphAddMemcpyNodeFromSymbol,
       (Handle * node, Handle graph, const Handle *dependencies, size_t count, void *to, const void *symbol,
        size_t size_bytes, size_t offset, int kind),
       (node, graph, dependencies, count, to, symbol, size_bytes, offset, kind)) {
  Copy3D copy;
  RT_TRY(symbol_copy(symbol, offset, size_bytes, to, kind, false, &copy));
  return add_copy(node, graph, dependencies, count, copy);
}
RT_API(cudaGraphAddNode,
       (Handle * node, Handle graph, const Handle *dependencies, const void *edges, size_t count,
        NodeParameters *parameters),
       (node, graph, dependencies, edges, count, parameters)) {
  egpu::sim::CUgraphNodeParams converted;
  RT_TRY(convert_node(parameters, &converted));
  return cuGraphAddNode_v2(node, graph, dependencies, edges, count, &converted);
}
RT_API(cudaGraphNodeSetParams, (Handle node, NodeParameters *parameters), (node, parameters)) {
  egpu::sim::CUgraphNodeParams converted;
  RT_TRY(convert_node(parameters, &converted));
  return cuGraphNodeSetParams(node, &converted);
}
RT_API(cudaGraphExecNodeSetParams, (Handle instance, Handle node, NodeParameters *parameters),
       (instance, node, parameters)) {
  egpu::sim::CUgraphNodeParams converted;
  RT_TRY(convert_node(parameters, &converted));
  return cuGraphExecNodeSetParams(instance, node, &converted);
}

RT_API(cudaGraphMemcpyNodeGetParams, (Handle node, Copy3DParameters *parameters), (node, parameters)) {
  Copy3D copy;
  if (!parameters) return kInvalidValue;
  RT_TRY(ensure_context());
  RT_TRY(cuGraphMemcpyNodeGetParams(node, &copy));
  return convert_back(copy, parameters);
}
RT_API(cudaGraphMemcpyNodeSetParams, (Handle node, const Copy3DParameters *parameters), (node, parameters)) {
  Copy3D copy;
  RT_TRY(ensure_context());
  RT_TRY(convert_copy(parameters, &copy));
  return cuGraphMemcpyNodeSetParams(node, &copy);
}
RT_API(cudaGraphMemcpyNodeSetParams1D, (Handle node, void *to, const void *from, size_t size_bytes, int kind),
       (node, to, from, size_bytes, kind)) {
  Copy3D copy;
  RT_TRY(ensure_context());
  RT_TRY(row_copy(to, from, size_bytes, kind, &copy));
  return cuGraphMemcpyNodeSetParams(node, &copy);
}
RT_API(cudaGraphMemcpyNodeSetParamsToSymbol,
       (Handle node, const void *symbol, const void *from, size_t size_bytes, size_t offset, int kind),
       (node, symbol, from, size_bytes, offset, kind)) {
  Copy3D copy;
  RT_TRY(symbol_copy(symbol, offset, size_bytes, from, kind, true, &copy));
  return cuGraphMemcpyNodeSetParams(node, &copy);
}
RT_API(cudaGraphMemcpyNodeSetParamsFromSymbol,
       (Handle node, void *to, const void *symbol, size_t size_bytes, size_t offset, int kind),
       (node, to, symbol, size_bytes, offset, kind)) {
  Copy3D copy;
  RT_TRY(symbol_copy(symbol, offset, size_bytes, to, kind, false, &copy));
  return cuGraphMemcpyNodeSetParams(node, &copy);
}
RT_API(cudaGraphExecMemcpyNodeSetParams, (Handle instance, Handle node, const Copy3DParameters *parameters),
       (instance, node, parameters)) {
  Copy3D copy;
  RT_TRY(ensure_context());
  RT_TRY(convert_copy(parameters, &copy));
  return exec_copy(instance, node, copy);
}
RT_API(cudaGraphExecMemcpyNodeSetParams1D,
       (Handle instance, Handle node, void *to, const void *from, size_t size_bytes, int kind),
       (instance, node, to, from, size_bytes, kind)) {
  Copy3D copy;
  RT_TRY(ensure_context());
  RT_TRY(row_copy(to, from, size_bytes, kind, &copy));
  return exec_copy(instance, node, copy);
}
RT_API(cudaGraphExecMemcpyNodeSetParamsToSymbol,
       (Handle instance, Handle node, const void *symbol, const void *from, size_t size_bytes, size_t offset,
        int kind),
       (instance, node, symbol, from, size_bytes, offset, kind)) {
  Copy3D copy;
  RT_TRY(symbol_copy(symbol, offset, size_bytes, from, kind, true, &copy));
  return exec_copy(instance, node, copy);
}
RT_API(cudaGraphExecMemcpyNodeSetParamsFromSymbol,
       (Handle instance, Handle node, void *to, const void *symbol, size_t size_bytes, size_t offset,
        int kind),
       (instance, node, to, symbol, size_bytes, offset, kind)) {
  Copy3D copy;
  RT_TRY(symbol_copy(symbol, offset, size_bytes, to, kind, false, &copy));
  return exec_copy(instance, node, copy);
}

RT_FORWARD(cudaGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, (Handle node, void *parameters),
           (node, parameters))
RT_FORWARD(cudaGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, (Handle node, const void *parameters),
           (node, parameters))
RT_API(cudaGraphExecMemsetNodeSetParams, (Handle instance, Handle node, const void *parameters),
       (instance, node, parameters)) {
  Handle context = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(cuCtxGetCurrent(&context));
  return cuGraphExecMemsetNodeSetParams(instance, node, parameters, context);
}
RT_FORWARD(cudaGraphHostNodeGetParams, cuGraphHostNodeGetParams, (Handle node, void *parameters),
           (node, parameters))
RT_FORWARD(cudaGraphHostNodeSetParams, cuGraphHostNodeSetParams, (Handle node, const void *parameters),
           (node, parameters))
RT_FORWARD(cudaGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams,
           (Handle instance, Handle node, const void *parameters), (instance, node, parameters))
RT_FORWARD(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, (Handle node, Handle *graph),
           (node, graph))
RT_FORWARD(cudaGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams,
           (Handle instance, Handle node, Handle child), (instance, node, child))
RT_FORWARD(cudaGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent, (Handle node, Handle *event),
           (node, event))
RT_FORWARD(cudaGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent, (Handle node, Handle event),
           (node, event))
RT_FORWARD(cudaGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
           (Handle instance, Handle node, Handle event), (instance, node, event))
RT_FORWARD(cudaGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent, (Handle node, Handle *event),
           (node, event))
RT_FORWARD(cudaGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent, (Handle node, Handle event),
           (node, event))
RT_FORWARD(cudaGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
           (Handle instance, Handle node, Handle event), (instance, node, event))
RT_FORWARD(cudaGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, (Handle node, int id, void *value),
           (node, id, value))
RT_FORWARD(cudaGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute,
           (Handle node, int id, const void *value), (node, id, value))
RT_FORWARD(cudaGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, (Handle to, Handle from),
           (to, from))

// cudaMemAllocNodeParams is the driver's structure.
RT_FORWARD(cudaGraphAddMemAllocNode, cuGraphAddMemAllocNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count, void *parameters),
           (node, graph, dependencies, count, parameters))
RT_FORWARD(cudaGraphAddMemFreeNode, cuGraphAddMemFreeNode,
           (Handle * node, Handle graph, const Handle *dependencies, size_t count, Address address),
           (node, graph, dependencies, count, address))
RT_FORWARD(cudaGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, (Handle node, void *parameters),
           (node, parameters))
RT_FORWARD(cudaGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, (Handle node, Address *address),
           (node, address))
