#include "tools/egpu-map/key.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/print/print.h"

namespace egpu::map_tool {
namespace {

using nlohmann::json;
using print::Value;

std::optional<uint64_t> parse_number(std::string text) {
  bool negative = text.starts_with("-");
  if (negative) text.erase(0, 1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) text.erase(0, 2), base = 16;
  uint64_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? ~number + 1 : number;
}

bool kernel_matches(const map::Snapshot &snapshot, const Value &key, const std::string &text) {
  if (key.text == text) return true;
  std::string name = without_parameters(key.text);
  if (name == text || without_template_arguments(name) == text) return true;
  auto kernel = snapshot.kernels.find(static_cast<uint32_t>(key.number));
  return kernel != snapshot.kernels.end() && kernel->second.mangled == text;
}

Result<bool> record_matches(const map::Snapshot &snapshot, const Value &key, const std::string &text) {
  // The C++ library's parser without exceptions: a discarded value on an error.
  json object = json::parse(text, nullptr, false);
  if (!object.is_object())
    return Error{"not a key: '" + text + "'; write a JSON object, as in '" + print::value_json(key) + "'"};
  bool all = true;
  for (const auto &[name, wanted] : object.items()) {
    const Value *found = nullptr;
    for (const print::Field &field : key.fields)
      if (field.name == name || print::with_unit(field.name, field.value.unit) == name) found = &field.value;
    if (found == nullptr)
      return Error{"the key has no field '" + name + "'; it looks like '" + print::value_json(key) + "'"};
    TRY(bool same,
        key_matches(snapshot, *found, wanted.is_string() ? wanted.get<std::string>() : wanted.dump()));
    all = all && same;
  }
  return all;
}

}  // namespace

std::string without_parameters(const std::string &printable) {
  if (!printable.ends_with(")")) return printable;
  int depth = 0;
  for (size_t i = printable.size(); i-- > 0;) {
    if (printable[i] == ')') depth++;
    if (printable[i] == '(' && --depth == 0) return printable.substr(0, i);
  }
  return printable;
}

std::string without_template_arguments(const std::string &name) {
  if (!name.ends_with(">")) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>') depth++;
    if (name[i] == '<' && --depth == 0) return name.substr(0, i);
  }
  return name;
}

Result<bool> key_matches(const map::Snapshot &snapshot, const Value &key, const std::string &text) {
  auto number = parse_number(text);
  switch (key.kind) {
    case Value::Kind::kernel:
      return (number && *number == key.number) || kernel_matches(snapshot, key, text);
    case Value::Kind::site:
      return (number && *number == key.number) || key.text == text;
    case Value::Kind::text:
      return key.text == text || (number && *number == key.number && key.number != 0);
    case Value::Kind::boolean:
      return text == print::inline_text(key) || (number && *number == key.number);
    case Value::Kind::record:
      return record_matches(snapshot, key, text);
    case Value::Kind::list:
      return print::value_json(key) == text || print::inline_text(key) == text;
    default:
      break;
  }
  if (!number) return Error{"not a number: '" + text + "'"};
  return *number == key.number;
}

}  // namespace egpu::map_tool
