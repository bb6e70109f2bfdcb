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

Liveness::Liveness(const std::vector<Insn> &insns, size_t main_end)
    : insns_(insns), main_end_(main_end), before_(insns.size(), 0) {
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
  stack_pointers_ = may_point_to_stack();
}

RegMask Liveness::after(const std::vector<RegMask> &before, int insn) const {
  auto i = static_cast<size_t>(insn);
  const Op &op = insns_[i].op;
  if (std::holds_alternative<Exit>(op)) return 0;
  if (auto *jump = std::get_if<Jump>(&op)) return before[static_cast<size_t>(jump->target)];
  RegMask live = i + 1 < before.size() ? before[i + 1] : RegMask{0};
  if (auto *jump = std::get_if<JumpIf>(&op)) live |= before[static_cast<size_t>(jump->target)];
  return live;
}

// Registers that hold an address in the stack somewhere in the program; numbers stored through
// others never come back.
RegMask Liveness::may_point_to_stack() const {
  RegMask pointers = 1 << kFramePointer;
  for (RegMask before = 0; before != pointers;) {
    before = pointers;
    bool spilled = false;
    for (const Insn &insn : insns_) {
      auto *store = std::get_if<Store>(&insn.op);
      spilled |= store && (bit(store->src) & pointers);
    }
    for (const Insn &insn : insns_) {
      RegUse use = reg_use(insn.op);
      if (std::holds_alternative<Load>(insn.op)) {
        if (spilled) pointers |= use.writes;
      } else if (std::holds_alternative<CallLocal>(insn.op)) {
        // A function may return what it was given.
        if (use.reads & pointers) pointers |= kR0;
      } else if (std::holds_alternative<CallHelper>(insn.op)) {
        // bpf_loop passes its r3 on as the callback's r2.
        if (pointers & 0x8) pointers |= 0x4;
      } else if (!std::holds_alternative<Atomic>(insn.op) && (use.reads & pointers)) {
        pointers |= use.writes;
      }
    }
  }
  return pointers;
}

// Where an access through `base` can lie in the stack of a frame; an address that was computed: anywhere.
Stack::Bytes Liveness::stack_bytes(Reg base, int offset, int size) const {
  Stack::Bytes bytes;
  if (!(bit(base) & stack_pointers_)) return bytes;
  if (base.n != kFramePointer || offset < -kStackBytes || offset + size > 0) return bytes.set();
  for (int at = offset; at < offset + size; ++at) bytes.set(static_cast<size_t>(-at - 1));
  return bytes;
}

// The numbers that matter before an instruction, from those that matter after it; adds to those of the stack.
RegMask Liveness::matters_through(size_t insn, bool decides, Matters &matters) const {
  const Op &op = insns_[insn].op;
  RegUse use = reg_use(op);
  RegMask after = this->after(matters.before, static_cast<int>(insn));
  RegMask rest = bits(after & ~use.writes);
  bool result_matters = after & use.writes;
  if (auto *load = std::get_if<Load>(&op)) {
    if (result_matters) matters.stack |= stack_bytes(load->base, load->offset, load->bytes);
    return bits(rest | bit(load->base));
  }
  if (auto *store = std::get_if<Store>(&op)) {
    bool kept = (stack_bytes(store->base, store->offset, store->bytes) & matters.stack).any();
    return bits(rest | bit(store->base) | (kept ? bit(store->src) : 0));
  }
  if (auto *atomic = std::get_if<Atomic>(&op)) {
    if (result_matters) matters.stack |= stack_bytes(atomic->base, atomic->offset, atomic->bytes);
    return bits(rest | bit(atomic->base));
  }
  if (std::holds_alternative<Exit>(op)) return insn < main_end_ ? RegMask{0} : kR0;
  if (auto *alu = std::get_if<Alu>(&op)) {
    // Divisors are looked at: facts say whether they can be zero.
    bool divides =
        alu->op == AluOp::div || alu->op == AluOp::sdiv || alu->op == AluOp::mod || alu->op == AluOp::smod;
    RegMask divisor = divides ? bit(alu->src) : RegMask{0};
    return bits(rest | divisor | (result_matters ? use.reads : 0));
  }
  bool moves = std::holds_alternative<Mov>(op) || std::holds_alternative<Neg>(op) ||
               std::holds_alternative<Endian>(op);
  if (moves) return bits(rest | (result_matters ? use.reads : 0));
  // Each operand learns from the other.
  if (std::holds_alternative<JumpIf>(op)) return bits(rest | (decides || after & use.reads ? use.reads : 0));
  if (auto *call = std::get_if<CallLocal>(&op))
    return bits(rest | (matters.before[static_cast<size_t>(call->target)] & 0x3e));
  return bits(rest | use.reads);
}

Matters Liveness::matters(const std::vector<bool> &decides) const {
  Matters matters{std::vector<RegMask>(insns_.size(), 0), {}};
  for (bool changed = true; changed;) {
    changed = false;
    Stack::Bytes stack = matters.stack;
    for (size_t i = insns_.size(); i-- > 0;) {
      RegMask before = matters_through(i, decides[i], matters);
      changed |= before != matters.before[i];
      matters.before[i] = before;
    }
    changed |= stack != matters.stack;
  }
  return matters;
}

}  // namespace egpu::bpf
