// Graphs: building, instantiating, launching, updating.
#include <cstring>

#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/launch.h"

using namespace egpu::sim;

namespace {

Status graph_of(Handle handle, std::shared_ptr<Graph> *graph) {
  if (!driver().initialized) return kNotInitialized;
  *graph = find<Graph>(handle);
  return *graph ? kSuccess : kInvalidValue;
}

Status node_of(Handle handle, std::shared_ptr<Node> *node) {
  if (!driver().initialized) return kNotInitialized;
  *node = find<Node>(handle);
  return *node ? kSuccess : kInvalidValue;
}

Status add_node(Handle *made, Handle graph_handle, const Handle *dependencies, size_t count, Work work) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(graph_handle, &graph));
  if (!made || (count && !dependencies)) return kInvalidValue;
  std::shared_ptr<Node> node;
  CU_TRY(graph->add(std::move(work), {dependencies, dependencies + count}, &node));
  *made = handle_of(*node);
  return kSuccess;
}

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
  CU_TRY(prepare_launch(*context, *params, false, &kernel));
  *work = std::move(kernel);
  return kSuccess;
}

Status add_kernel(Handle *node, Handle graph, const Handle *dependencies, size_t count,
                  const KernelNodeParams *params) {
  Work work;
  CU_TRY(kernel_work(params, &work));
  return add_node(node, graph, dependencies, count, std::move(work));
}

Status set_kernel(Handle handle, const KernelNodeParams *params) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  if (!std::holds_alternative<KernelWork>(node->work)) return kInvalidValue;
  return kernel_work(params, &node->work);
}

Status get_kernel(Handle handle, KernelNodeParams *params) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  const auto *kernel = std::get_if<KernelWork>(&node->work);
  if (!kernel || !params) return kInvalidValue;
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

Status exec_of(Handle handle, std::shared_ptr<GraphExec> *exec) {
  if (!driver().initialized) return kNotInitialized;
  *exec = find<GraphExec>(handle);
  return *exec ? kSuccess : kInvalidValue;
}

Status exec_set_kernel(Handle handle, Handle node, const KernelNodeParams *params) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(exec_of(handle, &exec));
  Work work;
  CU_TRY(kernel_work(params, &work));
  return exec->set_step(node, std::move(work));
}

Status instantiate(Handle *made, Handle graph_handle) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(graph_handle, &graph));
  if (!made) return kInvalidValue;
  auto exec = std::make_shared<GraphExec>();
  CU_TRY(exec->instantiate(*graph));
  *made = publish(std::move(exec));
  return kSuccess;
}

// The work of a node given as CUgraphNodeParams.
Status work_of(const CUgraphNodeParams *params, Work *work) {
  if (!params) return kInvalidValue;
  switch (params->type) {
    case kNodeKernel:
      return kernel_work(&params->kernel, work);
    case kNodeHost: {
      HostNodeParams host;
      std::memcpy(&host, params->reserved1, sizeof host);
      if (!host.function) return kInvalidValue;
      *work = HostWork{host};
      return kSuccess;
    }
    case kNodeMemset: {
      MemsetNodeParams memset;
      std::memcpy(&memset, params->reserved1, sizeof memset);
      CU_TRY(check_memset(memset));
      *work = MemsetWork{memset};
      return kSuccess;
    }
    case kNodeEmpty:
      *work = EmptyWork{};
      return kSuccess;
    default:
      return kNotSupported;
  }
}

Status node_list(const std::vector<Handle> &all, Handle *nodes, size_t *count) {
  if (!count) return kInvalidValue;
  if (nodes) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < all.size() ? all[i] : nullptr;
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
  return kSuccess;
}

Status edges(Handle handle, Handle *from, Handle *to, size_t *count) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(handle, &graph));
  if (!count || (!from != !to)) return kInvalidValue;
  size_t found = 0;
  for (const std::shared_ptr<Node> &node : graph->nodes)
    for (Handle dependency : node->dependencies) {
      if (from && found < *count) {
        from[found] = dependency;
        to[found] = handle_of(*node);
      }
      ++found;
    }
  *count = from ? std::min(*count, found) : found;
  return kSuccess;
}

Status dependencies(Handle handle, Handle *nodes, size_t *count) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  return node_list(node->dependencies, nodes, count);
}

Status dependents(Handle handle, Handle *nodes, size_t *count) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  std::vector<Handle> all;
  for (const std::shared_ptr<Node> &other : node->graph->nodes)
    if (std::find(other->dependencies.begin(), other->dependencies.end(), handle) !=
        other->dependencies.end())
      all.push_back(handle_of(*other));
  return node_list(all, nodes, count);
}

