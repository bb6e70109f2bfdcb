// Declarations of variables, registers and parameters. PTX ISA 9.0, 5.4.
#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/loader/ptx/module.h"

namespace egpu::ptx {
namespace {

uint32_t clamp_u32(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)); }

// Parts of a declaration before its names.
struct Prefix {
  std::string_view space, type;
  uint32_t vector = 1;
  std::optional<uint32_t> alignment;
  bool is_extern = false, managed = false;
};

// Reads the words that begin with '.', and their operands; returns the token after them.
uint32_t read_prefix(const Module &m, Span span, Prefix *out) {
  uint32_t t = span.first;
  bool pointee = false;
  while (t < span.last && m.word(t)[0] == '.') {
    std::string_view w = m.word(t++);
    uint64_t n = 0;
    if (w == ".extern") out->is_extern = true;
    if (w == ".ptr") pointee = true;
    if (is_space(w) && out->space.empty()) out->space = w;
    if (w == ".align" && t < span.last && parse_integer(m.word(t), &n)) {
      if (!pointee) out->alignment = clamp_u32(n);
      ++t;
    } else if (w == ".attribute" && m.word(t) == "(") {
      for (uint32_t depth = 0; t < span.last; ++t) {
        if (m.word(t) == ".managed") out->managed = true;
        if (m.word(t) == "(") ++depth;
        if (m.word(t) == ")" && --depth == 0) break;
      }
      ++t;
    } else if (w == ".const" && m.word(t) == "[") {
      t += 3;  // .const[3]: a bank of PTX 2.1
    } else if (w == ".v2" || w == ".v4" || w == ".v8") {
      out->vector = static_cast<uint32_t>(w[2] - '0');
    } else if (type_bytes(w) != 0 || w == ".pred" || w == ".texref" || w == ".samplerref" ||
               w == ".surfref") {
      out->type = w;
    }
  }
  return t;
}

}  // namespace

bool is_space(std::string_view w) {
  return w == ".global" || w == ".const" || w == ".shared" || w == ".local" || w == ".param" || w == ".reg" ||
         w == ".sreg" || w == ".tex";
}

uint32_t shared_alignment(const Variable &v) {
  constexpr uint32_t kWidestAccess = 16;
  return v.bytes >= kWidestAccess ? std::max(v.alignment, kWidestAccess) : v.alignment;
}

std::vector<Variable> parse_variables(const Module &m, Span span) {
  Prefix prefix;
  uint32_t t = read_prefix(m, span, &prefix);
  std::vector<Variable> out;
  while (t < span.last && m.tokens[t].kind == TokenKind::word) {
    Variable v;
    v.space = prefix.space;
    v.type = prefix.type;
    v.vector = prefix.vector;
    v.is_extern = prefix.is_extern;
    v.managed = prefix.managed;
    v.name = m.word(t);
    v.name_token = t++;
    // Opaque types (.texref) are 8-byte handles; .pred is never in memory.
    uint64_t element = std::max(1u, type_bytes(v.type)) * uint64_t{v.vector};
    if (v.type == ".texref" || v.type == ".samplerref" || v.type == ".surfref") element = 8;
    v.alignment = prefix.alignment.value_or(clamp_u32(element));
    v.bytes = element;
    uint64_t n = 0;
    if (m.word(t) == "<" && parse_integer(m.word(t + 1), &n)) {
      v.register_count = clamp_u32(n);
      t += 3;
    }
    while (t < span.last && m.word(t) == "[") {
      if (m.word(t + 1) == "]") {
        v.bytes = 0;
        t += 2;
      } else {
        n = 0;
        parse_integer(m.word(t + 1), &n);
        v.bytes = n != 0 && v.bytes > UINT64_MAX / n ? UINT64_MAX : v.bytes * n;
        t += 3;
      }
    }
    uint32_t depth = 0;
    if (t < span.last && m.word(t) == "=") v.initialiser.first = ++t;
    for (; t < span.last; ++t) {
      std::string_view w = m.word(t);
      if (w == "{" || w == "(") ++depth;
      if ((w == "}" || w == ")") && depth > 0) --depth;
      if (depth == 0 && (w == "," || w == ";")) break;
    }
    if (v.initialiser.first != 0) v.initialiser.last = t;
    out.push_back(v);
    if (t >= span.last || m.word(t) != ",") break;
    ++t;
  }
  return out;
}

bool parse_integer(std::string_view s, uint64_t *value) {
  if (!s.empty() && s.back() == 'U') s.remove_suffix(1);
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) base = 16;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B')) base = 2;
  if (base != 10)
    s.remove_prefix(2);
  else if (s.size() > 1 && s[0] == '0')
    base = 8;
  auto [end, status] = std::from_chars(s.data(), s.data() + s.size(), *value, base);
  return status == std::errc() && end == s.data() + s.size() && !s.empty();
}

uint32_t type_bytes(std::string_view type) {
  if (!type.empty() && type[0] == '.') type.remove_prefix(1);
  struct Row {
    std::string_view name;
    uint32_t bytes;
  };
  static constexpr Row kRows[] = {
      {"b8", 1},    {"u8", 1},    {"s8", 1},     {"b16", 2},   {"u16", 2},   {"s16", 2},
      {"f16", 2},   {"bf16", 2},  {"b32", 4},    {"u32", 4},   {"s32", 4},   {"f32", 4},
      {"f16x2", 4}, {"tf32", 4},  {"bf16x2", 4}, {"b64", 8},   {"u64", 8},   {"s64", 8},
      {"f64", 8},   {"f32x2", 8}, {"b128", 16},  {"u16x2", 4}, {"s16x2", 4},
  };
  for (const Row &row : kRows)
    if (row.name == type) return row.bytes;
  return 0;
}

}  // namespace egpu::ptx
