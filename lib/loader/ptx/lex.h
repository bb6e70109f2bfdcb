// Tokens of a PTX module. Shared by the patcher and the simulator.
//
// A token is a view into the module's text; comments and blanks lie between tokens, so the
// text between two statements can be passed through byte for byte. Source: PTX ISA 9.0, 4.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "egpu/result.h"

namespace egpu::ptx {

enum class TokenKind : uint8_t {
  word,    // ld.global.v4.f32  .reg  %tid.x  $L__BB0_1  _Z3addPf  .shared::cta  (dots and :: included)
  number,  // 0x10  42  0f3F800000  0d...  1.5  42U  (sign is a separate punct)
  string,  // "..." with its quotes
  punct,   // one of { } ( ) [ ] < > , ; : @ ! + - * / | = & ~ ^ ? %
};

struct Token {
  TokenKind kind;
  std::string_view text;
  uint32_t line;    // 1-based, line of the module's text
  uint32_t offset;  // bytes from the start of the text
};

// Error: "line N: unterminated comment" and the like. Texts over 4 GiB are refused.
Result<std::vector<Token>> lex(std::string_view text);

}  // namespace egpu::ptx
