// Inside a function: scopes, labels, declarations, instructions and their operands.
#include <bit>
#include <charconv>
#include <cstdlib>
#include <string>

#include "lib/sim/machine/parser.h"

namespace egpu::sim {

bool Parser::body(FunctionText &out) {
  int depth = 0;
  do {
    if (at_end()) return fail("expected '}', found the end");
    if (!statement(out, depth)) return false;
  } while (depth > 0);
  return true;
}

bool Parser::statement(FunctionText &out, int &depth) {
  Statement s{};
  s.line = line();
  std::string_view word = peek();
  if (word == "{" || word == "}") {
    take();
    s.kind = word == "{" ? Statement::open : Statement::close;
    depth += word == "{" ? 1 : -1;
    if (depth > 200) return fail("scopes nest too deep");
    out.body.push_back(std::move(s));
    return true;
  }
  if (word == ";") {
    take();
    return true;
  }
  if (kind() == ptx::TokenKind::word && peek(1) == ":") {
    s.name = take();
    take();
    if (accept(".branchtargets") || accept(".calltargets")) {
      s.kind = Statement::targets;
      do s.names.push_back(take());
      while (accept(","));
      if (!expect(";")) return false;
    } else if (accept(".callprototype")) {
      s.kind = Statement::prototype;
      if (!skip_past(";")) return false;
    } else {
      s.kind = Statement::label;
    }
    out.body.push_back(std::move(s));
    return true;
  }
  if (word.starts_with(".")) return body_directive(out);
  return instruction(out);
}

bool Parser::body_directive(FunctionText &out) {
  std::string_view word = peek();
  if (word == ".loc") return location(out);
  if (word == ".pragma") return skip_past(";");
  if (word == ".file") {
    bool known;
    return directive(known);
  }
  Space space = Space::generic;
  bool is_register = word == ".reg";
  if (!is_register && !find_space(word, space)) return fail("unknown directive '" + std::string(word) + "'");
  uint32_t at_line = line();
  take();
  size_t first = out.declarations.size();
  if (!variable_list(space, false, false, out.declarations)) return false;
  for (size_t i = first; i < out.declarations.size(); ++i) {
    out.declarations[i].is_register = is_register;
    Statement s{};
    s.kind = Statement::declaration;
    s.line = at_line;
    s.index = static_cast<uint32_t>(i);
    out.body.push_back(std::move(s));
  }
  return true;
}

// .loc file line column [, function_name label[+n], inlined_at file line column]: no ';'
bool Parser::location(FunctionText &out) {
  Statement s{};
  s.kind = Statement::location;
  s.line = line();
  take();
  uint64_t file = 0, source_line = 0, column = 0;
  if (!unsigned_number(file) || !unsigned_number(source_line) || !unsigned_number(column)) return false;
  s.file = static_cast<uint32_t>(file);
  s.source_line = static_cast<uint32_t>(source_line);
  while (accept(",")) {
    if (accept("function_name")) {
      take();
      if (accept("+")) take();
    } else if (accept("inlined_at")) {
      for (int i = 0; i < 3; ++i)
        if (!unsigned_number(file)) return false;
    } else {
      return fail("bad .loc");
    }
  }
  out.body.push_back(std::move(s));
  return true;
}

bool Parser::instruction(FunctionText &out) {
  Statement s{};
  s.kind = Statement::instruction;
  Instruction insn;
  if (accept("@")) {
    insn.guard_negated = accept("!");
    insn.guard = take();
  }
  s.line = line();
  if (kind() != ptx::TokenKind::word)
    return fail("expected an instruction, found '" + std::string(peek()) + "'");
  insn.text = take();
  for (size_t from = 0; from <= insn.text.size();) {
    size_t dot = insn.text.find('.', from);
    if (dot == insn.text.npos) dot = insn.text.size();
    insn.words.push_back(insn.text.substr(from, dot - from));
    from = dot + 1;
  }
  if (peek() != ";") {
    do {
      Operand value;
      if (!operand(value)) return false;
      insn.operands.push_back(std::move(value));
    } while (accept(","));
  }
  if (!expect(";")) return false;
  s.index = static_cast<uint32_t>(out.instructions.size());
  out.instructions.push_back(std::move(insn));
  out.body.push_back(std::move(s));
  return true;
}

bool Parser::operand_list(std::string_view close, std::vector<Operand> &out) {
  if (accept(close)) return true;
  do {
    Operand value;
    if (!operand(value)) return false;
    out.push_back(std::move(value));
  } while (accept(","));
  return expect(close);
}

bool Parser::operand(Operand &out) {
  if (accept("[")) {
    out.kind = Operand::address;
    return operand_list("]", out.elements);
  }
  if (accept("{")) {
    out.kind = Operand::vector;
    if (!operand_list("}", out.elements)) return false;
    if (out.elements.size() == 1) out = Operand(out.elements[0]);  // Triton: ld.global.b32 { %r1 }, [ %rd1 + 0 ]
    return true;
  }
  if (accept("(")) {
    out.kind = Operand::vector;
    out.in_parentheses = true;
    return operand_list(")", out.elements);
  }
  if (accept("!")) {
    if (!sum(out)) return false;
    out.negated = true;
    return true;
  }
  if (kind() == ptx::TokenKind::string) {
    out.kind = Operand::string;
    out.name = take();
    return true;
  }
  if (!sum(out)) return false;
  if (out.kind == Operand::symbol && accept("|")) out.second = take();
  return true;
}

// [-] term { (+|-) term }: at most one symbol.
bool Parser::sum(Operand &out) {
  bool negative = false;
  while (peek() == "-" || peek() == "+") negative ^= take() == "-";
  if (!term(out, negative)) return false;
  while (peek() == "+" || peek() == "-") {
    negative = false;
    while (peek() == "-" || peek() == "+") negative ^= take() == "-";
    Operand next;
    if (!term(next, negative)) return false;
    if (next.kind == Operand::integer && (out.kind == Operand::integer || out.kind == Operand::symbol)) {
      out.value = static_cast<int64_t>(static_cast<uint64_t>(out.value) + static_cast<uint64_t>(next.value));
    } else if (next.kind == Operand::symbol && out.kind == Operand::integer) {
      next.value = static_cast<int64_t>(static_cast<uint64_t>(out.value) + static_cast<uint64_t>(next.value));
      out = std::move(next);
    } else {
      return fail("unsupported constant expression");
    }
  }
  return true;
}

bool Parser::term(Operand &out, bool negative) {
  if (kind() == ptx::TokenKind::number) {
    if (!number(peek(), out)) return fail("bad number '" + std::string(peek()) + "'");
    take();
    if (negative && out.kind == Operand::integer)
      out.value = static_cast<int64_t>(0 - static_cast<uint64_t>(out.value));
    if (negative && out.kind == Operand::real)
      out.value = static_cast<int64_t>(static_cast<uint64_t>(out.value) ^
                                       (out.single ? uint64_t{1} << 31 : uint64_t{1} << 63));
    return true;
  }
  if (kind() == ptx::TokenKind::word) {
    out.kind = Operand::symbol;
    out.name = take();
    out.negated = negative;
    return true;
  }
  return fail("expected an operand, found '" + std::string(peek()) + "'");
}

// 42, 42U, 0x2A, 0b101, 052, 0f3F800000, 0d3FF0000000000000, 1.5, 1e10
bool Parser::number(std::string_view text, Operand &out) {
  auto parse_integer = [&](std::string_view digits, int base) {
    if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.remove_suffix(1);
    uint64_t value = 0;
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    out.value = static_cast<int64_t>(value);
    return code == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  out.kind = Operand::integer;
  if (text.size() > 2 && text[0] == '0') {
    char c = static_cast<char>(text[1] | 0x20);
    if (c == 'x') return parse_integer(text.substr(2), 16);
    if (c == 'b') return parse_integer(text.substr(2), 2);
    if (c == 'f' || c == 'd') {
      out.kind = Operand::real;
      out.single = c == 'f';
      return text.size() == (out.single ? 10u : 18u) && parse_integer(text.substr(2), 16);
    }
  }
  if (text.find_first_of(".eE") != text.npos) {
    std::string copy(text);
    char *end = nullptr;
    double value = std::strtod(copy.c_str(), &end);
    out.kind = Operand::real;
    out.value = static_cast<int64_t>(std::bit_cast<uint64_t>(value));
    return end == copy.c_str() + copy.size();
  }
  if (text.size() > 1 && text[0] == '0' && text != "0U") return parse_integer(text.substr(1), 8);
  return parse_integer(text, 10);
}

}  // namespace egpu::sim
