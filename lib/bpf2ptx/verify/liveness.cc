#include "lib/bpf2ptx/verify/liveness.h"

#include "lib/bpf2ptx/verify/helpers.h"

namespace egpu::bpf {
namespace {

RegMask bit(Reg r) { return static_cast<RegMask>(1u << r.n); }
RegMask bit(const Operand &o) { return std::holds_alternative<Reg>(o) ? bit(std::get<Reg>(o)) : RegMask{0}; }
RegMask bits(int mask) { return static_cast<RegMask>(mask); }

constexpr RegMask kR0 = 1;

struct Use {
  RegUse operator()(const Alu &op) const { return {bits(bit(op.dst) | bit(op.src)), bit(op.dst)}; }
  RegUse operator()(const Neg &op) const { return {bit(op.dst), bit(op.dst)}; }
  RegUse operator()(const Mov &op) const { return {bit(op.src), bit(op.dst)}; }
  RegUse operator()(const Endian &op) const { return {bit(op.dst), bit(op.dst)}; }
  RegUse operator()(const LoadImm64 &op) const { return {0, bit(op.dst)}; }
  RegUse operator()(const LoadMap &op) const { return {0, bit(op.dst)}; }
  RegUse operator()(const LoadMapValue &op) const { return {0, bit(op.dst)}; }
  RegUse operator()(const LoadFunction &op) const { return {0, bit(op.dst)}; }
  RegUse operator()(const Load &op) const { return {bit(op.base), bit(op.dst)}; }
  RegUse operator()(const Store &op) const { return {bits(bit(op.base) | bit(op.src)), 0}; }
  RegUse operator()(const Atomic &op) const {
    RegMask reads = bits(bit(op.base) | bit(op.src));
    if (op.op == AtomicOp::cmpxchg) return {bits(reads | kR0), kR0};
    return {reads, op.fetch ? bit(op.src) : RegMask{0}};
  }
  RegUse operator()(const Jump &) const { return {}; }
  RegUse operator()(const JumpIf &op) const { return {bits(bit(op.lhs) | bit(op.rhs)), 0}; }
  RegUse operator()(const CallHelper &op) const {
    const Helper *helper = find_helper(op.id);
    int count = helper ? argument_count(*helper) : 5;
    return {bits(((1 << count) - 1) << 1), Liveness::kCallClobbers};
  }
  RegUse operator()(const CallLocal &) const { return {bits(0x3e), Liveness::kCallClobbers}; }
  RegUse operator()(const Exit &) const { return {kR0, 0}; }
};

}  // namespace

RegUse reg_use(const Op &op) { return std::visit(Use{}, op); }

Liveness::Liveness(const std::vector<Insn> &insns) : insns_(insns), before_(insns.size(), 0) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = insns.size(); i-- > 0;) {
      RegUse use = reg_use(insns[i].op);
      // What a callee reads of r1 to r5 is what is live at its start.
      if (auto *call = std::get_if<CallLocal>(&insns[i].op))
        use.reads = static_cast<RegMask>(before_[static_cast<size_t>(call->target)] & 0x3e);
      auto live = static_cast<RegMask>((after(static_cast<int>(i)) & ~use.writes) | use.reads);
      if (auto *jump = std::get_if<JumpIf>(&insns[i].op)) live |= before_[static_cast<size_t>(jump->target)];
      if (live == before_[i]) continue;
      before_[i] = live;
      changed = true;
    }
  }
}

RegMask Liveness::after(int insn) const {
  auto i = static_cast<size_t>(insn);
  const Op &op = insns_[i].op;
  if (std::holds_alternative<Exit>(op)) return 0;
  if (auto *jump = std::get_if<Jump>(&op)) return before_[static_cast<size_t>(jump->target)];
  RegMask live = i + 1 < before_.size() ? before_[i + 1] : RegMask{0};
  if (auto *jump = std::get_if<JumpIf>(&op)) live |= before_[static_cast<size_t>(jump->target)];
  return live;
}

}  // namespace egpu::bpf
