#include "lib/loader/ptx/body.h"

#include <map>

#include "lib/loader/ptx/lex.h"

namespace egpu::ptx {

Result<Body> Body::prepare(std::string_view text) {
  TRY(std::vector<Token> tokens, lex(text));
  std::map<std::string_view, int> labels;
  int depth = 0;
  size_t statements = 0;
  bool declares = false, begins = true;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token &t = tokens[i];
    if (t.kind == TokenKind::punct && t.text == "{") ++depth;
    if (t.kind == TokenKind::punct && t.text == "}" && --depth < 0)
      return Error{"line " + std::to_string(t.line) + ": '}' without '{'"};
    bool label = t.kind == TokenKind::word && i + 1 < tokens.size() && tokens[i + 1].text == ":";
    if (label) labels.emplace(t.text, static_cast<int>(labels.size()));
    if (begins) declares = t.text[0] == '.';
    begins = t.text == ";" || t.text == ":" || t.text == "{" || t.text == "}";
    if (t.text == ";" && !declares) ++statements;
  }
  if (depth != 0) return Error{"'{' is never closed"};
  Body body;
  body.statements_ = statements;
  if (tokens.empty()) return body;
  size_t done = 0;
  for (const Token &t : tokens) {
    auto label = t.kind == TokenKind::word ? labels.find(t.text) : labels.end();
    if (label == labels.end()) continue;
    body.pieces_.push_back({std::string(text.substr(done, t.offset - done)), label->second});
    done = t.offset + t.text.size();
  }
  body.pieces_.push_back({std::string(text.substr(done)), -1});
  return body;
}

std::string Body::with_labels(const std::string &prefix) const {
  std::string out;
  for (const Piece &piece : pieces_) {
    out += piece.text;
    if (piece.label >= 0) out += prefix + '_' + std::to_string(piece.label);
  }
  return out;
}

}  // namespace egpu::ptx
