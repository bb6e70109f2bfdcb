// Graph nodes by type: adding them, and reading and changing what they do, in graphs and executables.
#include <algorithm>
#include <cstring>

#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/cluster.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/launch.h"

using namespace egpu::sim;

namespace {

// What parameters of each type describe.

KernelNodeParams widened(const KernelNodeParamsV1 &v1) {
  KernelNodeParams params{};
  std::memcpy(&params, &v1, sizeof v1);
  return params;
}

// The context a kernel node runs in: the one it names, else the current one.
Status kernel_work(const KernelNodeParams *params, Work *work) {
  if (!params) return kInvalidValue;
  Context *context = nullptr;
  if (params->ctx && !params->func) {
    const std::shared_ptr<Context> named = find<Context>(static_cast<Handle>(params->ctx));
    if (!named) return kInvalidContext;
    context = named.get();
  } else {
    CU_TRY(current_context(&context));
  }
  KernelWork kernel;
  CU_TRY(prepare_launch(*context, *params, {}, &kernel));
  *work = std::move(kernel);
  return kSuccess;
}

Status copy_work(const Copy3D *params, Work *work) {
  if (!params) return kInvalidValue;
  CopyWork copy{*params, nullptr};
  CU_TRY(check_copy(copy.copy));
  *work = std::move(copy);
  return kSuccess;
}

Status memset_work(const MemsetNodeParams *params, Work *work) {
  if (!params) return kInvalidValue;
  CU_TRY(check_memset(*params));
  *work = MemsetWork{*params};
  return kSuccess;
}

Status host_work(const HostNodeParams *params, Work *work) {
  if (!params || !params->function) return kInvalidValue;
  *work = HostWork{*params};
  return kSuccess;
}

Status event_work(Handle handle, bool is_wait, Work *work) {
  std::shared_ptr<Event> event = find<Event>(handle);
  if (!event) return kInvalidValue;
  *work = EventWork{std::move(event), is_wait};
  return kSuccess;
}

Status memory_op_work(const MemoryOpNodeParams *params, Work *work) {
  if (!params) return kInvalidValue;
  MemoryOpWork operations;
  CU_TRY(egpu::sim::memory_op_work(params->operations, params->count, params->flags, &operations));
  *work = std::move(operations);
  return kSuccess;
}

Status child_work(Handle handle, Work *work) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
  GraphExec exec;
  CU_TRY(exec.instantiate(*graph, 0));
  *work = exec.work();
  return kSuccess;
}

template <class Params>
Params read_params(const CUgraphNodeParams &params, size_t offset = 0) {
  Params read;
  std::memcpy(&read, reinterpret_cast<const char *>(params.reserved1) + offset, sizeof read);
  return read;
}

// Of a node given as CUgraphNodeParams; a copy's context (the second word) is not needed.
Status any_work(const CUgraphNodeParams *params, Work *work) {
  if (!params) return kInvalidValue;
  switch (params->type) {
    case kNodeKernel:
      return kernel_work(&params->kernel, work);
    case kNodeMemcpy: {
      const auto copy = read_params<Copy3D>(*params, 16);
      return copy_work(&copy, work);
    }
    case kNodeMemset: {
      const auto memset = read_params<MemsetNodeParams>(*params);
      return memset_work(&memset, work);
    }
    case kNodeHost: {
      const auto host = read_params<HostNodeParams>(*params);
      return host_work(&host, work);
    }
    case kNodeGraph:
      return child_work(read_params<Handle>(*params), work);
    case kNodeEmpty:
      *work = EmptyWork{};
      return kSuccess;
    case kNodeWaitEvent:
    case kNodeEventRecord:
      return event_work(read_params<Handle>(*params), params->type == kNodeWaitEvent, work);
    case kNodeMemoryOps: {
      const auto operations = read_params<MemoryOpNodeParams>(*params);
      return memory_op_work(&operations, work);
    }
    default:
      return kNotSupported;
  }
}

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
  std::shared_ptr<Graph> copy = find<Graph>(child)->clone();
  publish(copy);
  const Status status = add_node(made, graph, before, count, std::move(work), copy);
  if (status != kSuccess) copy->forget();
  return status;
}

