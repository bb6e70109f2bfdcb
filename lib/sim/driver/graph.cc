#include "lib/sim/driver/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace egpu::sim {

Graph::~Graph() = default;

bool Graph::has(Handle node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto &mine) { return handle_of(*mine) == node; });
}

Status Graph::add(Work work, const std::vector<Handle> &dependencies, std::shared_ptr<Node> *added) {
  std::vector<Handle> unique;
  for (Handle dependency : dependencies) {
    if (!has(dependency)) return kInvalidValue;
    if (std::find(unique.begin(), unique.end(), dependency) == unique.end()) unique.push_back(dependency);
  }
  auto node = std::make_shared<Node>(*this, std::move(work));
  node->dependencies = std::move(unique);
  publish(node);
  nodes.push_back(node);
  *added = std::move(node);
  return kSuccess;
}

bool Graph::remove(Handle node) {
  const auto at =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto &mine) { return handle_of(*mine) == node; });
  if (at == nodes.end()) return false;
  nodes.erase(at);
  for (const std::shared_ptr<Node> &other : nodes) std::erase(other->dependencies, node);
  retire(node);
  return true;
}

void Graph::forget() {
  for (const std::shared_ptr<Node> &node : nodes) retire(handle_of(*node));
  retire(handle_of(*this));
}

bool Graph::ordered(std::vector<std::shared_ptr<Node>> *result) const {
  std::unordered_set<Handle> done;
  result->clear();
  while (result->size() < nodes.size()) {
    const size_t before = result->size();
    for (const std::shared_ptr<Node> &node : nodes) {
      if (done.count(handle_of(*node))) continue;
      const bool ready = std::all_of(node->dependencies.begin(), node->dependencies.end(),
                                     [&](Handle dependency) { return done.count(dependency) != 0; });
      if (!ready) continue;
      done.insert(handle_of(*node));
      result->push_back(node);
    }
    if (result->size() == before) return false;
  }
  return true;
}

bool Graph::reaches(const std::vector<Handle> &from, Handle ancestor) const {
  std::unordered_map<Handle, const Node *> by_handle;
  for (const std::shared_ptr<Node> &node : nodes) by_handle[handle_of(*node)] = node.get();
  std::vector<Handle> open = from;
  std::unordered_set<Handle> seen;
  while (!open.empty()) {
    const Handle at = open.back();
    open.pop_back();
    if (at == ancestor) return true;
    if (!seen.insert(at).second) continue;
    const auto node = by_handle.find(at);
    if (node == by_handle.end()) continue;
    open.insert(open.end(), node->second->dependencies.begin(), node->second->dependencies.end());
  }
  return false;
}

Status GraphExec::instantiate(const Graph &graph) {
  std::vector<std::shared_ptr<Node>> ordered;
  if (!graph.ordered(&ordered)) return kInvalidValue;
  auto work = std::make_shared<GraphWork>();
  work->graph = handle_of(graph);
  const std::lock_guard lock(mutex_);
  nodes_.clear();
  for (const std::shared_ptr<Node> &node : ordered) {
    work->steps.push_back(node->work);
    nodes_.push_back(handle_of(*node));
  }
  work_ = std::move(work);
  return kSuccess;
}

Status GraphExec::update(const Graph &graph, Handle *error_node) {
  *error_node = nullptr;
  std::vector<std::shared_ptr<Node>> ordered;
  if (!graph.ordered(&ordered)) return kInvalidValue;
  const std::lock_guard lock(mutex_);
  if (ordered.size() != work_->steps.size()) return kGraphExecUpdateFailure;
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (type_of(ordered[i]->work) == type_of(work_->steps[i])) continue;
    *error_node = handle_of(*ordered[i]);
    return kGraphExecUpdateFailure;
  }
  auto work = std::make_shared<GraphWork>(*work_);
  for (size_t i = 0; i < ordered.size(); ++i) work->steps[i] = ordered[i]->work;
  work_ = std::move(work);
  return kSuccess;
}

Status GraphExec::set_step(Handle node, Work step) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] != node) continue;
    if (type_of(step) != type_of(work_->steps[i])) return kInvalidValue;
    auto work = std::make_shared<GraphWork>(*work_);
    work->steps[i] = std::move(step);
    work_ = std::move(work);
    return kSuccess;
  }
  return kInvalidValue;
}

}  // namespace egpu::sim
