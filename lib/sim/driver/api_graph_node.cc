// Graph nodes by type: adding them, and reading what they do.
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/module.h"
#include "lib/sim/driver/node_work.h"

using namespace egpu::sim;

namespace {

Status add_node(Handle *made, Handle handle, const Handle *before, size_t count, Work work,
                std::shared_ptr<Graph> child = nullptr) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
  if (!made || (count && !before)) return kInvalidValue;
  std::shared_ptr<Node> node;
  CU_TRY(graph->add(std::move(work), {before, before + count}, &node));
  node->child = std::move(child);
  *made = handle_of(*node);
  return kSuccess;
}

// The child graph node owns a copy of the graph.
Status add_child(Handle *made, Handle graph, const Handle *before, size_t count, Handle child) {
  Work work;
  CU_TRY(child_work(child, &work));
  if (has_graph_memory(*std::get<std::shared_ptr<const GraphWork>>(work))) return kNotSupported;
  std::shared_ptr<Graph> copy = find<Graph>(child)->clone();
  publish(copy);
  const Status status = add_node(made, graph, before, count, std::move(work), copy);
  if (status != kSuccess) copy->forget();
  return status;
}

// A node that allocates: on the device that the properties name, for it and its peers.
Status add_allocation(Handle *made, Handle graph, const Handle *before, size_t count,
                      MemoryAllocationNodeParams *params) {
  constexpr int kPinned = 1, kAtDevice = 1;  // CUmemAllocationType, CUmemLocationType
  if (!params || params->size_bytes == 0 || params->properties.handle_types != 0) return kInvalidValue;
  if (params->properties.type != kPinned || params->properties.location.type != kAtDevice)
    return kInvalidValue;
  CU_CONTEXT(current);
  Device *device = find_device(params->properties.location.id);
  if (!device) return kInvalidValue;
  Context &context = &current->device == device ? *current : *device->primary;
  GraphMemoryWork work{GraphMemory::make(context, params->size_bytes), false};
  if (!work.memory) return kOutOfMemory;
  const Address address = work.memory->base;
  CU_TRY(add_node(made, graph, before, count, std::move(work)));
  params->address = address;
  return kSuccess;
}

Status add_free(Handle *made, Handle graph, const Handle *before, size_t count, Address address) {
  GraphMemoryWork work{find_graph_memory(address), true};
  if (!work.memory || work.memory->base != address) return kInvalidValue;
  return add_node(made, graph, before, count, std::move(work));
}

Status add_any(Handle *made, Handle graph, const Handle *before, size_t count, CUgraphNodeParams *params) {
  if (params && params->type == kNodeMemoryAllocation)
    return add_allocation(made, graph, before, count,
                          reinterpret_cast<MemoryAllocationNodeParams *>(params->reserved1));
  if (params && params->type == kNodeMemoryFree)
    return add_free(made, graph, before, count, read_params<Address>(*params));
  if (params && params->type == kNodeGraph)
    return add_child(made, graph, before, count, read_params<Handle>(*params));
  Work work;
  CU_TRY(any_work(params, &work));
  return add_node(made, graph, before, count, std::move(work));
}

Status get_kernel(Handle handle, KernelNodeParams *params) {
  std::shared_ptr<Node> node;
  KernelWork *kernel = nullptr;
  CU_TRY(find_work(handle, &node, &kernel));
  if (!params) return kInvalidValue;
  const Launch &launch = kernel->launch;
  *params = {};
  if (find<LibraryKernel>(kernel->function))
    params->kern = static_cast<egpu::driver::CUkernel>(kernel->function);
  else
    params->func = static_cast<egpu::driver::CUfunction>(kernel->function);
  params->gridDimX = launch.grid[0];
  params->gridDimY = launch.grid[1];
  params->gridDimZ = launch.grid[2];
  params->blockDimX = launch.block[0];
  params->blockDimY = launch.block[1];
  params->blockDimZ = launch.block[2];
  params->sharedMemBytes = launch.dynamic_shared_bytes;
  node->parameter_addresses.clear();
  const KernelInfo *info = launch.module->find_kernel(launch.kernel);
  for (const Parameter &parameter : info->parameters)
    node->parameter_addresses.push_back(const_cast<uint8_t *>(launch.parameters.data()) + parameter.offset);
  params->kernelParams = node->parameter_addresses.data();
  return kSuccess;
}

// v1 has no place for a CUkernel: it stands in `func`, which the launches take as well.
Status get_kernel_v1(Handle node, KernelNodeParamsV1 *v1) {
  if (!v1) return kInvalidValue;
  KernelNodeParams params{};
  CU_TRY(get_kernel(node, &params));
  if (!params.func) params.func = static_cast<egpu::driver::CUfunction>(static_cast<Handle>(params.kern));
  std::memcpy(v1, &params, sizeof *v1);
  return kSuccess;
}

Status get_event(Handle handle, bool is_wait, Handle *event) {
  std::shared_ptr<Node> node;
  EventWork *work = nullptr;
  CU_TRY(find_work(handle, &node, &work));
  if (!event || work->is_wait != is_wait) return kInvalidValue;
  *event = handle_of(*work->event);
  return kSuccess;
}

}  // namespace

