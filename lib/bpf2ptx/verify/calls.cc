// Helper calls: arguments against the helper's row, and the result.
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/verify/print_format.h"
#include "lib/bpf2ptx/verify/transfer.h"

namespace egpu::bpf {

Transfer::Check Transfer::run(State &state, const CallHelper &op) {
  const Helper *helper = find_helper(op.id);
  if (!helper) return fail(explain_no_helper(op.id));
  if (helper->entry_exit_only && program_.event.kind == EventKind::insn)
    return fail(format("{}() works in entry and exit programs only; this program's event is \"{}\"",
                       helper_name(op.id), program_.event.section));
  int count = argument_count(*helper);
  for (int i = 0; i < count; ++i) EGPU_CHECK(check_argument(state, *helper, i));
  collector_.end_of_arguments();
  Value result = helper_result(state, *helper);
  for (int n = 0; n <= 5; ++n) state.reg(n) = Value{};
  set(state, Reg{0}, result);
  return std::nullopt;
}

Value Transfer::helper_result(const State &state, const Helper &helper) {
  Value result;
  switch (helper.ret) {
    case Ret::map_value_or_null:
      result = Value::pointer(Kind::map_value_or_null);
      result.map = state.reg(1).map;
      result.id = fresh_id();
      break;
    case Ret::cookie:
      result = Value::pointer(Kind::cookie);
      break;
    case Ret::scalar:
    case Ret::loop:
      result = Value::scalar(Range::up_to(helper.ret_max));
      break;
  }
  if (helper.outside) result.outside = pc_;
  return result;
}

Transfer::Check Transfer::check_map_argument(const Value &value, const Helper &helper) const {
  const MapSpec &map = map_of(value);
  if (map.shape.type == map::Type::ringbuf)
    return fail(
        format("'{}' is a ring buffer; {}() works on arrays and hashes", map.name, helper_name(helper.id)));
  if (map.read_only && helper.id == 2) return fail(format("'{}' is read-only", map.name));
  return std::nullopt;
}

// Memory that the helper reads: initialised, no pointers in it.
Transfer::Check Transfer::check_memory_argument(State &state, int index, int size, const std::string &what) {
  int reg = index + 1;
  const Value &value = state.reg(reg);
  std::string wanted = format("argument {} is {} of {} bytes", reg, what, size);
  switch (value.kind) {
    case Kind::stack: {
      EGPU_CHECK(check_stack_bounds(value, 0, size));
      Stack &stack = state.frames[static_cast<size_t>(value.frame)].stack;
      auto begin = static_cast<int>(value.min_offset());
      // Wherever in the stack it can be.
      auto reach = static_cast<int>(value.max_offset()) + size - begin;
      stack.touch(begin);
      if (auto hole = stack.uninitialized(begin, reach))
        return fail(
            format("{}, but byte {} of it is not initialised; set the whole variable first, padding too "
                   "(= {})",
                   wanted, *hole - begin, "{}"));
      stack.note_read(begin, reach);
      if (stack.holds_pointer(begin, reach))
        return fail(wanted + ", but holds a pointer; pointers may not leave the program");
      collector_.argument(index, value, size);
      return std::nullopt;
    }
    case Kind::map_value:
      EGPU_CHECK(check_map_bounds(value, 0, size, reg));
      collector_.argument(index, value, size);
      return std::nullopt;
    case Kind::map_value_or_null:
      return may_be_null(value, reg);
    default:
      return fail(format("{}, in a variable or a map value, but r{} is {}", wanted, reg, describe(value)));
  }
}

Transfer::Check Transfer::check_format(State &state) const {
  const Value &text = state.reg(1), &size = state.reg(2);
  if (text.kind != Kind::map_value || !map_of(text).read_only || !text.range.is_constant())
    return fail("the format of bpf_printk() must be a string constant");
  if (!size.is_constant()) return fail("the size of the format (r2) must be a constant: sizeof(fmt)");
  EGPU_CHECK(check_map_bounds(text, 0, static_cast<int>(std::min<uint64_t>(size.range.value(), 1 << 20)), 1));
  if (size.range.value() == 0) return fail("the format of bpf_printk() is empty");
  std::string format_text;
  bool ended = false;
  for (uint64_t i = 0; i < size.range.value() && !ended; ++i) {
    auto c = static_cast<char>(*constant_at(text, static_cast<int>(i), 1));
    ended = c == '\0';
    if (!ended) format_text += c;
  }
  if (!ended) return fail("the format of bpf_printk() has no final NUL within its size; pass sizeof(fmt)");
  auto conversions = count_conversions(format_text);
  if (!conversions) return fail(conversions.error().message);
  for (int i = 0; i < *conversions; ++i) {
    int reg = 3 + i;
    EGPU_CHECK(check_readable(state, pc_, reg));
    if (!state.reg(reg).is_scalar())
      return fail(format("argument {} of bpf_printk() is {}; only numbers can be printed", i + 1,
                         describe(state.reg(reg))));
    collector_.argument(reg - 1, state.reg(reg));
  }
  return std::nullopt;
}

Transfer::Check Transfer::check_argument(State &state, const Helper &helper, int index) {
  int reg = index + 1;
  Arg type = helper.args[static_cast<size_t>(index)];
  // The format decides how many arguments there are; check_format() checks those.
  if (type == Arg::format_argument) return std::nullopt;
  EGPU_CHECK(check_readable(state, pc_, reg));
  const Value &value = state.reg(reg);
  std::string name = helper_name(helper.id);
  switch (type) {
    case Arg::map:
      if (value.kind != Kind::map)
        return fail(format("argument 1 of {}() must be a map (&name), but r1 is {}", name, describe(value)));
      EGPU_CHECK(check_map_argument(value, helper));
      collector_.selecting_argument(index, value);
      return std::nullopt;
    case Arg::key:
      return check_memory_argument(state, index, static_cast<int>(map_of(state.reg(1)).shape.key_size),
                                   format("a key of map '{}'", map_of(state.reg(1)).name));
    case Arg::value:
      return check_memory_argument(state, index, static_cast<int>(map_of(state.reg(1)).shape.value_size),
                                   format("a value of map '{}'", map_of(state.reg(1)).name));
    case Arg::ctx:
      if (value.kind != Kind::ctx || value.min_offset() != 0 || value.max_offset() != 0)
        return fail(format("argument {} of {}() must be the program's ctx, but r{} is {}", reg, name, reg,
                           describe(value)));
      break;
    case Arg::update_flags:
      EGPU_CHECK(scalar_operand(state, reg, "the flags are a number"));
      if (value.range.full.umin > 2)
        return fail("the flags of bpf_map_update_elem() are BPF_ANY, BPF_NOEXIST or BPF_EXIST");
      break;
    case Arg::format_text:
      EGPU_CHECK(check_format(state));
      collector_.selecting_argument(index, value);
      return std::nullopt;
    case Arg::format_size:
      collector_.selecting_argument(index, value);
      return std::nullopt;
    default:
      EGPU_CHECK(scalar_operand(state, reg, "this argument is a number"));
  }
  collector_.argument(index, value);
  return std::nullopt;
}

}  // namespace egpu::bpf
