#include "lib/loader/ptx/rewrite.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "lib/loader/ptx/match.h"

namespace egpu::ptx {
namespace {

Edit replace_token(const Module &m, uint32_t token, std::string text) {
  const Token &t = m.tokens[token];
  return {t.offset, static_cast<uint32_t>(t.text.size()), std::move(text)};
}

// ld.const.v4.f32 -> ld.global.nc.v4.f32, cvta.to.const.u64 -> cvta.to.global.u64.
// Constants do not change while a kernel runs, so they may come through the read-only path.
std::string without_const(std::string_view mnemonic) {
  std::string out;
  for (std::string_view part : dotted_parts(mnemonic)) {
    if (!out.empty()) out += '.';
    if (part != "const")
      out += part;
    else
      out += mnemonic.substr(0, 3) == "ld." ? "global.nc" : "global";
  }
  return out;
}

// Registers named as the variables, holding the original's addresses.
std::string address_registers(const Analysis &a, const FunctionFacts &facts, const Bindings &bindings) {
  std::set<uint32_t> variables;
  for (const Reference &r : facts.addresses) variables.insert(r.index);
  std::string out;
  for (uint32_t index : variables) {
    std::string name(a.module.variables[index].name);
    char value[24];
    std::snprintf(value, sizeof value, "0x%" PRIx64, bindings.globals.at(name));
    out += "\t.reg .b64 " + name + ";\n\tmov.b64 " + name + ", " + value + ";\n";
  }
  return out;
}

}  // namespace

std::string apply(std::string_view text, uint32_t begin, uint32_t end, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const Edit &x, const Edit &y) { return x.at < y.at; });
  std::string out;
  uint32_t done = begin;
  for (const Edit &e : edits) {
    out += text.substr(done, e.at - done);
    out += e.insert;
    done = e.at + e.erase;
  }
  out += text.substr(done, end - done);
  return out;
}

std::vector<Edit> align_shared(const Module &m, Span tokens) {
  uint32_t wanted = 0, had = 0;
  for (const Variable &v : parse_variables(m, tokens)) {
    if (v.space != ".shared" || v.is_extern) return {};
    wanted = std::max(wanted, shared_alignment(v));
    had = std::max(had, v.alignment);
  }
  if (wanted <= had) return {};
  std::string value = std::to_string(wanted);
  for (uint32_t t = tokens.first; t + 1 < tokens.last; ++t)
    if (m.word(t) == ".align") return {replace_token(m, t + 1, value)};
  for (uint32_t t = tokens.first; t < tokens.last; ++t)
    if (m.word(t) == ".shared") return {replace_token(m, t, ".shared .align " + value)};
  return {};
}

std::vector<Edit> rewrite(const Analysis &a, uint32_t function, const Bindings &bindings,
                          const std::map<uint32_t, std::string> &callee_names) {
  const Module &m = a.module;
  const Function &f = m.functions[function];
  const FunctionFacts &facts = a.facts.at(function);
  std::vector<Edit> edits;
  if (std::string registers = address_registers(a, facts, bindings); !registers.empty()) {
    uint32_t first = first_statement(m, f);
    uint32_t token = first < f.body.size() ? f.body[first].tokens.first : f.body_close;
    edits.push_back({m.tokens[token].offset, 0, registers});
  }
  for (const Reference &call : facts.calls) {
    auto renamed = callee_names.find(call.index);
    std::string name(renamed == callee_names.end() ? m.functions[call.index].name : renamed->second);
    if (m.word(call.token) != name) edits.push_back(replace_token(m, call.token, name));
  }
  auto reference = facts.addresses.begin();
  for (const Statement &s : f.body) {
    // .loc 1 2 3, function_name $L__info_string0, inlined_at 1 4 5: the label is in .debug_str.
    if (s.kind == StatementKind::directive && m.word(s.tokens.first) == ".loc") {
      uint32_t comma = s.tokens.first;
      while (comma < s.tokens.last && m.word(comma) != ",") ++comma;
      if (comma == s.tokens.last) continue;
      std::string_view extra = m.slice({comma, s.tokens.last});
      edits.push_back({m.tokens[comma].offset, static_cast<uint32_t>(extra.size()), ""});
    }
    if (s.kind == StatementKind::directive)
      for (Edit &edit : align_shared(m, s.tokens)) edits.push_back(std::move(edit));
    if (s.kind != StatementKind::instruction) continue;
    while (reference != facts.addresses.end() && reference->token < s.tokens.first) ++reference;
    bool moved = false;
    std::string_view mnemonic = m.word(s.mnemonic);
    if (reference != facts.addresses.end() && reference->token < s.tokens.last) {
      // mov.u64 %rd1, sym+8: a register takes no offset, so it becomes a sum.
      std::string_view sign = m.word(reference->token + 1);
      bool is_move = mnemonic.substr(0, 4) == "mov." || mnemonic.substr(0, 5) == "cvta.";
      if (is_move && (sign == "+" || sign == "-")) {
        moved = true;
        edits.push_back(replace_token(m, s.mnemonic, "add.s64"));
        bool plus = sign == "+";
        edits.push_back(replace_token(m, reference->token + 1, plus ? ", " : ", -"));
      }
    }
    std::vector<std::string_view> parts = dotted_parts(mnemonic);
    if (!moved && std::find(parts.begin() + 1, parts.end(), "const") != parts.end())
      edits.push_back(replace_token(m, s.mnemonic, without_const(mnemonic)));
  }
  return edits;
}

}  // namespace egpu::ptx
