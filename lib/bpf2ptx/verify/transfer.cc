#include "lib/bpf2ptx/verify/transfer.h"

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {

State Transfer::initial() const {
  State state;
  state.frames.resize(1);
  state.reg(1) = Value::pointer(Kind::ctx);
  state.reg(kFramePointer) = Value::pointer(Kind::stack);
  return state;
}

std::optional<Error> Transfer::execute(State &state, int pc) {
  pc_ = pc;
  const Op &op = program_.insns[static_cast<size_t>(pc)].op;
  auto [reads, writes] = reg_use(op);
  if ((writes >> kFramePointer) & 1) return fail("the frame pointer r10 is read-only");
  bool is_call = std::holds_alternative<CallHelper>(op);
  for (int n = 0; n < kRegCount && !is_call; ++n)
    if ((reads >> n) & 1) EGPU_CHECK(check_readable(state, pc, n));
  return std::visit([&](const auto &o) { return run(state, o); }, op);
}

std::optional<Error> Transfer::check_readable(const State &state, int pc, int reg) const {
  if (state.reg(reg).kind != Kind::uninit) return std::nullopt;
  const Op &op = program_.insns[static_cast<size_t>(pc)].op;
  if (std::holds_alternative<Exit>(op))
    return messages_.error(pc, "the program ends without a result in r0; return a number on every path");
  std::string text = format("r{} is not initialised here", reg);
  if (reg >= 1 && reg <= 5)
    return messages_.error(pc, text + "; calls clear r1 to r5, and a variable needs a value on every path");
  return messages_.error(pc, text + "; give the variable a value on every path");
}

bool Transfer::accesses_memory(const Op &op) {
  return std::holds_alternative<Load>(op) || std::holds_alternative<Store>(op) ||
         std::holds_alternative<Atomic>(op);
}

Value Transfer::operand(const State &state, const Operand &src) const {
  if (auto *reg = std::get_if<Reg>(&src)) return state.reg(reg->n);
  return Value::constant(static_cast<uint64_t>(int64_t{std::get<Imm>(src).value}));
}

Transfer::Check Transfer::scalar_operand(const State &state, int reg, const char *what) const {
  if (state.reg(reg).is_scalar()) return std::nullopt;
  return fail(
      format("r{} is {}, and {}; only numbers can be used here", reg, describe(state.reg(reg)), what));
}

void Transfer::set(State &state, Reg dst, Value value) const {
  if (value.is_scalar() && value.range.empty()) value.range = Range::unknown();
  value.origin = pc_;
  state.reg(dst.n) = value;
}

// The result of a lookup is used unchecked.
Error Transfer::may_be_null(const Value &value, int reg) const {
  std::string variable = messages_.assigned_variable(value.origin, pc_);
  return fail(
      format("{} may be NULL here: the lookup at {} is not checked; check it first: if (!{}) return 0;",
             variable.empty() ? format("r{}", reg) : "`" + variable + "`", messages_.where(value.origin, pc_),
             variable.empty() ? "ptr" : variable),
      {{value.origin, "this lookup gives NULL if there is no such key"}});
}

Transfer::Check Transfer::run(State &state, const Mov &op) {
  auto *source = std::get_if<Reg>(&op.src);
  if (!source) {
    auto imm = static_cast<uint64_t>(int64_t{std::get<Imm>(op.src).value});
    set(state, op.dst, Value::constant(op.is64 ? imm : static_cast<uint32_t>(imm)));
    return std::nullopt;
  }
  Value &from = state.reg(source->n);
  if (from.is_pointer()) {
    if (!op.is64 || op.sign_extend_bits)
      return fail(format("r{} is {}; a copy of its low half cannot be used as a pointer or a number",
                         source->n, describe(from)));
    state.reg(op.dst.n) = from;
    return std::nullopt;
  }
  Range range = eval(op, from.range);
  // A copy of the same number: what a branch learns of one, it learns of the other.
  bool same =
      op.sign_extend_bits == 0 ? (op.is64 || from.range.full.umax <= 0xffffffff) : range == from.range;
  if (same && !from.id && !from.range.is_constant()) from.id = fresh_id();
  Value copy = from;
  copy.range = range;
  if (!same) copy.unlink();
  set(state, op.dst, copy);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const Neg &op) {
  EGPU_CHECK(scalar_operand(state, op.dst.n, "a pointer cannot be negated"));
  Value value = state.reg(op.dst.n);
  value.range = negate(op.is64, value.range);
  value.unlink();
  set(state, op.dst, value);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const Endian &op) {
  EGPU_CHECK(scalar_operand(state, op.dst.n, "the bytes of a pointer cannot be swapped"));
  Value value = state.reg(op.dst.n);
  value.range = eval(op, value.range);
  value.unlink();
  set(state, op.dst, value);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const LoadImm64 &op) {
  set(state, op.dst, Value::constant(op.value));
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const LoadMap &op) {
  Value value = Value::pointer(Kind::map);
  value.map = op.map;
  set(state, op.dst, value);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const LoadMapValue &op) {
  Value value = Value::pointer(Kind::map_value);
  value.map = op.map;
  value.offset = op.offset;
  set(state, op.dst, value);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const LoadFunction &op) {
  Value value = Value::pointer(Kind::function);
  value.function = op.target;
  set(state, op.dst, value);
  return std::nullopt;
}

}  // namespace egpu::bpf
