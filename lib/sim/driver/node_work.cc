#include "lib/sim/driver/node_work.h"

#include "lib/sim/driver/launch.h"

namespace egpu::sim {

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
  CU_TRY(memory_op_work(params->operations, params->count, params->flags, &operations));
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

}  // namespace egpu::sim
