#include "lib/bpf2ptx/emit/body.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace egpu::bpf {
namespace {

constexpr const char *kEndLabel = "$L_egpu_end";

std::string trimmed(const std::string &line) {
  std::string text = line.substr(0, line.find("//"));
  size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%';
}

// Calls `use` with each identifier of the line.
template <class F>
void for_words(const std::string &line, F use) {
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end > at) use(line.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    if (std::string line = trimmed(text.substr(at, end - at)); !line.empty())
      lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

// Statements between the braces of `.visible .func prog()`. LLVM writes some instructions, a 64-bit rotation
// for one, as several in a scope of their own; a brace is alone on its line.
Result<std::vector<std::string>> function_statements(const std::string &ptx) {
  constexpr std::array kHeader = {".version", ".target", ".address_size", ".visible .func prog"};
  std::vector<std::string> inside;
  int depth = 0;
  for (std::string &line : lines_of(ptx)) {
    if (line == "{" && depth++ == 0) continue;
    if (line == "}" && --depth == 0) continue;
    if (depth > 0) {
      inside.push_back(std::move(line));
    } else if (std::none_of(kHeader.begin(), kHeader.end(),
                            [&](const char *h) { return line.starts_with(h); })) {
      return Error{"internal: the translated program needs a module-level declaration: " + line};
    }
  }
  if (inside.empty()) return Error{"internal: LLVM gave no function"};
  return inside;
}

// "atom.global.add.u64 %rd4, [%rd1], 1;" to "red.global.add.u64 [%rd1], 1;". There is no
// red.exch, no red.cas and no red.acq_rel. PTX ISA 9.0, 9.7.13.6 "red".
void reduce_unused_atomics(std::vector<std::string> *lines) {
  std::map<std::string, int> uses;
  for (const std::string &line : *lines) for_words(line, [&](const std::string &word) { ++uses[word]; });
  for (std::string &line : *lines) {
    if (!line.starts_with("atom.global.") || line.find(".exch") != std::string::npos ||
        line.find(".cas") != std::string::npos)
      continue;
    size_t space = line.find_first_of(" \t"), comma = line.find(',');
    if (space == std::string::npos || comma == std::string::npos) continue;
    size_t start = line.find_first_not_of(" \t", space);
    if (uses[line.substr(start, comma - start)] != 1) continue;
    line = "red" + line.substr(4, space - 4) + " " + line.substr(line.find_first_not_of(" \t", comma + 1));
  }
}

size_t local_bytes(const std::string &line) {
  size_t bracket = line.rfind('[');
  return line.starts_with(".local") && bracket != std::string::npos ? std::stoul(line.substr(bracket + 1))
                                                                    : 0;
}

}  // namespace

Result<Body> make_body(const std::string &ptx) {
  TRY(std::vector<std::string> lines, function_statements(ptx));
  reduce_unused_atomics(&lines);
  if (lines.back() == "ret;") lines.pop_back();
  Body body;
  bool branches = false;
  for (const std::string &line : lines) {
    std::string statement = line;
    if (statement == "ret;") {
      statement = std::string("bra ") + kEndLabel + ";";
      branches = true;
    }
    for_words(statement, [&](const std::string &word) {
      if (word.starts_with("egpu_")) body.symbols.insert(word);
    });
    body.writes_cookie |= statement.starts_with("mov.b64 egpu_cookie,");
    body.stack_bytes += local_bytes(statement);
    body.text += (statement.ends_with(':') ? "" : "\t") + statement + "\n";
  }
  if (branches) body.text += std::string(kEndLabel) + ":\n";
  return body;
}

}  // namespace egpu::bpf
