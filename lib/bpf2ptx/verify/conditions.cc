// Conditional branches: which ways can they go, and what is known then?
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/verify/branch.h"
#include "lib/bpf2ptx/verify/explore.h"

namespace egpu::bpf {
namespace {

// The register's number is known to be in `range`; so is every copy of it, and what is a constant more lies
// as much higher.
void learn(State &state, Value &value, const Range &range) {
  value.range = range;
  if (value.id == 0) return;
  uint32_t id = value.id;
  int64_t delta = value.delta;
  state.for_each_value([&](Value &copy) {
    if (!copy.is_scalar() || copy.id != id) return;
    Range higher = range;
    if (copy.delta != delta)
      higher = eval(AluOp::add, true, range, Range::constant(static_cast<uint64_t>(copy.delta - delta)));
    copy.range = intersect(copy.range, higher).value_or(higher);
  });
}

bool same_number(const Value &a, const Value &b) { return a.id != 0 && a.id == b.id && a.delta == b.delta; }

bool holds_for_equals(CmpOp op) {
  return op == CmpOp::eq || op == CmpOp::ge || op == CmpOp::le || op == CmpOp::sge || op == CmpOp::sle;
}

// What is NULL together with `pointer`, a look-up's result, turns out to be a value, or NULL.
void decide_null(State &state, const Value &pointer, bool is_null) {
  state.for_each_value([&](Value &v) {
    if (v.kind != Kind::map_value_or_null || v.id != pointer.id) return;
    if (is_null)
      v = Value::constant(0);
    else
      v.kind = Kind::map_value, v.id = 0;
  });
}

// The state in which the branch has gone one way; nothing: it cannot.
std::optional<State> refined(const State &state, const JumpIf &op, bool outcome, bool copies_are_equal) {
  const auto *rhs_reg = std::get_if<Reg>(&op.rhs);
  Range lhs = state.reg(op.lhs.n).range;
  Range rhs = rhs_reg ? state.reg(rhs_reg->n).range
                      : Range::constant(static_cast<uint64_t>(int64_t{std::get<Imm>(op.rhs).value}));
  CmpOp compare = op.op;
  bool same_register = rhs_reg && rhs_reg->n == op.lhs.n;
  if (rhs_reg &&
      (same_register || (copies_are_equal && same_number(state.reg(op.lhs.n), state.reg(rhs_reg->n))))) {
    if (op.op != CmpOp::set && holds_for_equals(op.op) != outcome) return std::nullopt;
    if (op.op != CmpOp::set) return state;
    // "x & x" is x.
    compare = CmpOp::ne;
    rhs = Range::constant(0);
    rhs_reg = nullptr;
  }
  if (!refine(compare, op.is64, outcome, lhs, rhs)) return std::nullopt;
  State next = state;
  learn(next, next.reg(op.lhs.n), lhs);
  if (rhs_reg) learn(next, next.reg(rhs_reg->n), rhs);
  return next;
}

}  // namespace

Result<Explorer::Walk> Explorer::branch(Path &path, const JumpIf &op) {
  if (auto e = transfer_.check_readable(path.state, path.pc, op.lhs.n)) return *e;
  const Value lhs = path.state.reg(op.lhs.n);
  Value rhs = Value::constant(0);
  if (auto *reg = std::get_if<Reg>(&op.rhs)) {
    if (auto e = transfer_.check_readable(path.state, path.pc, reg->n)) return *e;
    rhs = path.state.reg(reg->n);
  } else {
    rhs = Value::constant(static_cast<uint64_t>(int64_t{std::get<Imm>(op.rhs).value}));
  }
  if (lhs.is_pointer() || rhs.is_pointer()) return branch_on_pointer(path, op, lhs, rhs);
  bool copies = walks_->copies_are_equal;
  std::optional<State> taken = refined(path.state, op, true, copies),
                       fallen = refined(path.state, op, false, copies);
  if (!taken || !fallen || informs(path, lhs) || informs(path, rhs))
    decided(path.pc);
  else if (!walks_->decides[static_cast<size_t>(path.pc)])
    relied_ |= lhs.id || rhs.id;
  return fork(path, op, std::move(taken), std::move(fallen));
}

void Explorer::decided(int branch) {
  std::vector<bool>::reference decides = walks_->decides[static_cast<size_t>(branch)];
  if (decides) return;
  decides = true;
  stale_ = true;
  again_ |= relied_ || claims_;
}

// Does what a branch tells of this operand tell something of another number, one that matters?
bool Explorer::informs(const Path &path, const Value &operand) {
  if (!operand.is_scalar() || operand.id == 0) return false;
  const Matters &now = matters();
  const auto &frames = path.state.frames;
  for (size_t f = 0; f < frames.size(); ++f) {
    bool top = f + 1 == frames.size();
    RegMask regs =
        top ? liveness_.after(now.before, path.pc) : liveness_.during_call(now.before, frames[f + 1].call);
    for (size_t n = 0; n < kRegCount; ++n)
      if ((regs >> n) & 1 && frames[f].regs[n].is_scalar() && frames[f].regs[n].id == operand.id) return true;
    for (const Stack::Spill &spill : frames[f].stack.spills())
      if (spill.value.is_scalar() && spill.value.id == operand.id &&
          any_of_bytes(now.stack, spill.begin, spill.size))
        return true;
  }
  return false;
}

Result<Explorer::Walk> Explorer::fork(Path &path, const JumpIf &op, std::optional<State> taken,
                                      std::optional<State> fallen) {
  collector_.branch(taken.has_value(), fallen.has_value());
  int next = path.pc + 1;
  if (taken && fallen) {
    int outside = path.state.reg(op.lhs.n).outside;
    if (auto *reg = std::get_if<Reg>(&op.rhs)) outside = std::max(outside, path.state.reg(reg->n).outside);
    push(path, *std::move(taken), op.target, outside);
    steps_.push_back({path.pc, next, path.history, outside});
    path.history = static_cast<int>(steps_.size()) - 1;
    taken.reset();
  }
  if (!taken && !fallen) {
    // The state was contradictory: no run comes here.
    mark_reads(path);
    if (auto e = end(path, {})) return *e;
    return Walk::ended;
  }
  path.pc = taken ? op.target : next;
  path.state = taken ? *std::move(taken) : *std::move(fallen);
  return Walk::on;
}

void Explorer::push(const Path &path, State state, int pc, int outside) {
  Path other = path;
  steps_.push_back({path.pc, pc, path.history, outside});
  other.history = static_cast<int>(steps_.size()) - 1;
  other.state = std::move(state);
  other.pc = pc;
  ++seen_[static_cast<size_t>(path.seen)]->open;
  todo_.push_back(std::move(other));
}

Result<Explorer::Walk> Explorer::branch_on_pointer(Path &path, const JumpIf &op, const Value &lhs,
                                                   const Value &rhs) {
  bool equality = op.op == CmpOp::eq || op.op == CmpOp::ne;
  if (!op.is64)
    return fail(path, format("only the low half of a pointer is compared here ({})",
                             describe(lhs.is_pointer() ? lhs : rhs)));
  bool lhs_null = lhs.is_constant() && lhs.range.value() == 0,
       rhs_null = rhs.is_constant() && rhs.range.value() == 0;
  if (equality && rhs_null) return branch_on_null(path, op, lhs);
  if (equality && lhs_null) return branch_on_null(path, op, rhs);
  State equal = path.state;
  bool lhs_may_be_null = lhs.kind == Kind::map_value_or_null,
       rhs_may_be_null = rhs.kind == Kind::map_value_or_null;
  // What equals a pointer that is not NULL is not NULL.
  if (lhs.is_pointer() && rhs.is_pointer() && lhs_may_be_null != rhs_may_be_null)
    decide_null(equal, lhs_may_be_null ? lhs : rhs, false);
  if (op.op == CmpOp::eq) return fork(path, op, std::move(equal), path.state);
  if (op.op == CmpOp::ne) return fork(path, op, path.state, std::move(equal));
  return fork(path, op, path.state, path.state);
}

Result<Explorer::Walk> Explorer::branch_on_null(Path &path, const JumpIf &op, const Value &pointer) {
  bool taken_if_null = op.op == CmpOp::eq;
  std::optional<State> null, valid = path.state;
  if (pointer.kind == Kind::map_value_or_null) {
    null = path.state;
    decide_null(*null, pointer, true);
    decide_null(*valid, pointer, false);
  }
  if (taken_if_null) return fork(path, op, std::move(null), std::move(valid));
  return fork(path, op, std::move(valid), std::move(null));
}

}  // namespace egpu::bpf
