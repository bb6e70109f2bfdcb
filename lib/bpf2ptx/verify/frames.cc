#include "lib/bpf2ptx/verify/frames.h"

#include <algorithm>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {
namespace {

struct CallSite {
  int insn, callee;  // callee: index of a subprogram
};

std::vector<CallSite> calls_of(const Program &program, const Structure &structure, size_t subprogram) {
  std::vector<CallSite> calls;
  for (size_t i = 0; i < program.insns.size(); ++i) {
    if (structure.subprogram_of[i] != static_cast<int>(subprogram)) continue;
    const Op &op = program.insns[i].op;
    int target = -1;
    if (auto *call = std::get_if<CallLocal>(&op)) target = call->target;
    // A callback is counted where its address is taken.
    if (auto *load = std::get_if<LoadFunction>(&op)) target = load->target;
    if (target >= 0)
      calls.push_back({static_cast<int>(i), structure.subprogram_of[static_cast<size_t>(target)]});
  }
  return calls;
}

// Depth-first over the call graph; `open` are the subprograms on the way.
class CallWalk {
 public:
  CallWalk(const Program &program, const Structure &structure, const Messages &messages)
      : structure_(structure), messages_(messages) {
    for (size_t n = 0; n < structure.starts.size(); ++n) calls_.push_back(calls_of(program, structure, n));
    depth_.assign(calls_.size(), 0);
  }

  std::optional<Error> walk(int subprogram) {
    open_.push_back(subprogram);
    size_t deepest = 1;
    for (const CallSite &call : calls_[static_cast<size_t>(subprogram)]) {
      const std::string &name = structure_.names[static_cast<size_t>(call.callee)];
      if (std::find(open_.begin(), open_.end(), call.callee) != open_.end())
        return messages_.error(
            call.insn, format("{} is called while it runs; recursion is not possible, use a loop", name));
      if (depth_[static_cast<size_t>(call.callee)] == 0)
        if (auto e = walk(call.callee)) return e;
      deepest = std::max(deepest, 1 + depth_[static_cast<size_t>(call.callee)]);
      if (deepest > kMaxFrames)
        return messages_.error(call.insn,
                               format("calls are nested more than {} deep; inline {}", kMaxFrames, name));
    }
    open_.pop_back();
    depth_[static_cast<size_t>(subprogram)] = deepest;
    return std::nullopt;
  }

 private:
  const Structure &structure_;
  const Messages &messages_;
  std::vector<std::vector<CallSite>> calls_;
  std::vector<size_t> depth_;  // frames of the deepest call chain from here; 0: not walked
  std::vector<int> open_;
};

}  // namespace

std::optional<Error> check_calls(const Program &program, const Structure &structure,
                                 const Messages &messages) {
  return CallWalk(program, structure, messages).walk(0);
}

std::optional<Error> check_stack_depth(const Structure &structure, const Facts &facts,
                                       const Messages &messages) {
  std::vector<int64_t> total;  // by chain: with its callers
  for (const Chain &chain : facts.chains) {
    int64_t own = 0;
    for (const StackRegion &region : chain.stack) own = std::max(own, (-region.begin + 7) / 8 * 8);
    total.push_back(own + (chain.parent < 0 ? 0 : total[static_cast<size_t>(chain.parent)]));
    if (total.back() <= kStackBytes) continue;
    std::string text = format(
        "all functions together use {} bytes of stack, more than {}; keep large "
        "variables in a map, or call less deeply",
        total.back(), kStackBytes);
    return messages.error(chain.parent < 0 ? structure.starts[0] : chain.call, text);
  }
  return std::nullopt;
}

}  // namespace egpu::bpf