// Adds or removes edges; nothing is changed if one of them is wrong.
Status change_edges(Handle handle, const Handle *from, const Handle *to, size_t count, bool add) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(handle, &graph));
  if (count && (!from || !to)) return kInvalidValue;
  const auto has_edge = [&](size_t i) {
    const std::vector<Handle> &all = find<Node>(to[i])->dependencies;
    return std::find(all.begin(), all.end(), from[i]) != all.end();
  };
  for (size_t i = 0; i < count; ++i)
    if (!graph->has(from[i]) || !graph->has(to[i]) || from[i] == to[i] || has_edge(i) == add)
      return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Handle> &all = find<Node>(to[i])->dependencies;
    if (add)
      all.push_back(from[i]);
    else
      std::erase(all, from[i]);
  }
  return kSuccess;
}

Status add_event(Handle *node, Handle graph, const Handle *before, size_t count, Handle event_handle,
                 bool is_wait) {
  std::shared_ptr<Event> event = find<Event>(event_handle);
  if (!event) return kInvalidValue;
  return add_node(node, graph, before, count, EventWork{std::move(event), is_wait});
}

}  // namespace

CU_API(cuGraphCreate, (Handle * graph, unsigned flags), (graph, flags)) {
  if (!graph || flags != 0) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  *graph = publish(std::make_shared<Graph>());
  return kSuccess;
}
CU_API(cuGraphDestroy, (Handle handle), (handle)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(handle, &graph));
  graph->forget();
  return kSuccess;
}
CU_API(cuGraphClone, (Handle * made, Handle handle), (made, handle)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(handle, &graph));
  if (!made) return kInvalidValue;
  auto clone = std::make_shared<Graph>();
  std::map<Handle, Handle> renamed;
  std::vector<std::shared_ptr<Node>> ordered;
  if (!graph->ordered(&ordered)) return kInvalidValue;
  for (const std::shared_ptr<Node> &node : ordered) {
    std::vector<Handle> before;
    for (Handle dependency : node->dependencies) before.push_back(renamed[dependency]);
    std::shared_ptr<Node> copy;
    CU_TRY(clone->add(node->work, before, &copy));
    renamed[handle_of(*node)] = handle_of(*copy);
  }
  *made = publish(std::move(clone));
  return kSuccess;
}

CU_API(cuGraphAddKernelNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const KernelNodeParamsV1 *params),
       (node, graph, before, count, params)) {
  if (!params) return kInvalidValue;
  const KernelNodeParams wide = widened(*params);
  return add_kernel(node, graph, before, count, &wide);
}
CU_API(cuGraphAddKernelNode_v2,
       (Handle * node, Handle graph, const Handle *before, size_t count, const KernelNodeParams *params),
       (node, graph, before, count, params)) {
  return add_kernel(node, graph, before, count, params);
}
CU_API(cuGraphAddMemcpyNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const Copy3D *params, Handle),
       (node, graph, before, count, params, nullptr)) {
  if (!params) return kInvalidValue;
  CopyWork work{*params, nullptr};
  CU_TRY(check_copy(work.copy));
  return add_node(node, graph, before, count, std::move(work));
}
CU_API(cuGraphAddMemsetNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const MemsetNodeParams *params,
        Handle),
       (node, graph, before, count, params, nullptr)) {
  if (!params) return kInvalidValue;
  CU_TRY(check_memset(*params));
  return add_node(node, graph, before, count, MemsetWork{*params});
}
CU_API(cuGraphAddHostNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, const HostNodeParams *params),
       (node, graph, before, count, params)) {
  if (!params || !params->function) return kInvalidValue;
  return add_node(node, graph, before, count, HostWork{*params});
}
CU_API(cuGraphAddEmptyNode, (Handle * node, Handle graph, const Handle *before, size_t count),
       (node, graph, before, count)) {
  return add_node(node, graph, before, count, EmptyWork{});
}
CU_API(cuGraphAddChildGraphNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Handle child),
       (node, graph, before, count, child)) {
  std::shared_ptr<Graph> inner;
  CU_TRY(graph_of(child, &inner));
  GraphExec exec;
  CU_TRY(exec.instantiate(*inner));
  return add_node(node, graph, before, count, exec.work());
}
CU_API(cuGraphAddEventRecordNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Handle event),
       (node, graph, before, count, event)) {
  return add_event(node, graph, before, count, event, false);
}
CU_API(cuGraphAddEventWaitNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, Handle event),
       (node, graph, before, count, event)) {
  return add_event(node, graph, before, count, event, true);
}
CU_API(cuGraphAddNode,
       (Handle * node, Handle graph, const Handle *before, size_t count, CUgraphNodeParams *params),
       (node, graph, before, count, params)) {
  Work work;
  CU_TRY(work_of(params, &work));
  return add_node(node, graph, before, count, std::move(work));
}
CU_API(cuGraphAddNode_v2,
       (Handle * node, Handle graph, const Handle *before, const void *edge_data, size_t count,
        CUgraphNodeParams *params),
       (node, graph, before, edge_data, count, params)) {
  if (edge_data) return kNotSupported;
  Work work;
  CU_TRY(work_of(params, &work));
  return add_node(node, graph, before, count, std::move(work));
}

