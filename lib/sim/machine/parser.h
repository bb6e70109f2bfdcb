// The recursive descent parser behind parse(): a cursor over tokens, and one function per
// construct. Functions return false after having set the error, once.
#pragma once
#include <string>

#include "lib/loader/ptx/lex.h"
#include "lib/sim/machine/text.h"

namespace egpu::sim {

class Parser {
 public:
  Parser(const std::vector<ptx::Token> &tokens, ModuleText &module) : tokens_(tokens), module_(module) {}
  bool module();
  const std::string &error() const { return error_; }

 private:
  bool at_end() const { return at_ >= tokens_.size(); }
  std::string_view peek(size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : std::string_view();
  }
  ptx::TokenKind kind() const { return at_end() ? ptx::TokenKind::punct : tokens_[at_].kind; }
  uint32_t line() const;
  std::string_view take() { return at_end() ? std::string_view() : tokens_[at_++].text; }
  bool accept(std::string_view text);
  bool expect(std::string_view text);
  bool fail(const std::string &what);
  bool skip_past(std::string_view text);

  bool directive(bool &known);
  bool linkage_and_definition();
  bool variable_list(Space space, bool is_extern, bool is_weak, std::vector<Declaration> &out);
  bool declarator(Declaration &decl);
  bool initializer(std::vector<Initializer> &out);
  bool initial_value(Initializer &out);
  bool function(bool is_entry, bool is_extern, bool is_weak);
  bool parameter_list(std::vector<Declaration> &out);
  bool parameter(Declaration &out);
  bool performance_directives(FunctionText &out);

  bool body(FunctionText &out);
  bool statement(FunctionText &out, int &depth);
  bool body_directive(FunctionText &out);
  bool location(FunctionText &out);
  bool instruction(FunctionText &out);
  bool operand(Operand &out);
  bool operand_list(std::string_view close, std::vector<Operand> &out);
  bool sum(Operand &out);
  bool term(Operand &out, bool negative);
  bool number(std::string_view text, Operand &out);
  bool unsigned_number(uint64_t &out);

  const std::vector<ptx::Token> &tokens_;
  ModuleText &module_;
  size_t at_ = 0;
  std::string error_;
};

/// Space of a directive word ".global"; false if it is not one.
bool find_space(std::string_view word, Space &out);

}  // namespace egpu::sim
