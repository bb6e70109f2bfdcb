// Graphs: their shape, instantiating, launching, updating. Nodes by type: api_graph_node.cc.
#include <cstdio>
#include <cstring>

#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

namespace {

Status instantiate(Handle *made, Handle graph_handle, unsigned long long flags) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(graph_handle, &graph));
  if (!made) return kInvalidValue;
  auto exec = std::make_shared<GraphExec>();
  CU_TRY(exec->instantiate(*graph, flags));
  *made = publish(std::move(exec));
  return kSuccess;
}

// Such a graph keeps its nodes and edges, and is not copied (CUDA Driver API, cuGraphAddMemAllocNode).
bool has_memory_nodes(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const std::shared_ptr<Node> &node) {
    return std::holds_alternative<GraphMemoryWork>(node->work);
  });
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
  CU_TRY(find_graph(handle, &graph));
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
  CU_TRY(find_node(handle, &node));
  return node_list(node->dependencies, nodes, count);
}

Status dependents(Handle handle, Handle *nodes, size_t *count) {
  std::shared_ptr<Node> node;
  CU_TRY(find_node(handle, &node));
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
  CU_TRY(find_graph(handle, &graph));
  if (count && (!from || !to)) return kInvalidValue;
  if (!add && has_memory_nodes(*graph)) return kNotSupported;
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

}  // namespace

CU_API(cuGraphCreate, (Handle * graph, unsigned flags), (graph, flags)) {
  if (!graph || flags != 0) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  *graph = publish(std::make_shared<Graph>());
  return kSuccess;
}
CU_API(cuGraphDestroy, (Handle handle), (handle)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
  graph->forget();
  return kSuccess;
}
CU_API(cuGraphClone, (Handle * made, Handle handle), (made, handle)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
  if (!made) return kInvalidValue;
  if (has_memory_nodes(*graph)) return kNotSupported;
  std::shared_ptr<Graph> clone = graph->clone();
  if (!clone) return kInvalidValue;
  *made = publish(std::move(clone));
  return kSuccess;
}

CU_API(cuGraphNodeFindInClone, (Handle * node, Handle original, Handle handle), (node, original, handle)) {
  std::shared_ptr<Graph> clone;
  CU_TRY(find_graph(handle, &clone));
  if (!node) return kInvalidValue;
  for (const std::shared_ptr<Node> &copy : clone->nodes)
    if (original && copy->original == original) {
      *node = handle_of(*copy);
      return kSuccess;
    }
  return kInvalidValue;
}
CU_API(cuGraphNodeGetType, (Handle handle, int *type), (handle, type)) {
  std::shared_ptr<Node> node;
  CU_TRY(find_node(handle, &node));
  if (!type) return kInvalidValue;
  *type = type_of(node->work);
  return kSuccess;
}
CU_API(cuGraphGetNodes, (Handle handle, Handle *nodes, size_t *count), (handle, nodes, count)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
  std::vector<Handle> all;
  for (const std::shared_ptr<Node> &node : graph->nodes) all.push_back(handle_of(*node));
  return node_list(all, nodes, count);
}
CU_API(cuGraphGetRootNodes, (Handle handle, Handle *nodes, size_t *count), (handle, nodes, count)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
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
  CU_TRY(find_node(handle, &node));
  if (has_memory_nodes(*node->graph)) return kNotSupported;
  return node->graph->remove(handle) ? kSuccess : kInvalidValue;
}

