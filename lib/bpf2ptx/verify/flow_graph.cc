#include "lib/bpf2ptx/verify/flow_graph.h"

#include <algorithm>

namespace egpu::bpf {
namespace {

// The instructions that execution can go on at; empty: the function ends.
std::vector<int> successors(const Program &program, const Chain &chain, int insn) {
  const Op &op = program.insns[static_cast<size_t>(insn)].op;
  if (std::holds_alternative<Exit>(op)) return {};
  if (auto *jump = std::get_if<Jump>(&op)) return {jump->target};
  auto *jump = std::get_if<JumpIf>(&op);
  if (!jump || chain.at(insn).never_taken || jump->target == insn + 1) return {insn + 1};
  if (chain.at(insn).always_taken) return {jump->target};
  return {jump->target, insn + 1};
}

}  // namespace

FlowGraph::FlowGraph(const Program &program, const Chain &chain) : begin_(chain.begin) {
  make_blocks(program, chain);
  find_merges();
}

void FlowGraph::make_blocks(const Program &program, const Chain &chain) {
  auto size = static_cast<size_t>(chain.end - chain.begin);
  std::vector<bool> starts(size, false);
  starts[0] = true;
  for (int i = chain.begin; i < chain.end; ++i) {
    if (!chain.at(i).reachable) continue;
    std::vector<int> next = successors(program, chain, i);
    if (next.size() == 1 && next[0] == i + 1) continue;
    for (int n : next) starts[static_cast<size_t>(n - begin_)] = true;
  }
  block_of_.assign(size, -1);
  for (int i = chain.begin; i < chain.end; ++i) {
    if (!chain.at(i).reachable) continue;
    bool follows = !blocks_.empty() && blocks_.back().end == i && !starts[static_cast<size_t>(i - begin_)];
    if (!follows) blocks_.push_back({i, i, {}, {}, -1});
    blocks_.back().end = i + 1;
    block_of_[static_cast<size_t>(i - begin_)] = static_cast<int>(blocks_.size()) - 1;
  }
  blocks_.push_back({chain.end, chain.end, {}, {}, -1});
  for (int b = 0; b < last(); ++b) {
    Block &block = blocks_[static_cast<size_t>(b)];
    for (int n : successors(program, chain, block.end - 1)) block.next.push_back(block_of(n));
    if (block.next.empty()) block.next.push_back(last());
    for (int n : block.next) blocks_[static_cast<size_t>(n)].previous.push_back(b);
  }
}

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm", on the reversed graph.
void FlowGraph::find_merges() {
  std::vector<int> order, number(blocks_.size(), -1);  // postorder from the last block backwards
  std::vector<std::pair<int, size_t>> open{{last(), 0}};
  Blocks seen(blocks_.size(), false);
  seen[static_cast<size_t>(last())] = true;
  while (!open.empty()) {
    auto &[b, done] = open.back();
    const std::vector<int> &previous = blocks_[static_cast<size_t>(b)].previous;
    if (done == previous.size()) {
      number[static_cast<size_t>(b)] = static_cast<int>(order.size());
      order.push_back(b);
      open.pop_back();
      continue;
    }
    int p = previous[done++];
    if (!seen[static_cast<size_t>(p)]) seen[static_cast<size_t>(p)] = true, open.push_back({p, 0});
  }
  auto merge = [&](int b) -> int & { return blocks_[static_cast<size_t>(b)].merge; };
  auto common = [&](int a, int b) {
    while (a != b) {
      while (number[static_cast<size_t>(a)] < number[static_cast<size_t>(b)]) a = merge(a);
      while (number[static_cast<size_t>(b)] < number[static_cast<size_t>(a)]) b = merge(b);
    }
    return a;
  };
  merge(last()) = last();
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size() - 1; i-- > 0;) {
      int b = order[i], found = -1;
      for (int n : blocks_[static_cast<size_t>(b)].next)
        if (number[static_cast<size_t>(n)] >= 0 && merge(n) >= 0) found = found < 0 ? n : common(found, n);
      changed |= merge(b) != found;
      merge(b) = found;
    }
  }
  // Blocks that lead to no exit: an accepted program has none.
  for (Block &block : blocks_)
    if (block.merge < 0) block.merge = last();
}

Blocks FlowGraph::reach(int start, int stop) const {
  Blocks reached(blocks_.size(), false);
  std::vector<int> todo{start};
  reached[static_cast<size_t>(start)] = true;
  while (!todo.empty()) {
    int b = todo.back();
    todo.pop_back();
    if (b == stop) continue;
    for (int n : blocks_[static_cast<size_t>(b)].next)
      if (!reached[static_cast<size_t>(n)]) reached[static_cast<size_t>(n)] = true, todo.push_back(n);
  }
  return reached;
}

FlowGraph::Split FlowGraph::split(int branch) const {
  const Block &from = blocks_[static_cast<size_t>(branch)];
  Blocks a = reach(from.next[0], from.merge), b = reach(from.next[1], from.merge);
  size_t count = blocks_.size();
  Split split{Blocks(count), Blocks(count), {}, {Blocks(count), Blocks(count)}};
  for (size_t i = 0; i < count; ++i) {
    split.region[i] = (a[i] || b[i]) && static_cast<int>(i) != from.merge;
    split.joins[i] = a[i] && b[i];
    split.sides[0][i] = a[i] && !b[i];
    split.sides[1][i] = b[i] && !a[i];
  }
  if (!split.region[static_cast<size_t>(branch)]) return split;
  // The loop: what leads back to the branch.
  split.cycle.assign(count, false);
  std::vector<int> todo{branch};
  split.cycle[static_cast<size_t>(branch)] = true;
  while (!todo.empty()) {
    int block = todo.back();
    todo.pop_back();
    for (int p : blocks_[static_cast<size_t>(block)].previous)
      if (split.region[static_cast<size_t>(p)] && !split.cycle[static_cast<size_t>(p)])
        split.cycle[static_cast<size_t>(p)] = true, todo.push_back(p);
  }
  return split;
}

}  // namespace egpu::bpf
