#include "lib/loader/ptx/access.h"

#include "lib/loader/ptx/match.h"

namespace egpu::ptx {
namespace {

Space space_of(const std::vector<std::string_view> &parts) {
  struct Row {
    std::string_view name;
    Space space;
  };
  static constexpr Row kRows[] = {{"global", Space::global},
                                  {"shared", Space::shared},
                                  {"local", Space::local},
                                  {"const", Space::constant}};
  for (std::string_view part : parts)
    for (const Row &row : kRows)
      if (part.substr(0, part.find("::")) == row.name) return row.space;
  return Space::generic;
}

uint32_t bytes_of(const std::vector<std::string_view> &parts) {
  uint32_t element = 0, count = 1;
  for (std::string_view part : parts) {
    if (uint32_t bytes = type_bytes(part)) element = bytes;
    if (part == "v2" || part == "v4" || part == "v8") count = static_cast<uint32_t>(part[1] - '0');
  }
  return element * count;
}

// `+ 4`, `+ -4`, `- 4`, `+ 4 + 8`: tokens [t, end).
bool read_offset(const Module &m, uint32_t t, uint32_t end, int64_t *offset) {
  uint64_t sum = 0;
  while (t < end) {
    bool negative = false;
    bool first = true;
    while (t < end && (m.word(t) == "+" || m.word(t) == "-")) {
      if (m.word(t) == "-") negative = !negative;
      first = false;
      ++t;
    }
    uint64_t n = 0;
    if (first || t >= end || !parse_integer(m.word(t), &n)) return false;
    sum = negative ? sum - n : sum + n;
    ++t;
  }
  *offset = static_cast<int64_t>(sum);
  return true;
}

}  // namespace

Names::Names(const Module &module, const Function &function) : module_(module), scopes_(1) {
  for (const Parameter &p : function.parameters) {
    Variable v;
    v.space = p.space;
    v.name = p.name;
    v.bytes = p.bytes;
    scopes_[0][p.name] = v;
  }
  // Return parameters stand before the name: (.param .b32 r).
  for (uint32_t t = function.tokens.first; t < function.name_token; ++t) {
    if (module.word(t) != "(") continue;
    uint32_t begin = t + 1;
    for (++t; t < function.name_token && module.word(t) != ")"; ++t) {
      if (module.word(t) != ",") continue;
      for (const Variable &v : parse_variables(module, {begin, t})) scopes_[0][v.name] = v;
      begin = t + 1;
    }
    for (const Variable &v : parse_variables(module, {begin, t})) scopes_[0][v.name] = v;
  }
}

void Names::step(const Statement &s) {
  if (s.kind == StatementKind::open) scopes_.emplace_back();
  if (s.kind == StatementKind::close && scopes_.size() > 1) scopes_.pop_back();
  if (s.kind != StatementKind::directive || !is_space(module_.word(s.tokens.first))) return;
  for (const Variable &v : parse_variables(module_, s.tokens)) scopes_.back()[v.name] = v;
}

const Variable *Names::find(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto exact = scope->find(name);
    if (exact != scope->end() && exact->second.register_count == 0) return &exact->second;
    // %r12 of a declaration %r<20>.
    for (size_t cut = name.size(); cut-- > 1 && name[cut] >= '0' && name[cut] <= '9';) {
      auto range = scope->find(name.substr(0, cut));
      uint64_t n = 0;
      if (range != scope->end() && parse_integer(name.substr(cut), &n) && n < range->second.register_count)
        return &range->second;
    }
  }
  return nullptr;
}

Access read_access(const Module &m, const Names &names, const Statement &s) {
  Access a;
  std::string_view mnemonic = m.word(s.mnemonic);
  std::vector<std::string_view> parts = dotted_parts(mnemonic);
  a.space = space_of(parts);
  a.bytes = bytes_of(parts);
  auto problem = [&](const std::string &what) {
    a.problem = "line " + std::to_string(m.tokens[s.mnemonic].line) + ": " + what;
    return a;
  };
  for (std::string_view part : parts)
    if (part == "bulk") return problem(std::string(mnemonic) + " is not supported yet");
  if (a.bytes == 0) return problem("size of " + std::string(mnemonic) + " is unknown");
  uint32_t open = s.mnemonic;
  while (open < s.tokens.last && m.word(open) != "[") ++open;
  uint32_t close = open;
  while (close < s.tokens.last && m.word(close) != "]") ++close;
  if (close >= s.tokens.last || close == open + 1)
    return problem(std::string(mnemonic) + " has no address operand");
  uint32_t base = open + 1;
  bool readable = true;
  if (m.tokens[base].kind == TokenKind::word) {
    a.base = m.word(base);
    const Variable *v = names.find(a.base);
    a.base_is_32_bit = v != nullptr && v->space == ".reg" && type_bytes(v->type) == 4;
    readable = read_offset(m, base + 1, close, &a.offset);
  } else {
    uint64_t n = 0;
    int64_t rest = 0;
    readable = parse_integer(m.word(base), &n) && read_offset(m, base + 1, close, &rest);
    a.offset = static_cast<int64_t>(n + static_cast<uint64_t>(rest));
  }
  if (!readable) return problem("address operand of " + std::string(mnemonic) + " is not understood");
  return a;
}

uint32_t callee_token(const Module &m, const Statement &s) {
  uint32_t t = s.mnemonic + 1;
  if (m.word(t) == "(") {
    while (t < s.tokens.last && m.word(t) != ")") ++t;
    t += 2;  // ) ,
  }
  return t < s.tokens.last && m.tokens[t].kind == TokenKind::word ? t : 0;
}

}  // namespace egpu::ptx
