// Loads, stores and atomics: where may they go, and what do they give?
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/verify/ctx.h"
#include "lib/bpf2ptx/verify/transfer.h"

namespace egpu::bpf {
namespace {

std::string span(int64_t min, int64_t max) {
  if (min == max) return format("offset {}", min);
  if (min <= -Value::kFar || max >= Value::kFar) return "an unbounded offset";
  return format("offset {} to {}", min, max);
}

}  // namespace

Transfer::Check Transfer::check_pointer_kind(const Value &address, int reg, Access access) const {
  const char *verb = access == Access::load ? "load" : access == Access::store ? "store" : "atomic";
  switch (address.kind) {
    case Kind::uninit:
      return fail(format("r{} is not initialised here", reg));
    case Kind::scalar:
      return fail(format(
          "r{} is a number ({}), not a pointer; a {} goes through the context, the stack or a map value", reg,
          to_string(address.range), verb));
    case Kind::map_value_or_null:
      return may_be_null(address, reg);
    case Kind::map:
      return fail(format("r{} is a map itself; bpf_map_lookup_elem() gives a pointer to a value of it", reg));
    case Kind::function:
      return fail(format("r{} is a function; its code cannot be read", reg));
    default:
      return std::nullopt;
  }
}

Transfer::Check Transfer::check_alignment(const Value &address, int offset, int size) const {
  Tnum place = address.range.bits + Tnum::constant(static_cast<uint64_t>(address.offset + offset));
  if (place.is_aligned(static_cast<uint64_t>(size))) return std::nullopt;
  std::string where =
      address.range.is_constant() ? format(" (offset {})", address.min_offset() + offset) : "";
  return fail(
      format("{} bytes at an address{} that is no multiple of {}: a GPU faults on misaligned accesses; align "
             "the data or access it byte by byte",
             size, where, size));
}

Transfer::Check Transfer::check_stack_bounds(const Value &address, int offset, int size) const {
  int64_t begin = address.min_offset() + offset, end = address.max_offset() + offset + size;
  if (begin >= -kStackBytes && end <= 0) return std::nullopt;
  return fail(format(
      "{} bytes at {} of the stack frame, which is offset -{} to 0; check the index, or use less stack", size,
      span(begin, end - size), kStackBytes));
}

Transfer::Check Transfer::check_stack_access(State &state, const Value &address, int offset, int size,
                                             Access access) const {
  EGPU_CHECK(check_stack_bounds(address, offset, size));
  Stack &stack = state.frames[static_cast<size_t>(address.frame)].stack;
  auto begin = static_cast<int>(address.min_offset() + offset),
       last = static_cast<int>(address.max_offset() + offset);
  stack.touch(begin);
  if (access == Access::store) return std::nullopt;
  if (auto hole = stack.uninitialized(begin, last + size - begin))
    return fail(format(
        "the stack is not initialised at offset {} here; give the variable a value on every path", *hole));
  stack.note_read(begin, last + size - begin);
  if (begin == last && access == Access::load) {
    if (stack.load(begin, size)) return std::nullopt;
    return fail(format("{} bytes of a pointer that is kept on the stack cannot be used as a number", size));
  }
  if (stack.holds_pointer(begin, last + size - begin))
    return fail("this may access a pointer that is kept on the stack, as a number");
  return std::nullopt;
}

Transfer::Check Transfer::check_map_bounds(const Value &address, int offset, int size, int reg) const {
  const MapSpec &map = map_of(address);
  int64_t begin = address.min_offset() + offset, last = address.max_offset() + offset;
  int64_t limit = map.shape.value_size;
  if (begin >= 0 && last + size <= limit) return std::nullopt;
  std::string what = format("{} bytes at {} of a value of map '{}', which has {} bytes", size,
                            span(begin, last), map.name, limit);
  if (begin == last) return fail(what + "; the offset is outside the value");
  return fail(what + format("; check the index before using it, or mask it: & (N - 1) (r{})", reg));
}

Transfer::Check Transfer::check_ctx_access(const Value &address, int offset, int size, Access access) const {
  if (access != Access::load) return fail("the context is read-only; keep the value in a variable");
  if (!address.range.is_constant())
    return fail("the context can only be read at fixed offsets; select the field with if or switch");
  int64_t at = address.min_offset() + offset;
  if (find_ctx_field(program_.event, at, size)) return std::nullopt;
  return fail(explain_ctx_offset(program_.event, at, size));
}

Transfer::Check Transfer::check_cookie_access(const Value &address, int offset, int size,
                                              Access access) const {
  if (access == Access::atomic)
    return fail(
        "the cookie belongs to one thread, warp or block; atomics on it have no use, load and store it");
  if (!address.range.is_constant() || address.min_offset() + offset != 0 || size != 8)
    return fail("the cookie is loaded and stored as a whole: 8 bytes at offset 0");
  return std::nullopt;
}

Transfer::Check Transfer::check_access(State &state, Reg base, int offset, int size, Access access) const {
  const Value &address = state.reg(base.n);
  EGPU_CHECK(check_pointer_kind(address, base.n, access));
  if (address.kind != Kind::cookie) EGPU_CHECK(check_alignment(address, offset, size));
  switch (address.kind) {
    case Kind::stack:
      EGPU_CHECK(check_stack_access(state, address, offset, size, access));
      break;
    case Kind::ctx:
      EGPU_CHECK(check_ctx_access(address, offset, size, access));
      break;
    case Kind::cookie:
      EGPU_CHECK(check_cookie_access(address, offset, size, access));
      break;
    default:
      EGPU_CHECK(check_map_bounds(address, offset, size, base.n));
      if (access != Access::load && map_of(address).read_only)
        return fail(
            format("'{}' is read-only; make the variable non-const to write it", map_of(address).name));
  }
  return collector_.memory(address, offset, size);
}

std::optional<uint64_t> Transfer::constant_at(const Value &address, int offset, int size) const {
  if (address.kind != Kind::map_value || !address.range.is_constant()) return std::nullopt;
  const MapSpec &map = map_of(address);
  if (!map.read_only) return std::nullopt;
  auto begin = static_cast<size_t>(address.min_offset() + offset);
  uint64_t value = 0;
  for (size_t i = 0; i < static_cast<size_t>(size); ++i)
    if (begin + i < map.initial.size()) value |= uint64_t{map.initial[begin + i]} << (8 * i);
  return value;
}

Result<Value> Transfer::load_value(State &state, const Value &address, int offset, int size) const {
  Value unknown = Value::scalar(extend(Range::unknown(), size, false));
  int64_t at = address.min_offset() + offset;
  switch (address.kind) {
    case Kind::stack: {
      const Stack &stack = state.frames[static_cast<size_t>(address.frame)].stack;
      if (!address.range.is_constant()) return unknown;
      return *stack.load(static_cast<int>(at), size);
    }
    case Kind::ctx: {
      const CtxField *field = find_ctx_field(program_.event, at, size);
      if (field->bytes == size && field->max < unknown.range.full.umax)
        unknown.range = Range::up_to(field->max);
      return unknown;
    }
    case Kind::map_value:
      if (auto constant = constant_at(address, offset, size)) return Value::constant(*constant);
      if (!map_of(address).read_only) unknown.outside = pc_;
      return unknown;
    default:
      return unknown;
  }
}

Transfer::Check Transfer::run(State &state, const Load &op) {
  EGPU_CHECK(check_access(state, op.base, op.offset, op.bytes, Access::load));
  EGPU_TRY(Value value, load_value(state, state.reg(op.base.n), op.offset, op.bytes));
  if (value.is_pointer()) {
    collector_.loaded(std::nullopt);
    state.reg(op.dst.n) = value;
    return std::nullopt;
  }
  if (op.sign_extend) {
    Range extended = extend(value.range, op.bytes, true);
    if (!(extended == value.range)) value.unlink();
    value.range = extended;
  }
  // Another path may come here with another number on the stack, if it does not matter.
  bool known = value.is_constant() && state.reg(op.base.n).kind != Kind::stack;
  collector_.loaded(known ? std::optional(value.range.value()) : std::nullopt);
  set(state, op.dst, value);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const Store &op) {
  EGPU_CHECK(check_access(state, op.base, op.offset, op.bytes, Access::store));
  const Value address = state.reg(op.base.n);
  auto *source = std::get_if<Reg>(&op.src);
  if (source) {
    Value &from = state.reg(source->n);
    if (from.is_pointer() && (address.kind != Kind::stack || op.bytes != 8))
      return fail(address.kind == Kind::stack
                      ? format("r{} is {}; only all 8 bytes of a pointer can be kept on the stack", source->n,
                               describe(from))
                      : format("r{} is {}; pointers may not leave the program", source->n, describe(from)));
    if (from.kind == Kind::stack && address.kind == Kind::stack &&
        address.frame + 1 < static_cast<int>(state.frames.size()))
      return fail(
          "the address of a variable may not be stored in a caller's variable: it can outlive what it points "
          "to");
    if (from.is_scalar() && address.kind == Kind::stack && !from.id && !from.range.is_constant() &&
        extend(from.range, op.bytes, false) == from.range)
      from.id = fresh_id();
  }
  Value value = operand(state, op.src);
  if (address.kind == Kind::map_value) note_lost_update(address, op.offset, op, value);
  if (address.kind != Kind::stack) return std::nullopt;
  Stack &stack = state.frames[static_cast<size_t>(address.frame)].stack;
  auto begin = static_cast<int>(address.min_offset() + op.offset),
       last = static_cast<int>(address.max_offset() + op.offset);
  if (begin == last) {
    stack.store(begin, op.bytes, value);
    return std::nullopt;
  }
  if (value.is_pointer()) return fail("a pointer can be kept on the stack at a fixed offset only");
  stack.store_somewhere(begin, last + op.bytes);
  return std::nullopt;
}

Transfer::Check Transfer::run(State &state, const Atomic &op) {
  EGPU_CHECK(check_access(state, op.base, op.offset, op.bytes, Access::atomic));
  EGPU_CHECK(scalar_operand(state, op.src.n, "pointers may not leave the program"));
  if (op.op == AtomicOp::cmpxchg)
    EGPU_CHECK(scalar_operand(state, 0, "a pointer cannot be compared with memory"));
  const Value address = state.reg(op.base.n);
  Value old = Value::scalar(extend(Range::unknown(), op.bytes, false));
  if (address.kind == Kind::stack) {
    Stack &stack = state.frames[static_cast<size_t>(address.frame)].stack;
    auto begin = static_cast<int>(address.min_offset() + op.offset),
         last = static_cast<int>(address.max_offset() + op.offset);
    if (begin == last) {
      old.range = stack.load(begin, op.bytes)->range;
      stack.store_unknown(begin, op.bytes);
    } else {
      stack.store_somewhere(begin, last + op.bytes);
    }
  }
  if (!op.fetch) return std::nullopt;
  old.outside = address.kind == Kind::map_value ? pc_ : -1;
  set(state, op.op == AtomicOp::cmpxchg ? Reg{0} : op.src, old);
  return std::nullopt;
}

void Transfer::note_lost_update(const Value &address, int offset, const Store &store, const Value &stored) {
  if (stored.outside < 0) return;
  auto *load = std::get_if<Load>(&program_.insns[static_cast<size_t>(stored.outside)].op);
  if (!load || load->bytes != store.bytes) return;
  if (collector_.same_place(stored.outside, address, offset))
    collector_.note(pc_,
                    format("threads that do this at once lose updates of '{}'; use __sync_fetch_and_add()",
                           map_of(address).name));
}

}  // namespace egpu::bpf
