// Arithmetic: on numbers by ranges, on pointers by offsets.
#include <utility>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/verify/transfer.h"

namespace egpu::bpf {
namespace {

// Larger offsets cannot be inside any object (kernel: BPF_MAX_VAR_OFF).
constexpr int64_t kMaxOffset = int64_t{1} << 29;

bool is_division(AluOp op) {
  return op == AluOp::div || op == AluOp::sdiv || op == AluOp::mod || op == AluOp::smod;
}

bool is_shift(AluOp op) { return op == AluOp::lsh || op == AluOp::rsh || op == AluOp::arsh; }

bool excludes_zero(const Range &range, bool is64) {
  return is64 ? !range.contains(0) : !range.low.contains(0) || !truncate(range.bits, 4).contains(0);
}

}  // namespace

// Constants that are well defined by RFC 9669 and yet mistakes; Linux refuses them too, and only where a
// path leads.
Transfer::Check Transfer::check_constant(const Alu &op) const {
  auto *imm = std::get_if<Imm>(&op.src);
  if (!imm) return std::nullopt;
  if (is_division(op.op) && imm->value == 0) return fail("division by zero");
  int width = op.is64 ? 64 : 32;
  if (is_shift(op.op) && (imm->value < 0 || imm->value >= width))
    return fail(format("shift of a {}-bit number by {}; shift by 0 to {}", width, imm->value, width - 1));
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const Alu &op) {
  EGPU_CHECK(check_constant(op));
  Value src = operand(state, op.src);
  Value &dst = state.reg(op.dst.n);
  if (dst.is_pointer() || src.is_pointer()) {
    auto *src_reg = std::get_if<Reg>(&op.src);
    const Value &pointer = dst.is_pointer() ? dst : src;
    int reg = dst.is_pointer() ? op.dst.n : src_reg->n;
    if (!op.is64)
      return fail(
          format("r{} is {}; 32-bit arithmetic on it would lose its upper half", reg, describe(pointer)));
    if (op.op != AluOp::add && op.op != AluOp::sub)
      return fail(format("r{} is {}; only adding and subtracting a number works on pointers", reg,
                         describe(pointer)));
    if (dst.is_pointer() && src.is_pointer()) {
      if (op.op != AluOp::sub || dst.kind != Kind::map_value || src.kind != Kind::map_value ||
          dst.map != src.map)
        return fail("two pointers can be subtracted only if both point into values of one map");
      set(state, op.dst, Value::scalar(Range::unknown()));
      return std::nullopt;
    }
    if (op.op == AluOp::sub && src.is_pointer())
      return fail(format("a pointer cannot be subtracted from a number (r{} is {})", reg, describe(pointer)));
    const Value &number = dst.is_pointer() ? src : dst;
    EGPU_TRY(Value moved, add_to_pointer(pointer, number, op.op == AluOp::sub, reg));
    int origin = pointer.origin;
    set(state, op.dst, moved);
    state.reg(op.dst.n).origin = origin;
    return std::nullopt;
  }
  if (is_division(op.op)) collector_.divisor(excludes_zero(src.range, op.is64));
  Value result = Value::scalar(eval(op.op, op.is64, dst.range, src.range));
  result.outside = std::max(dst.outside, src.outside);
  // x - x and x ^ x, which compilers use to make zero.
  auto *src_reg = std::get_if<Reg>(&op.src);
  if (src_reg && *src_reg == op.dst && (op.op == AluOp::sub || op.op == AluOp::xor_))
    result = Value::constant(0);
  // A constant more than a number that others are equal to; the second step away is forgotten, as in Linux,
  // so that a counting loop comes to states that are alike.
  bool step = op.op == AluOp::add && op.is64 && src.is_constant() && dst.id && dst.delta == 0;
  auto delta = static_cast<int64_t>(src.range.value());
  if (step && !result.range.is_constant() && delta >= INT32_MIN && delta <= INT32_MAX) {
    result.id = dst.id;
    result.delta = static_cast<int32_t>(delta);
  }
  set(state, op.dst, result);
  return std::nullopt;
}

Error Transfer::far_outside(const Value &pointer, int reg) const {
  std::string object = describe(pointer);
  if (pointer.kind == Kind::stack) object = format("the stack frame, which is offset -{} to 0", kStackBytes);
  if (pointer.kind == Kind::map_value)
    object = format("a value of map '{}', which has {} bytes", map_of(pointer).name,
                    map_of(pointer).shape.value_size);
  return fail(format(
      "r{} is moved to an unbounded offset of {}; check the index before using it, or mask it: & (N - 1)",
      reg, object));
}

Result<Value> Transfer::add_to_pointer(const Value &pointer, const Value &number, bool subtract,
                                       int reg) const {
  if (pointer.kind == Kind::map_value_or_null) return may_be_null(pointer, reg);
  if (pointer.kind == Kind::map && !subtract && number.is_constant() && number.range.value() == 0)
    return pointer;
  if (!pointer.is_memory())
    return fail(format("r{} is {}; numbers cannot be added to it", reg, describe(pointer)));
  if (pointer.kind == Kind::stack && subtract)
    return fail(
        format("a number is subtracted from r{}, which is {}; add its negative", reg, describe(pointer)));
  Value moved = pointer;
  AluOp op = subtract ? AluOp::sub : AluOp::add;
  if (number.range.is_constant()) {
    auto value = static_cast<int64_t>(number.range.value());
    if (value < -kMaxOffset || value > kMaxOffset)
      return fail(format("{} is added to r{}, which is {}: far outside it", value, reg, describe(pointer)));
    moved.offset += subtract ? -value : value;
    if (moved.offset < -kMaxOffset || moved.offset > kMaxOffset)
      return fail(format("r{} is moved to offset {}, far outside its object", reg, moved.offset));
    return moved;
  }
  moved.range = eval(op, true, pointer.range, number.range);
  if (moved.range.empty()) moved.range = Range::unknown();
  // Linux refuses at this place what can go far below the object (check_reg_sane_offset).
  for (const Range *r : {&std::as_const(number.range), &std::as_const(moved.range)})
    if (r->full.smin <= -kMaxOffset || r->full.smin >= kMaxOffset) return far_outside(pointer, reg);
  return moved;
}

}  // namespace egpu::bpf