CU_API(cuGraphInstantiate, (Handle * exec, Handle graph, Handle *error_node, char *log, size_t log_bytes),
       (exec, graph, error_node, log, log_bytes)) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) *log = 0;
  return instantiate(exec, graph, 0);
}
CU_API(cuGraphInstantiate_v2, (Handle * exec, Handle graph, Handle *error_node, char *log, size_t log_bytes),
       (exec, graph, error_node, log, log_bytes)) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) *log = 0;
  return instantiate(exec, graph, 0);
}
CU_API(cuGraphInstantiateWithFlags, (Handle * exec, Handle graph, unsigned long long flags),
       (exec, graph, flags)) {
  if (flags & ~0xfull) return kInvalidValue;
  if (flags & 4) return kNotSupported;  // launch from the device
  return instantiate(exec, graph, flags);
}
CU_STREAM_API(cuGraphInstantiateWithParams, _ptsz,
              (Handle * exec, Handle graph, GraphInstantiateParams *params), (exec, graph, params)) {
  if (!params || params->flags & ~0xfull) return kInvalidValue;
  if (params->flags & 4) return kNotSupported;
  params->error_node = nullptr;
  const Status status = instantiate(exec, graph, params->flags);
  params->result = status == kSuccess ? 0 : 1;
  return status;
}
CU_STREAM_API(cuGraphUpload, _ptsz, (Handle handle, Handle stream), (handle, stream)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  CU_CONTEXT(context);
  return find_stream(*context, stream, which) ? kSuccess : kInvalidHandle;
}
CU_STREAM_API(cuGraphLaunch, _ptsz, (Handle handle, Handle stream_handle), (handle, stream_handle)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> stream = find_stream(*context, stream_handle, which);
  if (!stream) return kInvalidHandle;
  constexpr unsigned long long kFreesOnLaunch = 1;
  const std::shared_ptr<const GraphWork> work = exec->work();
  if (has_graph_memory(*work)) {
    std::unique_lock lock(context->order);
    if (stream->capture) return kNotSupported;
    lock.unlock();
    CU_TRY(give_graph_memory(*stream, *work, exec->flags() & kFreesOnLaunch));
  }
  return submit(*stream, work);
}
CU_API(cuGraphExecDestroy, (Handle handle), (handle)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  retire(handle);
  return kSuccess;
}
CU_API(cuGraphExecGetFlags, (Handle handle, unsigned long long *flags), (handle, flags)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  if (!flags) return kInvalidValue;
  *flags = exec->flags();
  return kSuccess;
}
CU_API(cuGraphNodeSetEnabled, (Handle handle, Handle node, unsigned is_enabled), (handle, node, is_enabled)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  return exec->set_enabled(node, is_enabled != 0);
}
CU_API(cuGraphNodeGetEnabled, (Handle handle, Handle node, unsigned *is_enabled),
       (handle, node, is_enabled)) {
  std::shared_ptr<GraphExec> exec;
  CU_TRY(find_exec(handle, &exec));
  bool enabled = false;
  CU_TRY(exec->is_enabled(node, &enabled));
  if (!is_enabled) return kInvalidValue;
  *is_enabled = enabled;
  return kSuccess;
}
CU_API(cuGraphExecUpdate, (Handle exec_handle, Handle graph_handle, Handle *error_node, int *result),
       (exec_handle, graph_handle, error_node, result)) {
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Graph> graph;
  CU_TRY(find_exec(exec_handle, &exec));
  CU_TRY(find_graph(graph_handle, &graph));
  GraphExecUpdateResult info{};
  const Status status = exec->update(*graph, &info);
  if (error_node) *error_node = info.error_node;
  if (result) *result = info.result;
  return status;
}
CU_API(cuGraphExecUpdate_v2, (Handle exec_handle, Handle graph_handle, GraphExecUpdateResult *result),
       (exec_handle, graph_handle, result)) {
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Graph> graph;
  CU_TRY(find_exec(exec_handle, &exec));
  CU_TRY(find_graph(graph_handle, &graph));
  return result ? exec->update(*graph, result) : kInvalidValue;
}

// What is there now and the most so far: 0 and 1 in use, 2 and 3 reserved, which is the same here.
CU_API(cuDeviceGetGraphMemAttribute, (Ordinal device, int attribute, uint64_t *value),
       (device, attribute, value)) {
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(device)) return kInvalidDevice;
  if (!value || attribute < 0 || attribute > 3) return kInvalidValue;
  const GraphMemoryUse use = graph_memory_use(*find_device(device));
  *value = attribute % 2 ? use.most_bytes : use.now_bytes;
  return kSuccess;
}
CU_API(cuDeviceSetGraphMemAttribute, (Ordinal device, int attribute, const uint64_t *value),
       (device, attribute, value)) {
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(device)) return kInvalidDevice;
  if (!value || *value != 0 || (attribute != 1 && attribute != 3)) return kInvalidValue;
  reset_most_graph_memory(*find_device(device));
  return kSuccess;
}
CU_API(cuDeviceGraphMemTrim, (Ordinal device), (device)) {
  if (!driver().initialized) return kNotInitialized;
  return find_device(device) ? kSuccess : kInvalidDevice;
}

// Nodes by number and type, in Graphviz' language.
CU_API(cuGraphDebugDotPrint, (Handle handle, const char *path, unsigned), (handle, path, 0)) {
  constexpr const char *kTypes[] = {"kernel",     "memcpy", "memset",           "host",   "graph",
                                    "empty",      "wait",   "record",           "signal", "semaphore",
                                    "allocation", "free",   "memory operations"};
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(handle, &graph));
  if (!path) return kInvalidValue;
  std::FILE *file = std::fopen(path, "w");
  if (!file) return kOperatingSystem;
  std::map<Handle, size_t> numbers;
  std::fputs("digraph graph_1 {\n", file);
  for (const std::shared_ptr<Node> &node : graph->nodes) {
    const size_t number = numbers.emplace(handle_of(*node), numbers.size()).first->second;
    const auto *kernel = std::get_if<KernelWork>(&node->work);
    std::fprintf(file, "  node_%zu [label=\"%s%s%s\"];\n", number, kTypes[type_of(node->work)],
                 kernel ? " " : "", kernel ? kernel->launch.kernel.c_str() : "");
  }
  for (const std::shared_ptr<Node> &node : graph->nodes)
    for (Handle before : node->dependencies)
      std::fprintf(file, "  node_%zu -> node_%zu;\n", numbers[before], numbers[handle_of(*node)]);
  std::fputs("}\n", file);
  return std::fclose(file) == 0 ? kSuccess : kOperatingSystem;
}
