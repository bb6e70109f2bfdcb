#include "lib/sim/driver/graph_update.h"

#include <unordered_map>
#include <unordered_set>

#include "lib/sim/driver/module.h"

namespace egpu::sim {
namespace {

constexpr size_t kUnpaired = SIZE_MAX;

Context *context_of(const KernelWork &kernel) {
  const std::shared_ptr<LoadedFunction> function = find<LoadedFunction>(kernel.function);
  return function ? &function->context : nullptr;  // of a CUkernel, any
}

// What an update cannot change in a node ("Limitations").
UpdateResult compare_works(const Work &mine, const Work &fresh) {
  if (type_of(mine) != type_of(fresh)) return kNodeTypeChanged;
  if (const auto *kernel = std::get_if<KernelWork>(&mine)) {
    const auto &other = std::get<KernelWork>(fresh);
    if (context_of(*kernel) != context_of(other)) return kUnsupportedFunctionChange;
    if (kernel->launch.cooperative != other.launch.cooperative) return kAttributesChanged;
  }
  if (std::holds_alternative<GraphMemoryWork>(mine)) return kUpdateNotSupported;
  if (const auto *copy = std::get_if<CopyWork>(&mine)) {
    const Copy3D &before = copy->copy, &after = std::get<CopyWork>(fresh).copy;
    if (before.from_type != after.from_type || before.to_type != after.to_type) return kParametersChanged;
  }
  return kUpdated;
}

class Pairing {
 public:
  Pairing(const Shape &mine, const Shape &fresh)
      : mine_(mine),
        fresh_(fresh),
        partners_(mine.vertices.size(), kUnpaired),
        taken_(mine.vertices.size()) {}

  GraphExecUpdateResult run() {
    if (mine_.vertices.size() != fresh_.vertices.size()) return {kTopologyChanged, nullptr, nullptr};
    if (fresh_.exit_nodes.size() < mine_.exit_nodes.size()) return {kTopologyChanged, nullptr, nullptr};
    for (size_t i = 0; i < fresh_.exit_nodes.size(); ++i) {
      const size_t exit = fresh_.exit_nodes[i];
      if (i == mine_.exit_nodes.size()) return {kTopologyChanged, fresh_.vertices[exit].node, nullptr};
      if (!pair(mine_.exit_nodes[i], exit, nullptr)) return difference_;
    }
    while (!open_.empty()) {
      const size_t at = open_.back();
      open_.pop_back();
      if (!pair_dependencies(mine_.vertices[at], fresh_.vertices[partners_[at]])) return difference_;
    }
    return difference_;
  }
  const std::vector<size_t> &partners() const { return partners_; }

 private:
  bool differ(UpdateResult result, Handle node, Handle from = nullptr) {
    difference_ = {result, node, from};
    return false;
  }

  // `to`: the node whose dependency the pair is; null for an exit node.
  bool pair(size_t mine, size_t fresh, Handle to) {
    const Shape::Vertex &vertex = fresh_.vertices[fresh];
    if (partners_[mine] == fresh) return true;
    if (partners_[mine] != kUnpaired || taken_[fresh]) {
      return to ? differ(kTopologyChanged, to, vertex.node) : differ(kTopologyChanged, vertex.node);
    }
    if (const UpdateResult result = compare_works(mine_.vertices[mine].work, vertex.work); result != kUpdated)
      return differ(result, vertex.node);
    if (vertex.child) {
      std::vector<size_t> unused;
      difference_ = pair_nodes(*mine_.vertices[mine].child, *vertex.child, &unused);
      if (difference_.result != kUpdated) return false;
    }
    partners_[mine] = fresh;
    taken_[fresh] = true;
    open_.push_back(mine);
    return true;
  }

  bool pair_dependencies(const Shape::Vertex &mine, const Shape::Vertex &fresh) {
    if (mine.before.size() != fresh.before.size()) return differ(kTopologyChanged, fresh.node);
    for (size_t i = 0; i < mine.before.size(); ++i)
      if (!pair(mine.before[i], fresh.before[i], fresh.node)) return false;
    return true;
  }

  const Shape &mine_, &fresh_;
  std::vector<size_t> partners_;  // of the executable's nodes
  std::vector<bool> taken_;       // of the graph's
  std::vector<size_t> open_;      // paired, their dependencies not yet
  GraphExecUpdateResult difference_{kUpdated, nullptr, nullptr};
};

}  // namespace

bool shape_of(const Graph &graph, Shape *shape) {
  std::vector<std::shared_ptr<Node>> ordered;
  if (!graph.ordered(&ordered)) return false;
  std::unordered_map<Handle, size_t> numbers;
  std::unordered_set<Handle> with_successor;
  for (const std::shared_ptr<Node> &node : ordered) {
    Shape::Vertex vertex{handle_of(*node), {}, node->work, nullptr};
    for (Handle dependency : node->dependencies) {
      vertex.before.push_back(numbers[dependency]);
      with_successor.insert(dependency);
    }
    if (node->child) {
      auto child = std::make_shared<Shape>();
      if (!shape_of(*node->child, child.get())) return false;
      vertex.child = std::move(child);
    }
    numbers.emplace(vertex.node, numbers.size());
    shape->vertices.push_back(std::move(vertex));
  }
  for (const std::shared_ptr<Node> &node : graph.nodes)
    if (!with_successor.contains(handle_of(*node))) shape->exit_nodes.push_back(numbers[handle_of(*node)]);
  return true;
}

GraphExecUpdateResult pair_nodes(const Shape &mine, const Shape &fresh, std::vector<size_t> *partners) {
  Pairing pairing(mine, fresh);
  const GraphExecUpdateResult result = pairing.run();
  *partners = pairing.partners();
  return result;
}

}  // namespace egpu::sim