CU_API(cuGraphAddKernelNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const KernelNodeParamsV1 *params),
       (node, graph, before, count, params)) {
  if (!params) return kInvalidValue;
  const KernelNodeParams wide = widened(*params);
  WITH_WORK(kernel_work(&wide, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddKernelNode_v2,
       (Handle * node, Handle graph, const Handle *before, size_t count, const KernelNodeParams *params),
       (node, graph, before, count, params)) {
  WITH_WORK(kernel_work(params, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddMemcpyNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const Copy3D *params, Handle),
       (node, graph, before, count, params, nullptr)) {
  WITH_WORK(copy_work(params, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddMemsetNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const MemsetNodeParams *params,
        Handle),
       (node, graph, before, count, params, nullptr)) {
  WITH_WORK(memset_work(params, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddHostNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const HostNodeParams *params),
       (node, graph, before, count, params)) {
  WITH_WORK(host_work(params, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddEmptyNode, (Handle * node, Handle graph, const Handle *before, size_t count),
       (node, graph, before, count)) {
  return add_node(node, graph, before, count, EmptyWork{});
}
CU_API(cuGraphAddChildGraphNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Handle child),
       (node, graph, before, count, child)) {
  return add_child(node, graph, before, count, child);
}
CU_API(cuGraphAddEventRecordNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Handle event),
       (node, graph, before, count, event)) {
  WITH_WORK(event_work(event, false, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddEventWaitNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Handle event),
       (node, graph, before, count, event)) {
  WITH_WORK(event_work(event, true, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddMemAllocNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, MemoryAllocationNodeParams *params),
       (node, graph, before, count, params)) {
  return add_allocation(node, graph, before, count, params);
}
CU_API(cuGraphAddMemFreeNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Address address),
       (node, graph, before, count, address)) {
  return add_free(node, graph, before, count, address);
}
CU_API(cuGraphAddBatchMemOpNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const MemoryOpNodeParams *params),
       (node, graph, before, count, params)) {
  WITH_WORK(memory_op_work(params, &work), add_node(node, graph, before, count, std::move(work)));
}
CU_API(cuGraphAddNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, CUgraphNodeParams *params),
       (node, graph, before, count, params)) {
  return add_any(node, graph, before, count, params);
}
CU_API(cuGraphAddNode_v2,
       (Handle * node, Handle graph, const Handle *before, const void *edge_data, size_t count,
        CUgraphNodeParams *params),
       (node, graph, before, edge_data, count, params)) {
  return edge_data ? kNotSupported : add_any(node, graph, before, count, params);
}

CU_API(cuGraphKernelNodeGetParams, (Handle node, KernelNodeParamsV1 *params), (node, params)) {
  return get_kernel_v1(node, params);
}
CU_API(cuGraphKernelNodeGetParams_v2, (Handle node, KernelNodeParams *params), (node, params)) {
  return get_kernel(node, params);
}
CU_API(cuGraphMemcpyNodeGetParams, (Handle handle, Copy3D *params), (handle, params)) {
  std::shared_ptr<Node> node;
  CopyWork *copy = nullptr;
  CU_TRY(find_work(handle, &node, &copy));
  if (!params) return kInvalidValue;
  *params = copy->copy;
  return kSuccess;
}
CU_API(cuGraphMemsetNodeGetParams, (Handle handle, MemsetNodeParams *params), (handle, params)) {
  std::shared_ptr<Node> node;
  MemsetWork *memset = nullptr;
  CU_TRY(find_work(handle, &node, &memset));
  if (!params) return kInvalidValue;
  *params = memset->params;
  return kSuccess;
}
CU_API(cuGraphHostNodeGetParams, (Handle handle, HostNodeParams *params), (handle, params)) {
  std::shared_ptr<Node> node;
  HostWork *host = nullptr;
  CU_TRY(find_work(handle, &node, &host));
  if (!params) return kInvalidValue;
  *params = host->params;
  return kSuccess;
}
CU_API(cuGraphBatchMemOpNodeGetParams, (Handle handle, MemoryOpNodeParams *params), (handle, params)) {
  std::shared_ptr<Node> node;
  MemoryOpWork *operations = nullptr;
  CU_TRY(find_work(handle, &node, &operations));
  if (!params) return kInvalidValue;
  CU_CONTEXT(context);
  *params = {handle_of(*context), static_cast<unsigned>(operations->operations.size()),
             operations->operations.data(), 0};
  return kSuccess;
}
CU_API(cuGraphMemAllocNodeGetParams, (Handle handle, MemoryAllocationNodeParams *params), (handle, params)) {
  std::shared_ptr<Node> node;
  GraphMemoryWork *work = nullptr;
  CU_TRY(find_work(handle, &node, &work));
  if (!params || work->is_free) return kInvalidValue;
  *params = {};
  params->properties.type = 1;  // pinned
  params->properties.location = {1, work->memory->context.device.ordinal};
  params->size_bytes = work->memory->size_bytes;
  params->address = work->memory->base;
  return kSuccess;
}
CU_API(cuGraphMemFreeNodeGetParams, (Handle handle, Address *address), (handle, address)) {
  std::shared_ptr<Node> node;
  GraphMemoryWork *work = nullptr;
  CU_TRY(find_work(handle, &node, &work));
  if (!address || !work->is_free) return kInvalidValue;
  *address = work->memory->base;
  return kSuccess;
}
CU_API(cuGraphChildGraphNodeGetGraph, (Handle handle, Handle *graph), (handle, graph)) {
  std::shared_ptr<Node> node;
  CU_TRY(find_node(handle, &node));
  if (!node->child || !graph) return kInvalidValue;
  *graph = handle_of(*node->child);
  return kSuccess;
}
CU_API(cuGraphEventRecordNodeGetEvent, (Handle node, Handle *event), (node, event)) {
  return get_event(node, false, event);
}
CU_API(cuGraphEventWaitNodeGetEvent, (Handle node, Handle *event), (node, event)) {
  return get_event(node, true, event);
}