CU_API(cuGraphKernelNodeGetParams, (Handle node, KernelNodeParamsV1 *params), (node, params)) {
  return get_kernel_v1(node, params);
}
CU_API(cuGraphKernelNodeGetParams_v2, (Handle node, KernelNodeParams *params), (node, params)) {
  return get_kernel(node, params);
}
CU_API(cuGraphKernelNodeSetParams, (Handle node, const KernelNodeParamsV1 *params), (node, params)) {
  if (!params) return kInvalidValue;
  const KernelNodeParams wide = widened(*params);
  return set_kernel(node, &wide);
}
CU_API(cuGraphKernelNodeSetParams_v2, (Handle node, const KernelNodeParams *params), (node, params)) {
  return set_kernel(node, params);
}
CU_API(cuGraphNodeSetParams, (Handle handle, CUgraphNodeParams *params), (handle, params)) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  Work work;
  CU_TRY(work_of(params, &work));
  if (type_of(work) != type_of(node->work)) return kInvalidValue;
  node->work = std::move(work);
  return kSuccess;
}
CU_API(cuGraphExecKernelNodeSetParams, (Handle exec, Handle node, const KernelNodeParamsV1 *params),
       (exec, node, params)) {
  if (!params) return kInvalidValue;
  const KernelNodeParams wide = widened(*params);
  return exec_set_kernel(exec, node, &wide);
}
CU_API(cuGraphExecKernelNodeSetParams_v2, (Handle exec, Handle node, const KernelNodeParams *params),
       (exec, node, params)) {
  return exec_set_kernel(exec, node, params);
}
CU_API(cuGraphExecNodeSetParams, (Handle handle, Handle node, CUgraphNodeParams *params),
       (handle, node, params)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(exec_of(handle, &exec));
  Work work;
  CU_TRY(work_of(params, &work));
  return exec->set_step(node, std::move(work));
}

CU_API(cuGraphNodeGetType, (Handle handle, int *type), (handle, type)) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  if (!type) return kInvalidValue;
  *type = type_of(node->work);
  return kSuccess;
}
CU_API(cuGraphGetNodes, (Handle handle, Handle *nodes, size_t *count), (handle, nodes, count)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(handle, &graph));
  std::vector<Handle> all;
  for (const std::shared_ptr<Node> &node : graph->nodes) all.push_back(handle_of(*node));
  return node_list(all, nodes, count);
}
CU_API(cuGraphGetRootNodes, (Handle handle, Handle *nodes, size_t *count), (handle, nodes, count)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(graph_of(handle, &graph));
  std::vector<Handle> all;
  for (const std::shared_ptr<Node> &node : graph->nodes)
    if (node->dependencies.empty()) all.push_back(handle_of(*node));
  return node_list(all, nodes, count);
}
CU_API(cuGraphGetEdges, (Handle graph, Handle *from, Handle *to, size_t *count), (graph, from, to, count)) {
  return edges(graph, from, to, count);
}
CU_API(cuGraphGetEdges_v2, (Handle graph, Handle *from, Handle *to, void *data, size_t *count),
       (graph, from, to, data, count)) {
  CU_TRY(edges(graph, from, to, count));
  if (data && from) std::memset(data, 0, *count * 8);  // CUgraphEdgeData of 8 bytes: full dependencies
  return kSuccess;
}
CU_API(cuGraphNodeGetDependencies, (Handle node, Handle *nodes, size_t *count), (node, nodes, count)) {
  return dependencies(node, nodes, count);
}
CU_API(cuGraphNodeGetDependencies_v2, (Handle node, Handle *nodes, void *data, size_t *count),
       (node, nodes, data, count)) {
  CU_TRY(dependencies(node, nodes, count));
  if (data && nodes) std::memset(data, 0, *count * 8);
  return kSuccess;
}
CU_API(cuGraphNodeGetDependentNodes, (Handle node, Handle *nodes, size_t *count), (node, nodes, count)) {
  return dependents(node, nodes, count);
}
CU_API(cuGraphNodeGetDependentNodes_v2, (Handle node, Handle *nodes, void *data, size_t *count),
       (node, nodes, data, count)) {
  CU_TRY(dependents(node, nodes, count));
  if (data && nodes) std::memset(data, 0, *count * 8);
  return kSuccess;
}
CU_API(cuGraphAddDependencies, (Handle graph, const Handle *from, const Handle *to, size_t count),
       (graph, from, to, count)) {
  return change_edges(graph, from, to, count, true);
}
CU_API(cuGraphAddDependencies_v2,
       (Handle graph, const Handle *from, const Handle *to, const void *data, size_t count),
       (graph, from, to, data, count)) {
  return data ? kNotSupported : change_edges(graph, from, to, count, true);
}
CU_API(cuGraphRemoveDependencies, (Handle graph, const Handle *from, const Handle *to, size_t count),
       (graph, from, to, count)) {
  return change_edges(graph, from, to, count, false);
}
CU_API(cuGraphRemoveDependencies_v2,
       (Handle graph, const Handle *from, const Handle *to, const void *data, size_t count),
       (graph, from, to, data, count)) {
  return data ? kNotSupported : change_edges(graph, from, to, count, false);
}
CU_API(cuGraphDestroyNode, (Handle handle), (handle)) {
  std::shared_ptr<Node> node;
  CU_TRY(node_of(handle, &node));
  return node->graph->remove(handle) ? kSuccess : kInvalidValue;
}

