// Module level: directives, variables with initialisers, function heads.
#include <algorithm>
#include <charconv>

#include "lib/sim/machine/parser.h"

namespace egpu::sim {

bool find_space(std::string_view word, Space &out) {
  constexpr struct {
    std::string_view name;
    Space space;
  } kSpaces[] = {
      {".global", Space::global}, {".const", Space::constant}, {".shared", Space::shared},
      {".local", Space::local},   {".param", Space::param},
  };
  for (const auto &row : kSpaces)
    if (word == row.name || (word.starts_with(row.name) && word.substr(row.name.size()).starts_with("::"))) {
      out = row.space;
      return true;
    }
  return false;
}

uint32_t Parser::line() const {
  if (tokens_.empty()) return 1;
  return tokens_[at_end() ? tokens_.size() - 1 : at_].line;
}

bool Parser::fail(const std::string &what) {
  if (error_.empty()) error_ = "ptx line " + std::to_string(line()) + ": " + what;
  return false;
}

bool Parser::accept(std::string_view text) {
  if (peek() != text) return false;
  ++at_;
  return true;
}

bool Parser::expect(std::string_view text) {
  if (accept(text)) return true;
  return fail("expected '" + std::string(text) + "', found " +
              (at_end() ? std::string("the end") : "'" + std::string(peek()) + "'"));
}

bool Parser::skip_past(std::string_view text) {
  while (!at_end())
    if (take() == text) return true;
  return fail("expected '" + std::string(text) + "', found the end");
}

bool Parser::unsigned_number(uint64_t &out) {
  Operand value;
  if (kind() != ptx::TokenKind::number || !number(peek(), value) || value.kind != Operand::integer)
    return fail("expected a number, found '" + std::string(peek()) + "'");
  ++at_;
  out = static_cast<uint64_t>(value.value);
  return true;
}

bool Parser::module() {
  while (!at_end()) {
    bool known = false;
    if (!directive(known)) return false;
    if (!known && !linkage_and_definition()) return false;
  }
  return true;
}

bool Parser::directive(bool &known) {
  std::string_view word = peek();
  known = true;
  if (word == ".version") {
    take();
    std::string_view text = take();
    size_t dot = text.find('.');
    if (dot == text.npos) return fail("expected a version");
    std::from_chars(text.data(), text.data() + dot, module_.version_major);
    std::from_chars(text.data() + dot + 1, text.data() + text.size(), module_.version_minor);
    return true;
  }
  if (word == ".target") {
    take();
    module_.target = take();
    while (accept(",")) take();
    return true;
  }
  if (word == ".address_size") {
    take();
    return take() == "64" || fail("only .address_size 64 is supported");
  }
  if (word == ".file") {
    take();
    uint64_t number = 0;
    if (!unsigned_number(number)) return false;
    std::string_view name = take();
    if (name.size() >= 2) name = name.substr(1, name.size() - 2);
    module_.files.emplace_back(static_cast<uint32_t>(number), name);
    while (accept(",")) take();
    return true;
  }
  if (word == ".pragma") return skip_past(";");
  if (word == ".alias") {
    take();
    std::string_view alias = take();
    if (!expect(",")) return false;
    module_.aliases.emplace_back(alias, take());
    return expect(";");
  }
  if (word == ".section") {  // DWARF: braces do not nest
    take();
    take();
    return expect("{") && skip_past("}");
  }
  if (word == ";") {
    take();
    return true;
  }
  known = false;
  return true;
}

bool Parser::linkage_and_definition() {
  bool is_extern = false, is_weak = false;
  for (;; take()) {
    if (peek() == ".extern")
      is_extern = true;
    else if (peek() == ".weak" || peek() == ".common")
      is_weak = true;
    else if (peek() != ".visible")
      break;
  }
  if (accept(".entry")) return function(true, is_extern, is_weak);
  if (accept(".func")) return function(false, is_extern, is_weak);
  Space space;
  if (find_space(peek(), space)) {
    take();
    return variable_list(space, is_extern, is_weak, module_.variables);
  }
  return fail("expected a directive, found '" + std::string(peek()) + "'");
}

// After the space: [.attribute(...)] [.align N] [.vN] .type name[n][m] [= init] {, name ...} ;
bool Parser::variable_list(Space space, bool is_extern, bool is_weak, std::vector<Declaration> &out) {
  Declaration decl;
  decl.space = space;
  decl.is_extern = is_extern;
  decl.is_weak = is_weak;
  for (;;) {
    std::string_view word = peek();
    if (word == ".attribute") {
      take();
      if (!expect("(")) return false;
      while (!at_end() && peek() != ")")
        if (take() == ".managed") decl.is_managed = true;
      if (!expect(")")) return false;
    } else if (word == ".align") {
      take();
      uint64_t align = 0;
      if (!unsigned_number(align)) return false;
      if (align == 0 || align > (1u << 20) || (align & (align - 1))) return fail("bad alignment");
      decl.align = static_cast<uint32_t>(align);
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      decl.vector_size = static_cast<uint8_t>(take()[2] - '0');
    } else if (word == ".texref" || word == ".samplerref" || word == ".surfref") {
      take();
      decl.type = Type::b64;
    } else if (word.starts_with(".") && find_type(word.substr(1)) != Type::none) {
      decl.type = find_type(take().substr(1));
    } else {
      break;
    }
  }
  if (decl.type == Type::none) return fail("expected a type, found '" + std::string(peek()) + "'");
  do {
    Declaration one = decl;
    if (!declarator(one)) return false;
    out.push_back(std::move(one));
  } while (accept(","));
  return expect(";");
}

bool Parser::declarator(Declaration &decl) {
  if (kind() != ptx::TokenKind::word) return fail("expected a name, found '" + std::string(peek()) + "'");
  decl.line = line();
  decl.name = take();
  if (accept("<")) {
    uint64_t count = 0;
    if (!unsigned_number(count) || !expect(">")) return false;
    if (count == 0 || count > 1000000) return fail("bad register count");
    decl.count = static_cast<uint32_t>(count);
  }
  while (accept("[")) {
    decl.is_array = true;
    uint64_t size = 0;
    if (peek() != "]" && !unsigned_number(size)) return false;
    if (size > (uint64_t{1} << 40) || decl.elements > (uint64_t{1} << 40)) return fail("array too large");
    decl.elements *= size;
    if (!expect("]")) return false;
  }
  if (accept("=")) {
    if (!initializer(decl.initial)) return false;
    if (decl.is_array && decl.elements == 0) decl.elements = decl.initial.size();
  }
  return true;
}

bool Parser::initializer(std::vector<Initializer> &out) {
  if (accept("{")) {
    if (accept("}")) return true;
    do {
      if (!initializer(out)) return false;
    } while (accept(","));
    return expect("}");
  }
  Initializer value;
  if (!initial_value(value)) return false;
  out.push_back(std::move(value));
  return true;
}

// 5 | 0f3F800000 | name+4 | generic(name)+4 | 0xFF00(name) | 0xFF00(generic(name)+4)
bool Parser::initial_value(Initializer &out) {
  if (kind() == ptx::TokenKind::number && peek(1) == "(") {
    if (!unsigned_number(out.byte_mask) || !expect("(")) return false;
    Initializer inner;
    if (!initial_value(inner)) return false;
    out.value = inner.value;
    out.generic = inner.generic;
    return expect(")");
  }
  if (peek() == "generic" && peek(1) == "(") {
    take();
    take();
    out.generic = true;
    if (!sum(out.value) || !expect(")")) return false;
    while (peek() == "+" || peek() == "-") {
      bool negative = take() == "-";
      while (peek() == "-") {
        take();
        negative = !negative;
      }
      uint64_t offset = 0;
      if (!unsigned_number(offset)) return false;
      out.value.value += static_cast<int64_t>(negative ? 0 - offset : offset);
    }
    return true;
  }
  return sum(out.value);
}

bool Parser::function(bool is_entry, bool is_extern, bool is_weak) {
  FunctionText out;
  out.is_entry = is_entry;
  out.is_extern = is_extern;
  out.is_weak = is_weak;
  while (accept(".attribute"))
    if (!skip_past(")")) return false;
  if (!is_entry && accept("("))
    if (!parameter_list(out.results)) return false;
  if (kind() != ptx::TokenKind::word) return fail("expected a function's name");
  out.line = line();
  out.name = take();
  if (accept("("))
    if (!parameter_list(out.parameters)) return false;
  if (!performance_directives(out)) return false;
  if (peek() == "{") {
    out.has_body = true;
    if (!body(out)) return false;
  } else if (!expect(";")) {
    return false;
  }
  module_.functions.push_back(std::move(out));
  return true;
}

bool Parser::parameter_list(std::vector<Declaration> &out) {
  if (accept(")")) return true;
  do {
    Declaration decl;
    if (!parameter(decl)) return false;
    out.push_back(std::move(decl));
  } while (accept(","));
  return expect(")");
}

// .param .align 8 .b8 x[32] | .param .u64 .ptr .global .align 4 x | .reg .b32 %r | .param .b32 _
bool Parser::parameter(Declaration &out) {
  out.space = Space::param;
  if (accept(".reg"))
    out.is_register = true;
  else if (!find_space(peek(), out.space))
    return fail("expected '.param', found '" + std::string(peek()) + "'");
  else
    take();
  bool pointee = false;
  for (;;) {
    std::string_view word = peek();
    Space ignored;
    if (word == ".align") {
      take();
      uint64_t align = 0;
      if (!unsigned_number(align)) return false;
      if (align == 0 || align > (1u << 20) || (align & (align - 1))) return fail("bad alignment");
      if (!pointee) out.align = static_cast<uint32_t>(align);
    } else if (word == ".ptr") {
      take();
      pointee = true;
    } else if (pointee && find_space(word, ignored)) {
      take();
    } else if (word == ".v2" || word == ".v4") {
      out.vector_size = static_cast<uint8_t>(take()[2] - '0');
    } else if (word == ".texref" || word == ".samplerref" || word == ".surfref") {
      take();
      out.type = Type::b64;
    } else if (word.starts_with(".") && find_type(word.substr(1)) != Type::none) {
      out.type = find_type(take().substr(1));
    } else {
      break;
    }
  }
  if (out.type == Type::none) return fail("expected a type, found '" + std::string(peek()) + "'");
  return declarator(out);
}

bool Parser::performance_directives(FunctionText &out) {
  while (peek().starts_with(".")) {
    std::string_view word = take();
    if (word == ".maxntid" || word == ".reqntid") {
      uint64_t threads = 1;
      do {
        uint64_t n = 0;
        if (!unsigned_number(n)) return false;
        if (n == 0 || n > 65536) return fail("bad block size");
        threads *= n;
      } while (accept(","));
      out.max_threads = static_cast<uint32_t>(threads);
      out.required_threads = word == ".reqntid";
    } else if (word == ".reqnctapercluster") {
      std::fill(out.cluster, out.cluster + 3, 1);
      size_t axis = 0;
      do {
        uint64_t n = 0;
        if (!unsigned_number(n)) return false;
        if (n == 0 || n > 65536 || axis == 3) return fail("bad cluster size");
        out.cluster[axis++] = static_cast<uint32_t>(n);
      } while (accept(","));
    } else if (word == ".pragma") {
      if (!skip_past(";")) return false;
    } else if (word == ".attribute") {
      if (!skip_past(")")) return false;
    } else {  // .minnctapersm 2, .maxnreg 32, .noreturn, .explicitcluster, .maxclusterrank 8
      while (kind() == ptx::TokenKind::number) {
        take();
        if (!accept(",")) break;
      }
    }
  }
  return true;
}

Result<ModuleText> parse(std::string_view text) {
  Result<std::vector<ptx::Token>> tokens = ptx::lex(text);
  if (!tokens) return Error{"ptx " + tokens.error().message};
  ModuleText module;
  Parser parser(*tokens, module);
  if (!parser.module()) return Error{parser.error()};
  return module;
}

}  // namespace egpu::sim
