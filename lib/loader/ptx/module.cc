#include "lib/loader/ptx/module.h"

#include <algorithm>
#include <charconv>

namespace egpu::ptx {
namespace {

bool is_linkage(std::string_view w) {
  return w == ".visible" || w == ".extern" || w == ".weak" || w == ".common" || w == ".internal";
}

uint32_t clamp_u32(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)); }

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens) {
    m_.text = text;
    m_.tokens = std::move(tokens);
  }

  Result<Module> run() {
    while (at_ < size()) {
      TRY(Item item, module_item());
      m_.items.push_back(item);
    }
    return std::move(m_);
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(m_.tokens.size()); }
  std::string_view peek(uint32_t ahead = 0) const { return m_.word(at_ + ahead); }
  bool is_number(uint32_t token) const {
    return token < size() && m_.tokens[token].kind == TokenKind::number;
  }
  uint32_t line(uint32_t token) const {
    if (m_.tokens.empty()) return 1;
    return m_.tokens[std::min(token, size() - 1)].line;
  }
  Error error(uint32_t token, const std::string &what) const {
    return {"line " + std::to_string(line(token)) + ": " + what};
  }

  // Moves past the group that opens here with one of ( { [.
  Result<Ok> skip_group() {
    uint32_t begin = at_;
    std::string closers;
    do {
      std::string_view w = peek();
      if (at_ >= size()) return error(begin, "'" + std::string(m_.word(begin)) + "' is never closed");
      if (m_.tokens[at_].kind == TokenKind::punct) {
        if (w == "{") closers += '}';
        if (w == "(") closers += ')';
        if (w == "[") closers += ']';
        if (w == "}" || w == ")" || w == "]") {
          if (closers.back() != w[0])
            return error(at_, "'" + std::string(w) + "' where '" + closers.back() + "' is expected");
          closers.pop_back();
        }
      }
      ++at_;
    } while (!closers.empty());
    return Ok{};
  }

  bool opens_group() const {
    return at_ < size() && m_.tokens[at_].kind == TokenKind::punct &&
           (peek() == "{" || peek() == "(" || peek() == "[");
  }

  // Moves past the next ';' outside all groups.
  Result<Ok> skip_statement() {
    uint32_t begin = at_;
    while (at_ < size()) {
      if (opens_group()) {
        TRY(Ok ok, skip_group());
        (void)ok;
      } else if (peek() == "}" || peek() == ")" || peek() == "]") {
        return error(at_, "unexpected '" + std::string(peek()) + "'");
      } else if (peek() == ";") {
        ++at_;
        return Ok{};
      } else {
        ++at_;
      }
    }
    return error(begin, "the statement that begins with '" + std::string(m_.word(begin)) + "' does not end");
  }

  // Directives that end without ';'. PTX ISA 9.0, 11.1 and 11.5 give their operands.
  // Returns false if the next statement is not one of them.
  Result<bool> line_directive() {
    std::string_view w = peek();
    if (w == "@" && peek(1) == "@") {  // @@DWARF of old modules: to the end of the line
      uint32_t begin_line = line(at_);
      while (at_ < size() && line(at_) == begin_line) ++at_;
      return true;
    }
    if (w == ".version" || w == ".address_size") {
      ++at_;
      if (is_number(at_)) ++at_;
      return true;
    }
    if (w == ".target") {
      ++at_;
      for (;;) {
        if (at_ < size() && m_.tokens[at_].kind == TokenKind::word && peek()[0] != '.') ++at_;
        if (peek() != ",") return true;
        ++at_;
      }
    }
    if (w == ".file") {
      at_ += 2;
      if (at_ < size() && m_.tokens[at_].kind == TokenKind::string) ++at_;
      while (peek() == "," && is_number(at_ + 1)) at_ += 2;
      at_ = std::min(at_, size());
      return true;
    }
    if (w == ".loc") {
      for (++at_; is_number(at_);) ++at_;
      while (peek() == "," && (peek(1) == "function_name" || peek(1) == "inlined_at")) {
        at_ += 2;
        if (at_ < size() && m_.tokens[at_].kind == TokenKind::word && !is_number(at_)) ++at_;
        if (peek() == "+" && is_number(at_ + 1)) at_ += 2;
        while (is_number(at_)) ++at_;
        if (peek() == "inlined_at")
          for (++at_; is_number(at_);) ++at_;
      }
      return true;
    }
    if (w == ".section") {
      ++at_;
      while (at_ < size() && peek() != "{" && peek() != ";") ++at_;
      if (peek() == "{") {
        TRY(Ok ok, skip_group());
        (void)ok;
      } else {
        at_ = std::min(at_ + 1, size());
      }
      return true;
    }
    return false;
  }

  void note_directive(Span span) {
    std::string_view w = m_.word(span.first);
    std::string_view value = span.last > span.first + 1 ? m_.word(span.first + 1) : std::string_view();
    uint64_t number = 0;
    if (w == ".version" && m_.version_token == 0 && !value.empty()) {
      m_.version_token = span.first + 1;
      size_t dot = value.find('.');
      uint64_t minor = 0;
      if (parse_integer(value.substr(0, dot), &number)) m_.ptx_major = clamp_u32(number);
      if (dot != std::string_view::npos && parse_integer(value.substr(dot + 1), &minor))
        m_.ptx_minor = clamp_u32(minor);
    } else if (w == ".target" && m_.sm == 0) {
      for (uint32_t t = span.first + 1; t < span.last; ++t) {
        std::string_view word = m_.word(t);
        if (word.substr(0, 3) != "sm_") continue;
        m_.target = word;
        std::from_chars(word.data() + 3, word.data() + word.size(), m_.sm);
      }
    } else if (w == ".address_size" && parse_integer(value, &number)) {
      m_.address_size = clamp_u32(number);
    } else if (w == ".file" && parse_integer(value, &number) && span.last > span.first + 2) {
      std::string_view name = m_.word(span.first + 2);
      if (name.size() >= 2 && name[0] == '"') m_.files.emplace(number, name.substr(1, name.size() - 2));
    }
  }

  Result<Item> module_item() {
    Item item;
    item.tokens.first = at_;
    TRY(bool line_end, line_directive());
    if (line_end) {
      item.kind = m_.word(item.tokens.first) == ".section" ? ItemKind::section : ItemKind::directive;
      item.tokens.last = at_;
      note_directive(item.tokens);
      return item;
    }
    uint32_t t = at_;
    while (is_linkage(m_.word(t))) ++t;
    std::string_view w = m_.word(t);
    if (w == ".entry" || w == ".func") {
      item.kind = ItemKind::function;
      item.first = static_cast<uint32_t>(m_.functions.size());
      item.count = 1;
      TRY(Function function, function_item());
      m_.functions.push_back(std::move(function));
    } else if (w == "{") {
      TRY(Ok ok, skip_group());
      (void)ok;
    } else {
      TRY(Ok ok, skip_statement());
      (void)ok;
      Span span{item.tokens.first, at_};
      if (is_space(w)) {
        item.kind = ItemKind::variables;
        item.first = static_cast<uint32_t>(m_.variables.size());
        for (Variable &v : parse_variables(m_, span)) m_.variables.push_back(v);
        item.count = static_cast<uint32_t>(m_.variables.size()) - item.first;
      } else if (w == ".alias") {
        item.kind = ItemKind::alias;
        if (m_.word(t + 2) == ",") m_.aliases.emplace(m_.word(t + 1), m_.word(t + 3));
      } else if (w == ".pragma") {
        item.kind = ItemKind::directive;
      }
    }
    item.tokens.last = at_;
    return item;
  }

  Result<Function> function_item() {
    Function f;
    f.tokens.first = at_;
    for (; is_linkage(peek()); ++at_)
      if (peek() == ".extern") f.is_extern = true;
    f.entry = peek() == ".entry";
    ++at_;
    while (peek() == ".attribute") {
      ++at_;
      if (opens_group()) {
        TRY(Ok ok, skip_group());
        (void)ok;
      }
    }
    if (peek() == "(") {  // return parameters
      TRY(Ok ok, skip_group());
      (void)ok;
    }
    if (at_ >= size() || m_.tokens[at_].kind != TokenKind::word)
      return error(at_, f.entry ? ".entry without a name" : ".func without a name");
    f.name = peek();
    f.name_token = at_++;
    if (peek() == "(") {
      f.parameters_open = at_;
      TRY(Ok ok, skip_group());
      (void)ok;
      f.parameters_close = at_ - 1;
      read_parameters(&f);
    }
    TRY(bool body, function_header(&f));
    if (body) {
      f.has_body = true;
      f.body_open = at_++;
      TRY(Ok ok, function_body(&f));
      (void)ok;
    }
    f.tokens.last = at_;
    return f;
  }

  // Performance directives up to the body (true) or the ';' of a declaration, which is taken.
  Result<bool> function_header(Function *f) {
    while (at_ < size()) {
      std::string_view w = peek();
      if (w == "{") return true;
      if (w == ";") {
        ++at_;
        return false;
      }
      if (w == ".pragma") {
        TRY(Ok ok, skip_statement());
        (void)ok;
      } else if (w == ".maxntid" || w == ".reqntid") {
        uint64_t product = 1, n = 0;
        for (++at_; is_number(at_); ++at_) {
          if (parse_integer(peek(), &n)) product = std::min<uint64_t>(product * n, UINT32_MAX);
          if (peek(1) != ",") {
            ++at_;
            break;
          }
          ++at_;
        }
        f->threads = clamp_u32(product);
      } else if (opens_group()) {
        TRY(Ok ok, skip_group());
        (void)ok;
      } else if (w == "}" || w == ")" || w == "]") {
        return error(at_, "unexpected '" + std::string(w) + "'");
      } else {
        ++at_;
      }
    }
    return error(f->name_token, "function " + std::string(f->name) + " has no body and no ';'");
  }

  void read_parameters(Function *f) {
    uint64_t offset = 0;
    uint32_t begin = f->parameters_open + 1;
    while (begin < f->parameters_close) {
      uint32_t end = begin;
      while (end < f->parameters_close && m_.word(end) != ",") ++end;
      // The parameter's own .align stands before .ptr, the pointee's after it.
      std::vector<Variable> one = parse_variables(m_, {begin, end});
      if (one.empty()) return;
      const Variable &v = one.front();
      Parameter p;
      p.name = v.name;
      p.space = v.space;
      p.bytes = clamp_u32(v.bytes);
      p.alignment = std::max(1u, v.alignment);
      offset = (offset + p.alignment - 1) / p.alignment * p.alignment;
      p.offset = clamp_u32(offset);
      offset += p.bytes;
      f->parameters.push_back(p);
      begin = end + 1;
    }
    f->parameter_bytes = clamp_u32(offset);
  }

  Result<Ok> function_body(Function *f) {
    uint32_t depth = 0;
    for (;;) {
      if (at_ >= size()) return error(f->body_open, "'{' of " + std::string(f->name) + " is never closed");
      Statement s;
      s.tokens.first = at_;
      s.depth = depth;
      std::string_view w = peek();
      if (w == "{") {
        s.kind = StatementKind::open;
        ++at_;
        ++depth;
      } else if (w == "}") {
        if (depth == 0) {
          f->body_close = at_++;
          return Ok{};
        }
        s.kind = StatementKind::close;
        s.depth = --depth;
        ++at_;
      } else if (m_.tokens[at_].kind == TokenKind::word && peek(1) == ":") {
        s.kind = StatementKind::label;
        at_ += 2;
      } else if (w[0] == '.' || (w == "@" && peek(1) == "@")) {
        s.kind = StatementKind::directive;
        TRY(bool line_end, line_directive());
        if (!line_end) {
          TRY(Ok ok, skip_statement());
          (void)ok;
        } else {
          note_directive({s.tokens.first, at_});
        }
      } else {
        TRY(Ok ok, instruction(&s));
        (void)ok;
      }
      s.tokens.last = at_;
      f->body.push_back(s);
    }
  }

  Result<Ok> instruction(Statement *s) {
    uint32_t begin = at_;
    if (peek() == "@") {
      ++at_;
      if (peek() == "!") {
        s->negated = true;
        ++at_;
      }
      s->predicate = peek();
      if (at_ >= size() || m_.tokens[at_].kind != TokenKind::word)
        return error(begin, "'@' without a predicate register");
      ++at_;
    }
    s->mnemonic = at_;
    at_ = begin;
    return skip_statement();
  }

  Module m_;
  uint32_t at_ = 0;
};

}  // namespace

std::string_view Module::slice(Span span) const {
  if (span.first >= span.last) return {};
  const Token &last = tokens[span.last - 1];
  return text.substr(tokens[span.first].offset, last.offset + last.text.size() - tokens[span.first].offset);
}

Result<Module> parse(std::string_view text) {
  TRY(std::vector<Token> tokens, lex(text));
  return Parser(text, std::move(tokens)).run();
}

}  // namespace egpu::ptx
