#include "lib/sim/driver/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/sim/driver/graph_update.h"

namespace egpu::sim {

namespace {

GraphWork work_of(const Shape &shape) {
  GraphWork work;
  for (const Shape::Vertex &vertex : shape.vertices)
    work.steps.push_back(vertex.child ? Work(std::make_shared<const GraphWork>(work_of(*vertex.child)))
                                      : vertex.work);
  work.is_disabled.resize(work.steps.size());
  return work;
}

}  // namespace

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
  for (const std::shared_ptr<Node> &node : nodes) {
    if (node->child) node->child->forget();
    retire(handle_of(*node));
  }
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

std::shared_ptr<Graph> Graph::clone() const {
  std::vector<std::shared_ptr<Node>> originals;
  if (!ordered(&originals)) return nullptr;
  auto copy = std::make_shared<Graph>();
  copy->user_objects = user_objects;
  std::map<Handle, Handle> renamed;
  for (const std::shared_ptr<Node> &original : originals) {
    std::vector<Handle> before;
    for (Handle dependency : original->dependencies) before.push_back(renamed[dependency]);
    std::shared_ptr<Node> node;
    copy->add(original->work, before, &node);  // all that it depends on is there
    node->original = handle_of(*original);
    if (original->child) {
      node->child = original->child->clone();
      publish(node->child);
    }
    renamed[node->original] = handle_of(*node);
  }
  return copy;
}

Status GraphExec::instantiate(const Graph &graph, unsigned long long flags) {
  auto shape = std::make_shared<Shape>();
  if (!shape_of(graph, shape.get())) return kInvalidValue;
  auto work = std::make_shared<GraphWork>(work_of(*shape));
  for (const auto &[handle, reference] : graph.user_objects) work->resources.push_back(reference.resource);
  const std::lock_guard lock(mutex_);
  shape_ = std::move(shape);
  flags_ = flags;
  work_ = std::move(work);
  return kSuccess;
}

Status GraphExec::update(const Graph &graph, GraphExecUpdateResult *result) {
  *result = {kUpdateError, nullptr, nullptr};
  GraphExec fresh;
  CU_TRY(fresh.instantiate(graph, flags_));
  const std::lock_guard lock(mutex_);
  std::vector<size_t> partners;
  *result = pair_nodes(*shape_, *fresh.shape_, &partners);
  if (result->result != kUpdated) return kGraphExecUpdateFailure;
  auto work = std::make_shared<GraphWork>(*work_);
  for (size_t i = 0; i < partners.size(); ++i) work->steps[i] = fresh.work_->steps[partners[i]];
  work_ = std::move(work);
  return kSuccess;
}

Status GraphExec::find_step(Handle node, size_t *index) const {
  const std::vector<Shape::Vertex> &all = shape_->vertices;
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const auto &vertex) { return vertex.node == node; });
  *index = static_cast<size_t>(at - all.begin());
  return at == all.end() ? kInvalidValue : kSuccess;
}

Status GraphExec::set_step(Handle node, Work step) {
  const std::lock_guard lock(mutex_);
  size_t i = 0;
  CU_TRY(find_step(node, &i));
  if (type_of(step) != type_of(work_->steps[i])) return kInvalidValue;
  auto work = std::make_shared<GraphWork>(*work_);
  work->steps[i] = std::move(step);
  work_ = std::move(work);
  return kSuccess;
}

Status GraphExec::step(Handle node, Work *work) const {
  const std::lock_guard lock(mutex_);
  size_t i = 0;
  CU_TRY(find_step(node, &i));
  *work = work_->steps[i];
  return kSuccess;
}

Status GraphExec::set_enabled(Handle node, bool is_enabled) {
  const std::lock_guard lock(mutex_);
  size_t i = 0;
  CU_TRY(find_step(node, &i));
  if (type_of(work_->steps[i]) > kNodeMemset) return kInvalidValue;
  auto work = std::make_shared<GraphWork>(*work_);
  work->is_disabled[i] = !is_enabled;
  work_ = std::move(work);
  return kSuccess;
}

Status GraphExec::is_enabled(Handle node, bool *is_enabled) const {
  const std::lock_guard lock(mutex_);
  size_t i = 0;
  CU_TRY(find_step(node, &i));
  *is_enabled = !work_->is_disabled[i];
  return kSuccess;
}

Status find_graph(Handle handle, std::shared_ptr<Graph> *graph) {
  return require(handle, kInvalidValue, graph);
}

Status find_node(Handle handle, std::shared_ptr<Node> *node) { return require(handle, kInvalidValue, node); }

Status find_exec(Handle handle, std::shared_ptr<GraphExec> *exec) {
  return require(handle, kInvalidValue, exec);
}

}  // namespace egpu::sim
