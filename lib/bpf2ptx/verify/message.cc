#include "lib/bpf2ptx/verify/message.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {

const SourceLine *Messages::line_of(int insn) const {
  if (insn < 0 || static_cast<size_t>(insn) >= program_.insns.size()) return nullptr;
  int source = program_.insns[static_cast<size_t>(insn)].source;
  if (source < 0 || static_cast<size_t>(source) >= program_.lines.size()) return nullptr;
  const SourceLine &line = program_.lines[static_cast<size_t>(source)];
  return line.file.empty() ? nullptr : &line;
}

std::string Messages::position(int insn) const {
  if (const SourceLine *line = line_of(insn)) return format("{}:{}:{}", line->file, line->line, line->column);
  return insn < 0 ? program_.name : format("{}:insn {}", program_.name, insn);
}

std::string Messages::where(int insn, int from) const {
  const SourceLine *line = line_of(insn), *here = line_of(from);
  if (!line) return format("insn {}", insn);
  if (here && here->file == line->file) return format("line {}", line->line);
  return format("{}:{}", line->file.substr(line->file.rfind('/') + 1), line->line);
}

SourceLine Messages::source(int insn) const {
  const SourceLine *line = line_of(insn);
  return line ? *line : SourceLine{};
}

std::string Messages::statement(int insn) const {
  constexpr size_t kLongest = 50;
  const SourceLine *line = line_of(insn);
  if (!line || line->text.empty()) return to_string(program_.insns[static_cast<size_t>(insn)].op);
  std::string_view text = line->text;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text = text.substr(0, text.find_last_not_of(" \t{") + 1);
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "...";
}

std::string Messages::assigned_variable(int insn, int from) const {
  const SourceLine *line = line_of(insn), *here = line_of(from);
  if (!line || !here || line->file != here->file) return "";
  std::string_view text = line->text;
  size_t end = text.find('=');
  if (end == 0 || end == text.npos || text.substr(end).starts_with("==")) return "";
  auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  while (end > 0 && text[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && in_name(text[begin - 1])) --begin;
  // A member or an element has a longer name than this.
  if (begin > 0 && (text[begin - 1] == '.' || text[begin - 1] == '>')) return "";
  return std::string(text.substr(begin, end - begin));
}

bool Messages::same_line(int a, int b) const {
  const SourceLine *la = line_of(a), *lb = line_of(b);
  return la && lb ? la->line == lb->line && la->file == lb->file : a == b;
}

std::string Messages::diagnostic(int insn, const char *severity, const std::string &text) const {
  std::string out = format("{}: {}: {}", position(insn), severity, text);
  const SourceLine *line = line_of(insn);
  if (!line) {
    if (insn >= 0 && static_cast<size_t>(insn) < program_.insns.size())
      out += "\n    " + to_string(program_.insns[static_cast<size_t>(insn)].op);
    return out;
  }
  if (line->text.empty()) return out;
  // The caret stands under the column; tabs before it are kept, so that it lines up.
  std::string indent;
  for (size_t i = 0; i + 1 < line->column && i < line->text.size(); ++i)
    indent += line->text[i] == '\t' ? '\t' : ' ';
  return out + "\n" + line->text + "\n" + indent + "^";
}

std::vector<std::string> Messages::in_order(std::vector<Note> notes) const {
  auto place = [&](const Note &n) {
    SourceLine line = source(n.insn);
    return std::tuple(line.file, line.line, line.column, n.insn);
  };
  std::stable_sort(notes.begin(), notes.end(),
                   [&](const Note &a, const Note &b) { return place(a) < place(b); });
  std::vector<std::string> texts;
  for (const Note &n : notes) texts.push_back(note(n.insn, n.text));
  return texts;
}

Error Messages::error(int insn, const std::string &text, const std::vector<Note> &notes) const {
  std::string out = diagnostic(insn, "error", text);
  for (const Note &n : notes) out += "\n" + note(n.insn, n.text);
  return {out};
}

}  // namespace egpu::bpf
