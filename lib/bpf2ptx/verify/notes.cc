#include "lib/bpf2ptx/verify/notes.h"

#include <set>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/verify/flow_graph.h"
#include "lib/bpf2ptx/verify/uniformity.h"

namespace egpu::bpf {
namespace {

// So few addresses that at least four lanes of a warp of 32 meet on each.
constexpr uint64_t kFewAddresses = 8;

class Notes {
 public:
  Notes(const Program &program, const Object &object, const Facts &facts)
      : program_(program), object_(object), facts_(facts) {
    for (const Chain &chain : facts.chains) graphs_.emplace_back(program, chain);
  }

  // By instruction; each instruction once, however many chains it is part of.
  std::map<int, std::string> find() {
    for (size_t c = 0; c < facts_.chains.size(); ++c) {
      const Chain &chain = facts_.chains[c];
      for (int i = chain.begin; i < chain.end; ++i) {
        if (!chain.at(i).reachable) continue;
        const Op &op = program_.insns[static_cast<size_t>(i)].op;
        if (auto *atomic = std::get_if<Atomic>(&op)) check(c, i, *atomic);
        if (auto *jump = std::get_if<JumpIf>(&op)) check(c, i, *jump);
      }
    }
    return std::move(notes_);
  }

 private:
  const Uniformity::Row &row(size_t chain, int insn) const { return facts_.uniform(chain, insn); }

  // ptxas makes one atomic of a warp's on one address if all lanes have the same operand
  // (docs/facts.md, 2).
  void check(size_t chain, int insn, const Atomic &op) {
    const std::vector<Pointer> &memory = facts_.chains[chain].at(insn).memory;
    if (memory.size() != 1 || memory[0].space != Space::map_value) return;
    const MapSpec &map = object_.maps[static_cast<size_t>(memory[0].map)];
    const auto &regs = row(chain, insn).regs;
    uint64_t addresses = regs[op.base.n] == Uniform::lane ? address_count(memory[0], op.bytes, map) : 1;
    if (addresses > 1 && addresses <= kFewAddresses)
      notes_[insn] = format(
          "the lanes of a warp update {} addresses of '{}' at once, and those that meet wait for each other; "
          "more entries are faster",
          addresses, map.name);
    if (addresses == 1 && regs[op.src.n] == Uniform::lane)
      notes_[insn] = format(
          "the lanes of a warp {} one address of '{}', one after the other; a gpu.warp program or more "
          "entries are faster",
          op.op == AtomicOp::add ? "add different numbers to" : "update", map.name);
  }

  // The most addresses that an access can have.
  static uint64_t address_count(const Pointer &p, int bytes, const MapSpec &map) {
    auto offsets = static_cast<uint64_t>((p.max_offset - p.min_offset) / bytes) + 1;
    return offsets * map.shape.max_entries;
  }

  // Both ways of a branch that splits a warp are executed. That costs something where both do work;
  // a check that leaves early does not, nor does a key that was not found.
  void check(size_t chain, int insn, const JumpIf &op) {
    const FlowGraph &graph = graphs_[chain];
    bool varies = branch_label(op, row(chain, insn)) == Uniform::lane;
    bool null_check = std::holds_alternative<Imm>(op.rhs) && (row(chain, insn).lookups >> op.lhs.n) & 1;
    int block = graph.block_of(insn);
    if (!varies || null_check || graph.blocks()[static_cast<size_t>(block)].next.size() != 2) return;
    if (is_inside_noted(chain, insn)) return;
    FlowGraph::Split split = graph.split(block);
    int work[2] = {work_of(chain, split.sides[0]), work_of(chain, split.sides[1])};
    if (!split.cycle.empty() || work[0] == 0 || work[1] == 0) return;
    notes_[insn] = format(
        "the lanes of a warp may go both ways here, and then execute both, one after the other ({} and {} "
        "accesses to maps and calls); choose the address or the number with ?: and access memory once",
        std::min(work[0], work[1]), std::max(work[0], work[1]));
    for (int b = 0; b < graph.last(); ++b)
      if (split.region[static_cast<size_t>(b)]) noted_.insert({chain, b});
  }

  // One note per cause: a branch inside one that has a note has none of its own.
  bool is_inside_noted(size_t chain, int insn) const {
    for (int c = static_cast<int>(chain); c >= 0; c = facts_.chains[static_cast<size_t>(c)].parent) {
      int block = graphs_[static_cast<size_t>(c)].block_of(insn);
      if (noted_.contains({static_cast<size_t>(c), block})) return true;
      insn = facts_.chains[static_cast<size_t>(c)].call;
    }
    return false;
  }

  int work_of(size_t chain, const Blocks &side) const {
    const FlowGraph &graph = graphs_[chain];
    int work = 0;
    for (int b = 0; b < graph.last(); ++b) {
      const FlowGraph::Block &block = graph.blocks()[static_cast<size_t>(b)];
      for (int i = block.begin; side[static_cast<size_t>(b)] && i < block.end; ++i) work += is_work(chain, i);
    }
    return work;
  }

  bool is_work(size_t chain, int insn) const {
    const Op &op = program_.insns[static_cast<size_t>(insn)].op;
    if (std::holds_alternative<CallHelper>(op) || std::holds_alternative<CallLocal>(op)) return true;
    const InsnFacts &facts = facts_.chains[chain].at(insn);
    return !facts.constant && std::any_of(facts.memory.begin(), facts.memory.end(),
                                          [](const Pointer &p) { return p.space == Space::map_value; });
  }

  const Program &program_;
  const Object &object_;
  const Facts &facts_;
  std::vector<FlowGraph> graphs_;
  std::map<int, std::string> notes_;
  std::set<std::pair<size_t, int>> noted_;  // chain, block: executed on one way of a branch with a note
};

}  // namespace

std::vector<Note> find_notes(const Program &program, const Object &object, const Facts &facts) {
  std::vector<Note> notes;
  if (!facts.uniformity.complete || most_varying(program.event.scope) != Uniform::lane) return notes;
  for (const auto &[insn, text] : Notes(program, object, facts).find()) notes.push_back({insn, text});
  return notes;
}

}  // namespace egpu::bpf
