// What one function uses, and what in it stands against running it in a module of ours.
#include <algorithm>

#include "lib/loader/ptx/analyze.h"
#include "lib/loader/ptx/match.h"

namespace egpu::ptx {
namespace {

// Functions without a body that the driver itself provides. Everything else that is only
// declared lives in another module, and code is not callable across modules (facts.md, 1).
constexpr std::string_view kDriverFunctions[] = {"vprintf", "malloc", "free", "__assertfail"};

class FactFinder {
 public:
  FactFinder(const Analysis &a, const Function &f) : a_(a), m_(a.module), f_(f), names_(a.module, f) {}

  FunctionFacts run() {
    if (f_.is_extern) problem(f_.name_token, "is .extern");
    for (const Statement &s : f_.body) {
      names_.step(s);
      if (s.kind == StatementKind::directive) directive(s);
      if (s.kind == StatementKind::instruction) instruction(s);
    }
    return std::move(facts_);
  }

 private:
  void problem(uint32_t token, const std::string &what) {
    if (!facts_.problem.empty()) return;
    facts_.problem = std::string(f_.name) + ", line " + std::to_string(m_.tokens[token].line) + ": " + what;
  }

  void directive(const Statement &s) {
    std::string_view w = m_.word(s.tokens.first);
    if (w == ".global" || w == ".const")
      problem(s.tokens.first, "declares a " + std::string(w) + " variable");
    if (w != ".shared") return;
    for (const Variable &v : parse_variables(m_, s.tokens))
      facts_.shared_bytes += v.bytes + shared_alignment(v) - 1;
  }

  void instruction(const Statement &s) {
    std::string_view mnemonic = m_.word(s.mnemonic);
    std::vector<std::string_view> parts = dotted_parts(mnemonic);
    uint32_t callee = 0;
    if (parts[0] == "exit") facts_.exits = true;
    if (parts[0] == "call") {
      callee = callee_token(m_, s);
      call(s, callee);
    }
    // Constant variables become global memory, and these would see the difference.
    bool constant = std::find(parts.begin() + 1, parts.end(), "const") != parts.end();
    if (constant && parts[0] != "ld" && parts[0] != "cvta")
      problem(s.mnemonic, std::string(mnemonic) + " sees the address space of constants");
    for (uint32_t t = s.mnemonic + 1; t < s.tokens.last; ++t)
      if (t != callee && m_.tokens[t].kind == TokenKind::word) reference(s, t);
  }

  void call(const Statement &s, uint32_t token) {
    std::string_view name = token == 0 ? std::string_view() : m_.word(token);
    auto alias = m_.aliases.find(name);
    if (alias != m_.aliases.end()) name = alias->second;
    auto callee = a_.function_index.find(name);
    // Function pointers are offsets in their own module's code (facts.md, 1).
    if (callee == a_.function_index.end() || names_.find(name) != nullptr)
      return problem(s.mnemonic, "calls a function through a pointer");
    const Function &f = m_.functions[callee->second];
    if (f.has_body) {
      facts_.calls.push_back({token, callee->second});
    } else if (std::find(std::begin(kDriverFunctions), std::end(kDriverFunctions), name) !=
               std::end(kDriverFunctions)) {
      facts_.declared.insert(callee->second);
    } else {
      problem(s.mnemonic, "calls " + std::string(name) + ", which is not in this module");
    }
  }

  void reference(const Statement &s, uint32_t t) {
    std::string_view name = m_.word(t);
    if (name == "%total_smem_size") problem(t, "reads %total_smem_size");
    if (name[0] == '%' || names_.find(name) != nullptr) return;
    if (a_.function_index.count(name) != 0 || m_.aliases.count(name) != 0)
      return problem(t, "takes the address of function " + std::string(name));
    auto found = a_.variable_index.find(name);
    if (found == a_.variable_index.end()) return;
    facts_.variables.insert(found->second);
    if (use_of(m_.variables[found->second]) != VariableUse::by_address) return;
    facts_.addresses.push_back({t, found->second});
    // The name becomes a 64-bit register, so it must stand where one can.
    std::string_view mnemonic = m_.word(s.mnemonic);
    std::string_view type = mnemonic.substr(std::min(mnemonic.rfind('.'), mnemonic.size()));
    bool is_move = mnemonic.substr(0, 4) == "mov." || mnemonic.substr(0, 5) == "cvta.";
    if (is_move && type_bytes(type) != 8) problem(t, "takes a 32-bit address of " + std::string(name));
    std::string_view next = m_.word(t + 1);
    if ((next == "+" || next == "-") && m_.word(t - 1) != "[" && !is_move)
      problem(t, "address of " + std::string(name) + " with an offset in " + std::string(mnemonic));
  }

  const Analysis &a_;
  const Module &m_;
  const Function &f_;
  Names names_;
  FunctionFacts facts_;
};

bool starts_with(std::string_view s, std::string_view prefix) { return s.substr(0, prefix.size()) == prefix; }

}  // namespace

FunctionFacts facts_of(const Analysis &analysis, const Function &function) {
  return FactFinder(analysis, function).run();
}

VariableUse use_of(const Variable &v) {
  if (v.space == ".tex" || v.type == ".texref" || v.type == ".samplerref" || v.type == ".surfref")
    return VariableUse::opaque;
  if (v.space == ".shared" || v.space == ".local") return VariableUse::kept;
  // nvcc: $str, $str$1, __unnamed_1; clang: _$_str, .str. They are constant.
  bool is_string = starts_with(v.name, "$str") || starts_with(v.name, "__unnamed_") ||
                   starts_with(v.name, "_$_str") || starts_with(v.name, ".str");
  bool has_value = v.initialiser.first < v.initialiser.last;
  if (v.space == ".global" && is_string && has_value && !v.is_extern) return VariableUse::copied;
  return VariableUse::by_address;
}

}  // namespace egpu::ptx
