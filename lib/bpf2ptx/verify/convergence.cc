#include "lib/bpf2ptx/verify/convergence.h"

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/verify/flow_graph.h"
#include "lib/bpf2ptx/verify/helpers.h"
#include "lib/bpf2ptx/verify/uniformity.h"

namespace egpu::bpf {
namespace {

class Partings {
 public:
  Partings(const Program &program, const Facts &facts, const Messages &messages)
      : program_(program), facts_(facts), messages_(messages) {}

  std::vector<Refusal> find() {
    for (size_t c = 0; c < facts_.chains.size(); ++c) {
      const Chain &chain = facts_.chains[c];
      for (int i = chain.begin; i < chain.end; ++i) {
        auto *call = std::get_if<CallHelper>(&program_.insns[static_cast<size_t>(i)].op);
        if (call && chain.at(i).reachable && find_helper(call->id)->together)
          check(c, i, helper_name(call->id));
      }
    }
    return std::move(refusals_);
  }

 private:
  void check(size_t chain, int insn, const std::string &helper) {
    if (program_.event.scope != Scope::thread)
      return refuse(insn,
                    format("{}() asks the lanes of a warp, but one lane alone runs \"{}\"; all run a program "
                           "without .warp, .block or .grid",
                           helper, program_.event.section));
    if (!facts_.uniformity.complete)
      return refuse(insn, format("the program is too large to see that the lanes of a warp are together at "
                                 "{}(); make it smaller",
                                 helper));
    if (facts_.uniform(chain, insn).control != Uniform::lane) return;
    refuse(insn,
           format("the lanes of a warp may not all be here together, and {}() asks those that are; call "
                  "it before they part",
                  helper),
           {{parting(chain, insn), "they may part here"}});
  }

  void refuse(int insn, const std::string &text, const std::vector<Note> &notes = {}) {
    refusals_.push_back({messages_.source(insn), insn, messages_.error(insn, text, notes).message});
  }

  // The last branch that decides, lane by lane, whether `insn` is executed; or the bpf_loop() that
  // does it round by round.
  int parting(size_t chain, int insn) const {
    for (auto c = static_cast<int>(chain); c >= 0; c = facts_.chains[static_cast<size_t>(c)].parent) {
      const Chain &here = facts_.chains[static_cast<size_t>(c)];
      FlowGraph graph(program_, here);
      auto block = static_cast<size_t>(graph.block_of(insn));
      for (int b = graph.last() - 1; b >= 0; --b)
        if (parts(static_cast<size_t>(c), graph, b) && graph.split(b).region[block])
          return graph.blocks()[static_cast<size_t>(b)].end - 1;
      insn = here.call;
      if (insn >= 0 && facts_.uniform(static_cast<size_t>(here.parent), insn).control != Uniform::lane) break;
    }
    return insn;
  }

  bool parts(size_t chain, const FlowGraph &graph, int b) const {
    const FlowGraph::Block &block = graph.blocks()[static_cast<size_t>(b)];
    if (block.next.size() != 2) return false;
    const auto &jump = std::get<JumpIf>(program_.insns[static_cast<size_t>(block.end - 1)].op);
    return branch_label(jump, facts_.uniform(chain, block.end - 1)) == Uniform::lane;
  }

  const Program &program_;
  const Facts &facts_;
  const Messages &messages_;
  std::vector<Refusal> refusals_;
};

}  // namespace

std::vector<Refusal> find_partings(const Program &program, const Facts &facts, const Messages &messages) {
  return Partings(program, facts, messages).find();
}

}  // namespace egpu::bpf
