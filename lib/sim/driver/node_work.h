// What the parameters of graph nodes describe, as work: of nodes that are added and of those that change.
#pragma once
#include <cstring>

#include "lib/sim/driver/graph.h"

namespace egpu::sim {

/// All of them: kInvalidValue for parameters that are null or wrong, or what the launch or copy would answer.
KernelNodeParams widened(const KernelNodeParamsV1 &v1);
Status kernel_work(const KernelNodeParams *params, Work *work);
Status copy_work(const Copy3D *params, Work *work);
Status memset_work(const MemsetNodeParams *params, Work *work);
Status host_work(const HostNodeParams *params, Work *work);
Status event_work(Handle handle, bool is_wait, Work *work);
Status memory_op_work(const MemoryOpNodeParams *params, Work *work);
Status child_work(Handle handle, Work *work);
/// Of a node of any type; kNotSupported: of one that is not simulated.
Status any_work(const CUgraphNodeParams *params, Work *work);

/// The union in it, from a byte on.
template <class Params>
Params read_params(const CUgraphNodeParams &params, size_t offset = 0) {
  Params read;
  std::memcpy(&read, reinterpret_cast<const char *>(params.reserved1) + offset, sizeof read);
  return read;
}

/// The node's work, if it is of that kind; kInvalidValue.
template <class Kind>
Status find_work(Handle handle, std::shared_ptr<Node> *node, Kind **work) {
  CU_TRY(find_node(handle, node));
  *work = std::get_if<Kind>(&(*node)->work);
  return *work ? kSuccess : kInvalidValue;
}

}  // namespace egpu::sim

// Body of an entry point: makes a node's work from the parameters, then does something with it.
#define WITH_WORK(make, use) \
  ::egpu::sim::Work work;    \
  CU_TRY(make);              \
  return use
