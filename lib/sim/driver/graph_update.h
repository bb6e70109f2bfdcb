// Whether an executable can take over another graph's nodes, and which of them are its own's partners.
//
// The nodes of both graphs are paired from their exit nodes, in the order in which those were added, along
// their edges in the order of these (CUDA Driver API, cuGraphExecUpdate); so the order in which the nodes
// themselves were added does not count.
#pragma once
#include "lib/sim/driver/graph.h"

namespace egpu::sim {

// What an executable keeps of its graph.
struct Shape {
  struct Vertex {
    Handle node;
    std::vector<size_t> before;  // numbers of the nodes that it depends on
    Work work;
    std::shared_ptr<const Shape> child;
  };
  std::vector<Vertex> vertices;    // dependencies first
  std::vector<size_t> exit_nodes;  // as added
};

enum UpdateResult : int {  // CUgraphExecUpdateResult
  kUpdated,
  kUpdateError,
  kTopologyChanged,
  kNodeTypeChanged,
  kFunctionChanged,
  kParametersChanged,
  kUpdateNotSupported,
  kUnsupportedFunctionChange,
  kAttributesChanged,
};

/// False: there is a cycle.
bool shape_of(const Graph &graph, Shape *shape);

/// `partners[i]` is the number in `fresh` of the partner of `mine`'s i-th node. An error says what differs.
GraphExecUpdateResult pair_nodes(const Shape &mine, const Shape &fresh, std::vector<size_t> *partners);

}  // namespace egpu::sim