CU_API(cuGraphInstantiate, (Handle * exec, Handle graph, Handle *error_node, char *log, size_t log_bytes),
       (exec, graph, error_node, log, log_bytes)) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) *log = 0;
  return instantiate(exec, graph);
}
CU_API(cuGraphInstantiate_v2, (Handle * exec, Handle graph, Handle *error_node, char *log, size_t log_bytes),
       (exec, graph, error_node, log, log_bytes)) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) *log = 0;
  return instantiate(exec, graph);
}
CU_API(cuGraphInstantiateWithFlags, (Handle * exec, Handle graph, unsigned long long flags),
       (exec, graph, flags)) {
  if (flags & ~0xfull) return kInvalidValue;
  if (flags & 4) return kNotSupported;  // launch from the device
  return instantiate(exec, graph);
}
CU_STREAM_API(cuGraphInstantiateWithParams, _ptsz,
              (Handle * exec, Handle graph, GraphInstantiateParams *params), (exec, graph, params)) {
  if (!params || params->flags & ~0xfull) return kInvalidValue;
  if (params->flags & 4) return kNotSupported;
  params->error_node = nullptr;
  const Status status = instantiate(exec, graph);
  params->result = status == kSuccess ? 0 : 1;
  return status;
}
CU_STREAM_API(cuGraphUpload, _ptsz, (Handle handle, Handle stream), (handle, stream)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(exec_of(handle, &exec));
  CU_CONTEXT(context);
  return find_stream(*context, stream, which) ? kSuccess : kInvalidHandle;
}
CU_STREAM_API(cuGraphLaunch, _ptsz, (Handle handle, Handle stream_handle), (handle, stream_handle)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(exec_of(handle, &exec));
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> stream = find_stream(*context, stream_handle, which);
  if (!stream) return kInvalidHandle;
  return submit(*stream, exec->work());
}
CU_API(cuGraphExecDestroy, (Handle handle), (handle)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(exec_of(handle, &exec));
  retire(handle);
  return kSuccess;
}
CU_API(cuGraphExecUpdate, (Handle exec_handle, Handle graph_handle, Handle *error_node, int *result),
       (exec_handle, graph_handle, error_node, result)) {
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Graph> graph;
  CU_TRY(exec_of(exec_handle, &exec));
  CU_TRY(graph_of(graph_handle, &graph));
  Handle node = nullptr;
  const Status status = exec->update(*graph, &node);
  if (error_node) *error_node = node;
  if (result) *result = status == kSuccess ? 0 : node ? 3 : 2;  // node type, topology changed
  return status;
}
CU_API(cuGraphExecUpdate_v2, (Handle exec_handle, Handle graph_handle, GraphExecUpdateResult *result),
       (exec_handle, graph_handle, result)) {
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Graph> graph;
  CU_TRY(exec_of(exec_handle, &exec));
  CU_TRY(graph_of(graph_handle, &graph));
  if (!result) return kInvalidValue;
  *result = {};
  const Status status = exec->update(*graph, &result->error_node);
  result->result = status == kSuccess ? 0 : result->error_node ? 3 : 2;
  return status;
}
