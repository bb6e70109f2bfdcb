#include "lib/bpf2ptx/lower/unverified.h"

#include <algorithm>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {

Result<Facts> unverified_facts(const Program &program, int stack_map) {
  Facts facts;
  facts.stack_map = stack_map;
  facts.insns.resize(program.insns.size());
  const std::vector<int> &starts = program.subprogram_starts;
  auto function_of = [&](int insn) { return std::upper_bound(starts.begin(), starts.end(), insn); };
  auto count = static_cast<int>(program.insns.size());
  for (int i = 0; i < count; ++i) {
    const Op &op = program.insns[static_cast<size_t>(i)].op;
    InsnFacts &row = facts.insns[static_cast<size_t>(i)];
    row.reachable = true;
    row.memory.space = Space::device;
    auto fail = [&](const char *what) { return Error{format("insn {}: {}: {}", i, to_string(op), what)}; };
    int target = i;
    if (auto *jump = std::get_if<Jump>(&op)) target = jump->target;
    if (auto *jump = std::get_if<JumpIf>(&op)) target = jump->target;
    if (target < 0 || target >= count || function_of(target) != function_of(i))
      return fail("the jump leaves its function");
    if (std::holds_alternative<CallHelper>(op)) return fail("helpers need a verified program");
    bool ends = std::holds_alternative<Exit>(op) || std::holds_alternative<Jump>(op);
    bool last = i + 1 == count || function_of(i + 1) != function_of(i);
    if (last && !ends) return fail("execution can run off the end of the function");
  }
  return facts;
}

}  // namespace egpu::bpf
