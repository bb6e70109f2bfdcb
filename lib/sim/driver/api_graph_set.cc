// Changing what graph nodes do, in graphs and executables; attributes of kernel nodes.
#include <cstring>

#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/cluster.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/node_work.h"

using namespace egpu::sim;

namespace {

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

CUlaunchAttribute *find_attribute(KernelWork &kernel, int id) {
  for (CUlaunchAttribute &attribute : kernel.attributes)
    if (attribute.id == id) return &attribute;
  return nullptr;
}

}  // namespace

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