Status add_any(Handle *made, Handle graph, const Handle *before, size_t count,
               const CUgraphNodeParams *params) {
  if (params && params->type == kNodeGraph)
    return add_child(made, graph, before, count, read_params<Handle>(*params));
  Work work;
  CU_TRY(any_work(params, &work));
  return add_node(made, graph, before, count, std::move(work));
}

// A kernel whose grid or attributes are new: which cluster it has.
Status choose_cluster(KernelWork *kernel) {
  CU_CONTEXT(context);
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(resolve_function(*context, kernel->function, &function));
  return choose_cluster(*function, kernel);
}

// New parameters leave a kernel node its attributes.
Status keep_attributes(const Work &before, Work *work) {
  auto *kernel = std::get_if<KernelWork>(work);
  const auto *old = std::get_if<KernelWork>(&before);
  if (!kernel || !old) return kSuccess;
  kernel->attributes = old->attributes;
  kernel->launch.cooperative = old->launch.cooperative;
  return choose_cluster(kernel);
}

// The node keeps its type, and of a kernel the attributes.
Status set_node(Handle handle, Work work) {
  std::shared_ptr<Node> node;
  CU_TRY(find_node(handle, &node));
  if (type_of(work) != type_of(node->work)) return kInvalidValue;
  CU_TRY(keep_attributes(node->work, &work));
  node->work = std::move(work);
  return kSuccess;
}

Status set_step(Handle handle, Handle node, Work work) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  Work before;
  CU_TRY(exec->step(node, &before));
  CU_TRY(keep_attributes(before, &work));
  return exec->set_step(node, std::move(work));
}

