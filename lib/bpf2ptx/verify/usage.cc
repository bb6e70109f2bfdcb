#include "lib/bpf2ptx/verify/usage.h"

#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/verify/ctx.h"

namespace egpu::bpf {
namespace {

void add_map(const Pointer &pointer, ProgramUse *use) {
  if (pointer.map >= 0) use->maps.insert(pointer.map);
}

void add_access(const Program &program, const InsnFacts &facts, const Op &op, ProgramUse *use) {
  // A constant is no access: it becomes part of the code.
  if (facts.constant) return;
  for (const Pointer &p : facts.memory) {
    add_map(p, use);
    auto *load = std::get_if<Load>(&op);
    if (p.space != Space::ctx || !load) continue;
    if (const CtxField *field = find_ctx_field(program.event, p.min_offset, load->bytes))
      use->ctx_fields.insert(field->name);
  }
}

void add_call(const InsnFacts &facts, const CallHelper &op, ProgramUse *use) {
  use->helpers.insert(helper_name(op.id));
  for (const HelperCall &call : facts.calls)
    for (const Argument &argument : call.args)
      for (const Pointer &p : argument.pointers) add_map(p, use);
}

bool varies(const Uniformity::Row &row, const JumpIf &op) {
  auto *rhs = std::get_if<Reg>(&op.rhs);
  return row.regs[op.lhs.n] == Uniform::lane || (rhs && row.regs[rhs->n] == Uniform::lane);
}

}  // namespace

ProgramUse find_use(const Program &program, const Facts &facts) {
  ProgramUse use;
  std::set<int> branches, varying;
  for (size_t c = 0; c < facts.chains.size(); ++c) {
    const Chain &chain = facts.chains[c];
    for (int i = chain.begin; i < chain.end; ++i) {
      const InsnFacts &row = chain.at(i);
      if (!row.reachable) continue;
      const Op &op = program.insns[static_cast<size_t>(i)].op;
      add_access(program, row, op, &use);
      if (auto *call = std::get_if<CallHelper>(&op)) add_call(row, *call, &use);
      auto *jump = std::get_if<JumpIf>(&op);
      if (!jump || row.always_taken || row.never_taken) continue;
      branches.insert(i);
      if (facts.uniformity.complete && varies(facts.uniform(c, i), *jump)) varying.insert(i);
    }
  }
  use.branches = branches.size();
  use.varying_branches = varying.size();
  use.uniformity_known = facts.uniformity.complete;
  return use;
}

}  // namespace egpu::bpf
