#include "lib/loader/ptx/symbols.h"

#include <cinttypes>
#include <cstdio>
#include <string_view>

namespace egpu::ptx {
namespace {

constexpr std::string_view kMap = "egpu_map_", kShard = "egpu_shard_", kStride = "egpu_stride_";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string hex(uint64_t n) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, n);
  return text;
}

Result<uint64_t> bound(const Probe &p, const std::string &symbol, const Bindings &bindings) {
  std::string key = p.object == 0 ? symbol : std::to_string(p.object) + ":" + symbol;
  auto value = bindings.constants.find(key);
  if (value == bindings.constants.end()) return Error{p.name + ": " + key + " has no value at this event"};
  return value->second;
}

// Copies lie `stride` bytes apart; an SM whose number is beyond the last one shares that.
Result<std::string> shard(const Probe &p, const std::string &symbol, const std::string &name,
                          const Bindings &bindings) {
  std::string index = symbol.substr(kShard.size());
  TRY(uint64_t map, bound(p, std::string(kMap) + index, bindings));
  TRY(uint64_t stride, bound(p, std::string(kStride) + index, bindings));
  if (stride == 0) return "\tmov.b64 " + name + ", " + hex(map) + ";\n";
  TRY(uint64_t last, bound(p, "egpu_last_shard", bindings));
  std::string out =
      "\t{\n\t.reg .b32 egpu_x;\n\tmov.u32 egpu_x, %smid;\n\tmin.u32 egpu_x, egpu_x, " + hex(last) + ";\n";
  if (stride <= UINT32_MAX)
    out += "\tmul.wide.u32 " + name + ", egpu_x, " + hex(stride) + ";\n";
  else
    out += "\tcvt.u64.u32 " + name + ", egpu_x;\n\tmul.lo.u64 " + name + ", " + name + ", " + hex(stride) +
           ";\n";
  return out + "\tadd.s64 " + name + ", " + name + ", " + hex(map) + ";\n\t}\n";
}

}  // namespace

const char *symbol_type(const std::string &symbol) {
  static constexpr std::string_view kWide[] = {kMap,        kShard,        "egpu_launch_ns",   "egpu_arg_",
                                               "egpu_addr", "egpu_cookie", "egpu_ktime_offset"};
  for (std::string_view wide : kWide)
    if (starts_with(symbol, wide)) return "b64";
  return "b32";
}

bool is_shard(const std::string &symbol) { return starts_with(symbol, kShard); }

bool is_constant(const std::string &symbol) {
  return starts_with(symbol, kMap) || is_shard(symbol) || symbol == "egpu_ktime_offset";
}

Result<std::string> define_constant(const Probe &p, const std::string &symbol, const std::string &name,
                                    const Bindings &bindings) {
  std::string declaration = std::string("\t.reg .") + symbol_type(symbol) + " " + name + ";\n";
  if (is_shard(symbol)) {
    TRY(std::string text, shard(p, symbol, name, bindings));
    return declaration + text;
  }
  TRY(uint64_t value, bound(p, symbol, bindings));
  return declaration + "\tmov." + symbol_type(symbol) + " " + name + ", " + hex(value) + ";\n";
}

}  // namespace egpu::ptx