// The node's description, if it is of that type.
template <class Kind>
Status find_work(Handle handle, std::shared_ptr<Node> *node, Kind **work) {
  CU_TRY(find_node(handle, node));
  *work = std::get_if<Kind>(&(*node)->work);
  return *work ? kSuccess : kInvalidValue;
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

CUlaunchAttribute *find_attribute(KernelWork &kernel, int id) {
  for (CUlaunchAttribute &attribute : kernel.attributes)
    if (attribute.id == id) return &attribute;
  return nullptr;
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

// Entry points: what makes a node's work from their parameters, then what is done with it.
#define WITH_WORK(make, use) \
  Work work;                 \
  CU_TRY(make);              \
  return use

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

CU_API(cuGraphKernelNodeSetParams, (Handle node, const KernelNodeParamsV1 *params), (node, params)) {
  if (!params) return kInvalidValue;
  const KernelNodeParams wide = widened(*params);
  WITH_WORK(kernel_work(&wide, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphKernelNodeSetParams_v2, (Handle node, const KernelNodeParams *params), (node, params)) {
  WITH_WORK(kernel_work(params, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphMemcpyNodeSetParams, (Handle node, const Copy3D *params), (node, params)) {
  WITH_WORK(copy_work(params, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphMemsetNodeSetParams, (Handle node, const MemsetNodeParams *params), (node, params)) {
  WITH_WORK(memset_work(params, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphHostNodeSetParams, (Handle node, const HostNodeParams *params), (node, params)) {
  WITH_WORK(host_work(params, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphEventRecordNodeSetEvent, (Handle node, Handle event), (node, event)) {
  WITH_WORK(event_work(event, false, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphEventWaitNodeSetEvent, (Handle node, Handle event), (node, event)) {
  WITH_WORK(event_work(event, true, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphBatchMemOpNodeSetParams, (Handle node, const MemoryOpNodeParams *params), (node, params)) {
  WITH_WORK(memory_op_work(params, &work), set_node(node, std::move(work)));
}
CU_API(cuGraphNodeSetParams, (Handle node, CUgraphNodeParams *params), (node, params)) {
  if (params && params->type == kNodeGraph) return kInvalidValue;  // a child graph is edited in place
  WITH_WORK(any_work(params, &work), set_node(node, std::move(work)));
}

CU_API(cuGraphExecKernelNodeSetParams, (Handle exec, Handle node, const KernelNodeParamsV1 *params),
       (exec, node, params)) {
  if (!params) return kInvalidValue;
  const KernelNodeParams wide = widened(*params);
  WITH_WORK(kernel_work(&wide, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecKernelNodeSetParams_v2, (Handle exec, Handle node, const KernelNodeParams *params),
       (exec, node, params)) {
  WITH_WORK(kernel_work(params, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecMemcpyNodeSetParams, (Handle exec, Handle node, const Copy3D *params, Handle),
       (exec, node, params, nullptr)) {
  WITH_WORK(copy_work(params, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecMemsetNodeSetParams, (Handle exec, Handle node, const MemsetNodeParams *params, Handle),
       (exec, node, params, nullptr)) {
  WITH_WORK(memset_work(params, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecHostNodeSetParams, (Handle exec, Handle node, const HostNodeParams *params),
       (exec, node, params)) {
  WITH_WORK(host_work(params, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecChildGraphNodeSetParams, (Handle exec, Handle node, Handle child), (exec, node, child)) {
  WITH_WORK(child_work(child, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecEventRecordNodeSetEvent, (Handle exec, Handle node, Handle event), (exec, node, event)) {
  WITH_WORK(event_work(event, false, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecEventWaitNodeSetEvent, (Handle exec, Handle node, Handle event), (exec, node, event)) {
  WITH_WORK(event_work(event, true, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecBatchMemOpNodeSetParams, (Handle exec, Handle node, const MemoryOpNodeParams *params),
       (exec, node, params)) {
  WITH_WORK(memory_op_work(params, &work), set_step(exec, node, std::move(work)));
}
CU_API(cuGraphExecNodeSetParams, (Handle exec, Handle node, CUgraphNodeParams *params),
       (exec, node, params)) {
  WITH_WORK(any_work(params, &work), set_step(exec, node, std::move(work)));
}

// Attributes of kernel nodes: the cooperative one and the cluster say what is done, the others how.
CU_API(cuGraphKernelNodeGetAttribute, (Handle handle, int id, void *value), (handle, id, value)) {
  std::shared_ptr<Node> node;
  KernelWork *kernel = nullptr;
  CU_TRY(find_work(handle, &node, &kernel));
  if (!value || id < 0 || id >= kLaunchAttributeCount) return kInvalidValue;
  const CUlaunchAttribute *found = find_attribute(*kernel, id);
  const CUlaunchAttribute unset{};
  std::memcpy(value, (found ? found : &unset)->value, sizeof unset.value);
  return kSuccess;
}
CU_API(cuGraphKernelNodeSetAttribute, (Handle handle, int id, const void *value), (handle, id, value)) {
  std::shared_ptr<Node> node;
  KernelWork *kernel = nullptr;
  CU_TRY(find_work(handle, &node, &kernel));
  if (!value || id < 0 || id >= kLaunchAttributeCount) return kInvalidValue;
  CUlaunchAttribute attribute{id, {}, {}};
  std::memcpy(attribute.value, value, sizeof attribute.value);
  KernelWork changed = *kernel;
  if (id == kLaunchCooperative) changed.launch.cooperative = attribute.value[0] != 0;
  if (CUlaunchAttribute *found = find_attribute(changed, id))
    *found = attribute;
  else
    changed.attributes.push_back(attribute);
  CU_TRY(choose_cluster(&changed));
  *kernel = std::move(changed);
  return kSuccess;
}
CU_API(cuGraphKernelNodeCopyAttributes, (Handle to, Handle from), (to, from)) {
  std::shared_ptr<Node> to_node, from_node;
  KernelWork *to_kernel = nullptr, *from_kernel = nullptr;
  CU_TRY(find_work(to, &to_node, &to_kernel));
  CU_TRY(find_work(from, &from_node, &from_kernel));
  Work changed = *to_kernel;
  CU_TRY(keep_attributes(*from_kernel, &changed));
  to_node->work = std::move(changed);
  return kSuccess;
}
