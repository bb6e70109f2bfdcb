#include "lib/loader/ptx/lex.h"

#include <limits>
#include <string>

namespace egpu::ptx {
namespace {

constexpr std::string_view kPunctuation = "{}()[]<>,;:@!+-*/|=&~^?%";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// PTX ISA 9.0, 4.4: followsym is letter, digit, '_' or '$'.
bool follows(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 5);
    for (;;) {
      TRY(bool more, skip_blanks());
      if (!more) return tokens;
      size_t begin = at_;
      uint32_t line = line_;
      TRY(TokenKind kind, step());
      tokens.push_back({kind, text_.substr(begin, at_ - begin), line, static_cast<uint32_t>(begin)});
    }
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Error error(uint32_t line, const std::string &what) const {
    return {"line " + std::to_string(line) + ": " + what};
  }

  // False at the end of the text.
  Result<bool> skip_blanks() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (is_blank(c)) {
        if (c == '\n') ++line_;
        ++at_;
      } else if ((c == '/' && peek(1) == '/') || c == '#') {
        // PTX ISA 9.0, 4.1: lines beginning with # are preprocessor directives.
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return error(line_, "unterminated comment");
        for (; at_ < end + 2; ++at_)
          if (text_[at_] == '\n') ++line_;
      } else {
        return true;
      }
    }
    return false;
  }

  Result<TokenKind> step() {
    char c = peek();
    if (c == '"') return string();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (follows(c) || c == '.' || (c == '%' && follows(peek(1)))) return word();
    if (kPunctuation.find(c) != std::string_view::npos) {
      ++at_;
      return TokenKind::punct;
    }
    return error(line_, "unexpected character with code " + std::to_string(static_cast<unsigned char>(c)));
  }

  Result<TokenKind> string() {
    uint32_t line = line_;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      } else if (c == '"') {
        ++at_;
        return TokenKind::string;
      }
    }
    return error(line, "unterminated string");
  }

  // PTX ISA 9.0, 4.5: 0x 0b 0f 0d forms, octal, decimal, floating with exponent, suffix U.
  TokenKind number() {
    bool plain = true;  // decimal so far: a sign may follow its exponent
    if (peek() == '0' && is_letter(peek(1))) plain = false;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (plain && (c == 'e' || c == 'E') && (peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))) {
        at_ += 2;
      } else if (!follows(c) && c != '.') {
        break;
      }
      ++at_;
    }
    return TokenKind::number;
  }

  TokenKind word() {
    ++at_;
    while (at_ < text_.size()) {
      if (follows(peek()) || peek() == '.') {
        ++at_;
      } else if (peek() == ':' && peek(1) == ':' && follows(peek(2))) {
        at_ += 3;  // .shared::cta, .L2::128B
      } else {
        break;
      }
    }
    return TokenKind::word;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view text) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) return Error{"PTX text is over 4 GiB"};
  return Lexer(text).run();
}

}  // namespace egpu::ptx
