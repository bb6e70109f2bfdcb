// Graphs of work, and executable graphs. A launch of one is a single operation of its stream,
// which does the steps one after the other in an order that keeps the dependencies.
//
// As in the real API, one graph must not be used by two threads at once; executables may.
#pragma once
#include "lib/sim/driver/work.h"

namespace egpu::sim {

class Graph;
struct Resource;
struct Shape;

class Node : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::node;
  Node(Graph &its_graph, Work its_work) : Object(kKind), graph(&its_graph), work(std::move(its_work)) {}
  Graph *graph;
  Work work;
  std::vector<Handle> dependencies;
  std::vector<void *> parameter_addresses;  // what GetParams handed out
  Handle original = nullptr;                // in a clone: the node that it was made from
  std::shared_ptr<Graph> child;             // of a child graph node, which owns it
};

class Graph : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::graph;
  Graph() : Object(kKind) {}
  ~Graph() override;

  /// kInvalidValue: a dependency is not a node of this graph.
  Status add(Work work, const std::vector<Handle> &dependencies, std::shared_ptr<Node> *added);
  bool remove(Handle node);
  bool has(Handle node) const;
  /// Makes its handle and those of its nodes unknown.
  void forget();
  /// The nodes, dependencies first. False: there is a cycle.
  bool ordered(std::vector<std::shared_ptr<Node>> *nodes) const;
  /// Is `ancestor` among the nodes or what they depend on?
  bool reaches(const std::vector<Handle> &from, Handle ancestor) const;

  /// A copy whose nodes know their originals, unpublished. Null: there is a cycle.
  std::shared_ptr<Graph> clone() const;

  std::vector<std::shared_ptr<Node>> nodes;  // as added
  struct Reference {
    std::shared_ptr<Resource> resource;
    unsigned count = 0;
  };
  std::map<Handle, Reference> user_objects;
};

class GraphExec : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::graph_exec;
  GraphExec() : Object(kKind) {}

  /// kInvalidValue: there is a cycle.
  Status instantiate(const Graph &graph, unsigned long long flags);
  /// Takes over the graph's nodes; kGraphExecUpdateFailure: they are not alike (graph_update.h).
  Status update(const Graph &graph, GraphExecUpdateResult *result);
  /// The step made from this node; kInvalidValue: none, or of another type.
  Status set_step(Handle node, Work work);
  Status step(Handle node, Work *work) const;
  /// Kernels, copies and fills only; else kInvalidValue.
  Status set_enabled(Handle node, bool is_enabled);
  Status is_enabled(Handle node, bool *is_enabled) const;
  unsigned long long flags() const { return flags_; }
  std::shared_ptr<const GraphWork> work() const {
    const std::lock_guard lock(mutex_);
    return work_;
  }

 private:
  /// The node's step; kInvalidValue. Caller holds mutex_.
  Status find_step(Handle node, size_t *index) const;

  mutable std::mutex mutex_;
  std::shared_ptr<const GraphWork> work_;  // replaced as a whole: launches under way keep theirs
  std::shared_ptr<const Shape> shape_;     // of the graph it was made from: a vertex per step
  unsigned long long flags_ = 0;
};

Status find_graph(Handle handle, std::shared_ptr<Graph> *graph);
Status find_node(Handle handle, std::shared_ptr<Node> *node);
Status find_exec(Handle handle, std::shared_ptr<GraphExec> *exec);

}  // namespace egpu::sim
