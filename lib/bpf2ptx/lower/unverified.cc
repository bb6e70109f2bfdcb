#include "lib/bpf2ptx/lower/unverified.h"

#include <algorithm>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {

Result<Facts> unverified_facts(const Program &program, int stack_map) {
  Facts facts;
  facts.stack_map = stack_map;
  Pointer device;
  device.space = Space::device;
  const std::vector<int> &starts = program.subprogram_starts;
  for (size_t s = 0; s < starts.size(); ++s) {
    Chain chain;
    chain.begin = starts[s];
    chain.end = s + 1 < starts.size() ? starts[s + 1] : static_cast<int>(program.insns.size());
    chain.insns.resize(static_cast<size_t>(chain.end - chain.begin));
    facts.callees[{0, 0, chain.begin}] = static_cast<int>(s);
    facts.chains.push_back(std::move(chain));
  }
  auto function_of = [&](int insn) { return std::upper_bound(starts.begin(), starts.end(), insn); };
  auto count = static_cast<int>(program.insns.size());
  for (int i = 0; i < count; ++i) {
    const Op &op = program.insns[static_cast<size_t>(i)].op;
    Chain &chain = facts.chains[static_cast<size_t>(function_of(i) - starts.begin() - 1)];
    InsnFacts &row = chain.insns[static_cast<size_t>(i - chain.begin)];
    row.reachable = true;
    row.memory = {device};
    auto fail = [&](const char *what) { return Error{format("insn {}: {}: {}", i, to_string(op), what)}; };
    int target = i;
    if (auto *jump = std::get_if<Jump>(&op)) target = jump->target;
    if (auto *jump = std::get_if<JumpIf>(&op)) target = jump->target;
    if (target < 0 || target >= count || function_of(target) != function_of(i))
      return fail("the jump leaves its function");
    auto *call = std::get_if<CallLocal>(&op);
    if (call && !facts.callees.contains({0, 0, call->target}))
      return fail("the call's target is no function");
    if (std::holds_alternative<CallHelper>(op)) return fail("helpers need a verified program");
    bool ends = std::holds_alternative<Exit>(op) || std::holds_alternative<Jump>(op);
    bool last = i + 1 == count || function_of(i + 1) != function_of(i);
    if (last && !ends) return fail("execution can run off the end of the function");
  }
  return facts;
}

}  // namespace egpu::bpf
