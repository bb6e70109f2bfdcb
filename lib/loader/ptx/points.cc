// Where in a function an event happens.
#include <algorithm>

#include "lib/loader/ptx/analyze.h"
#include "lib/loader/ptx/match.h"

namespace egpu::ptx {
namespace {

// Statements that may stand before the first instruction. A probe's entry code goes after
// them and before the first instruction, label or scope, so that a loop back to the first
// label does not run it again.
bool is_leading(const Module &m, const Statement &s) {
  if (s.kind != StatementKind::directive) return false;
  std::string_view w = m.word(s.tokens.first);
  return is_space(w) || w == ".loc" || w == ".file" || w == ".section";
}

bool is_terminator(std::string_view mnemonic) {
  std::string_view first = mnemonic.substr(0, mnemonic.find('.'));
  return first == "ret" || first == "exit" || first == "trap" || first == "bra" || first == "brx";
}

// Can control reach the closing brace? Only past a last instruction that goes on, or through
// a label after it that some statement names (-G ends functions with labels for debuggers).
bool falls_off(const Module &m, const Function &f) {
  std::vector<std::string_view> labels;
  size_t i = f.body.size();
  for (; i > 0 && f.body[i - 1].kind != StatementKind::instruction; --i)
    if (f.body[i - 1].kind == StatementKind::label) labels.push_back(m.word(f.body[i - 1].tokens.first));
  if (i == 0 || !f.body[i - 1].predicate.empty() || !is_terminator(m.word(f.body[i - 1].mnemonic)))
    return true;
  if (labels.empty()) return false;
  for (const Statement &s : f.body) {
    bool code = s.kind == StatementKind::instruction || m.word(s.tokens.last - 1) == ";";
    for (uint32_t t = s.tokens.first; code && t < s.tokens.last; ++t)
      if (std::find(labels.begin(), labels.end(), m.word(t)) != labels.end()) return true;
  }
  return false;
}

bool is_exit(const Function &f, std::string_view mnemonic) {
  if (mnemonic.substr(0, mnemonic.find('.')) == "exit") return true;
  return f.entry && mnemonic.substr(0, mnemonic.find('.')) == "ret";  // ret, ret.uni
}

}  // namespace

uint32_t first_statement(const Module &m, const Function &f) {
  uint32_t first = 0;
  while (first < f.body.size() && is_leading(m, f.body[first])) ++first;
  return first;
}

std::vector<Point> find_points(const Module &m, const Function &f, const std::vector<Probe> &probes,
                               const std::vector<int> &matched, std::string *problem) {
  std::vector<int> entries, exits, insns;
  for (int p : matched) {
    EventKind kind = probes[static_cast<size_t>(p)].event.kind;
    (kind == EventKind::entry ? entries : kind == EventKind::exit ? exits : insns).push_back(p);
  }
  // Inner scopes first, so that a block's last body sees what its threads' bodies did.
  std::stable_sort(exits.begin(), exits.end(), [&](int a, int b) {
    return probes[static_cast<size_t>(a)].event.scope < probes[static_cast<size_t>(b)].event.scope;
  });
  std::vector<Point> points;
  auto add = [&](size_t statement, EventKind kind, const std::vector<int> &which) -> Point & {
    Point p;
    p.statement = static_cast<uint32_t>(statement);
    p.kind = kind;
    p.probes = which;
    return points.emplace_back(std::move(p));
  };
  // The entry point also holds the kernel's own preparations, so it exists without entry probes.
  if (f.entry) add(first_statement(m, f), EventKind::entry, entries);
  Names names(m, f);
  for (size_t i = 0; i < f.body.size(); ++i) {
    const Statement &s = f.body[i];
    names.step(s);
    if (s.kind != StatementKind::instruction) continue;
    std::string_view mnemonic = m.word(s.mnemonic);
    if (is_exit(f, mnemonic)) {
      if (!exits.empty()) add(i, EventKind::exit, exits);
      continue;
    }
    std::vector<int> which;
    for (int p : insns)
      if (statement_matches(probes[static_cast<size_t>(p)].event, mnemonic)) which.push_back(p);
    if (which.empty()) continue;
    Point &point = add(i, EventKind::insn, which);
    point.is_branch = mnemonic.substr(0, mnemonic.find('.')) == "bra";
    if (point.is_branch) continue;
    point.access = read_access(m, names, s);
    if (problem->empty()) *problem = point.access.problem;
  }
  if (f.entry && !exits.empty() && falls_off(m, f)) add(f.body.size(), EventKind::exit, exits);
  return points;
}

std::string where(const Module &m, const Function &f, uint32_t statement) {
  auto shown = [&](const Statement &s) -> std::string {
    uint64_t file = 0, line = 0;
    if (s.kind != StatementKind::directive || m.word(s.tokens.first) != ".loc") return "";
    if (s.tokens.last < s.tokens.first + 3 || !parse_integer(m.word(s.tokens.first + 1), &file) ||
        !parse_integer(m.word(s.tokens.first + 2), &line))
      return "";
    auto name = m.files.find(file);
    if (name == m.files.end()) return "";
    return std::string(name->second.substr(name->second.find_last_of("/\\") + 1)) + ":" +
           std::to_string(line);
  };
  for (size_t i = std::min<size_t>(statement, f.body.size()); i-- > 0;)
    if (std::string text = shown(f.body[i]); !text.empty()) return text;
  for (size_t i = statement; i < f.body.size(); ++i)
    if (std::string text = shown(f.body[i]); !text.empty()) return text;
  uint32_t token = statement < f.body.size() ? f.body[statement].tokens.first : f.body_close;
  return "ptx:" + std::to_string(m.tokens[token].line);
}

}  // namespace egpu::ptx
