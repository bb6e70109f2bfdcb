#include "lib/bpf2ptx/verify/registers.h"

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {
namespace {

std::string base_of(const Value &value, const std::vector<MapSpec> &maps) {
  auto map = [&] { return "'" + maps[static_cast<size_t>(value.map)].name + "'"; };
  switch (value.kind) {
    case Kind::ctx:
      return "ctx";
    case Kind::stack:
      return value.frame == 0 ? "stack" : format("stack of call {}", value.frame);
    case Kind::map_value:
      return "a value of " + map();
    case Kind::map_value_or_null:
      return "NULL or a value of " + map();
    case Kind::map:
      return "map " + map();
    default:
      return describe(value);
  }
}

std::string describe(const Value &value, const std::vector<MapSpec> &maps) {
  if (value.is_scalar()) return to_string(value.range);
  std::string text = base_of(value, maps);
  if (!value.is_memory()) return text;
  if (value.min_offset() == value.max_offset())
    return value.min_offset() == 0 ? text : format("{} {}", text, with_sign(value.min_offset()));
  if (value.min_offset() <= -Value::kFar || value.max_offset() >= Value::kFar) return text + " + any offset";
  return format("{} + ({} to {})", text, value.min_offset(), value.max_offset());
}

}  // namespace

std::string describe_registers(const State &state, const std::vector<MapSpec> &maps) {
  std::string text;
  for (int n = 0; n < kRegCount; ++n) {
    const Value &value = state.reg(n);
    if (value.kind == Kind::uninit) continue;
    text += format("{}r{} = {}", text.empty() ? "" : ", ", n, describe(value, maps));
  }
  return text;
}

}  // namespace egpu::bpf
