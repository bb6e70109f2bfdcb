#include "lib/sim/machine/flow.h"

#include <algorithm>

namespace egpu::sim {
namespace {
constexpr uint32_t kNoBlock = 0xFFFFFFFFu;

struct Graph {
  std::vector<uint32_t> first;                    // operation of each block
  std::vector<uint32_t> block_of;                 // by operation
  std::vector<std::vector<uint32_t>> successors;  // the last block is the virtual exit
};

Graph make_graph(const std::vector<Flow> &flow) {
  uint32_t count = static_cast<uint32_t>(flow.size());
  std::vector<bool> leader(count + 1, false);
  leader[0] = true;
  for (uint32_t i = 0; i < count; ++i) {
    if (flow[i].kind == Flow::next) continue;
    leader[i + 1] = true;
    for (uint32_t target : flow[i].targets) leader[target] = true;
  }
  Graph graph;
  graph.block_of.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (leader[i]) graph.first.push_back(i);
    graph.block_of[i] = static_cast<uint32_t>(graph.first.size()) - 1;
  }
  uint32_t blocks = static_cast<uint32_t>(graph.first.size());
  auto last = [&](uint32_t b) { return (b + 1 < blocks ? graph.first[b + 1] : count) - 1; };
  auto bare_exit = [&](uint32_t b) {
    const Flow &f = flow[last(b)];
    return last(b) == graph.first[b] && f.kind == Flow::leave && !f.conditional;
  };
  graph.successors.resize(blocks + 1);
  for (uint32_t b = 0; b < blocks; ++b) {
    const Flow &f = flow[last(b)];
    auto &out = graph.successors[b];
    bool falls = f.kind == Flow::next || f.conditional;
    if (falls && b + 1 < blocks) out.push_back(b + 1);
    for (uint32_t target : f.targets) out.push_back(graph.block_of[target]);
    if (f.kind == Flow::leave && !f.conditional) out.push_back(blocks);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    if (out.size() > 1) {  // leave out the bare exits, unless there is nothing else
      auto kept = std::stable_partition(out.begin(), out.end(),
                                        [&](uint32_t s) { return s == blocks || !bare_exit(s); });
      if (kept != out.begin()) out.erase(kept, out.end());
    }
  }
  return graph;
}

// Immediate post-dominator of each block; kNoBlock where the exit is not reached.
std::vector<uint32_t> post_dominators(const Graph &graph) {
  uint32_t count = static_cast<uint32_t>(graph.successors.size()), exit = count - 1;
  std::vector<std::vector<uint32_t>> predecessors(count);
  for (uint32_t b = 0; b < count; ++b)
    for (uint32_t s : graph.successors[b]) predecessors[s].push_back(b);
  // Post-order of the reverse graph from the exit.
  std::vector<uint32_t> order, number(count, kNoBlock);
  std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
  std::vector<bool> seen(count, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[b, at] = stack.back();
    if (at < predecessors[b].size()) {
      uint32_t p = predecessors[b][at++];
      if (!seen[p]) {
        seen[p] = true;
        stack.emplace_back(p, 0);
      }
    } else {
      number[b] = static_cast<uint32_t>(order.size());
      order.push_back(b);
      stack.pop_back();
    }
  }
  std::vector<uint32_t> dominator(count, kNoBlock);
  dominator[exit] = exit;
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = dominator[a];
      while (number[b] < number[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      uint32_t b = order[i], next = kNoBlock;
      if (b == exit) continue;
      for (uint32_t s : graph.successors[b]) {
        if (number[s] == kNoBlock || dominator[s] == kNoBlock) continue;
        next = next == kNoBlock ? s : meet(next, s);
      }
      if (next != dominator[b]) {
        dominator[b] = next;
        changed = true;
      }
    }
  }
  return dominator;
}
}  // namespace

std::vector<uint32_t> join_points(const std::vector<Flow> &flow) {
  std::vector<uint32_t> joins(flow.size(), kNoBlock);
  if (flow.empty()) return joins;
  Graph graph = make_graph(flow);
  std::vector<uint32_t> dominator = post_dominators(graph);
  for (uint32_t i = 0; i < flow.size(); ++i) {
    if (flow[i].kind != Flow::branch) continue;
    uint32_t d = dominator[graph.block_of[i]];
    if (d != kNoBlock && d + 1 < graph.successors.size()) joins[i] = graph.first[d];
  }
  return joins;
}

}  // namespace egpu::sim
