// Diagnostics that look like a compiler's.
//
//   kcount.bpf.c:23:3: error: `r0` may be NULL here; ...
//     __sync_fetch_and_add(n, 1);
//     ^
//   kcount.bpf.c:20:11: note: bpf_map_lookup_elem() is called here
//
// Without line information the position is "program:insn 7" and the text the instruction.
#pragma once
#include <string>
#include <vector>

#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {

struct Note {
  int insn;
  std::string text;
};

class Messages {
 public:
  explicit Messages(const Program &program) : program_(program) {}

  Error error(int insn, const std::string &text, const std::vector<Note> &notes = {}) const;
  /// "file:line:col: note: text" with source line and caret.
  std::string note(int insn, const std::string &text) const { return diagnostic(insn, "note", text); }
  /// The same of each, in the order of the source.
  std::vector<std::string> in_order(std::vector<Note> notes) const;
  /// "line 12", "gpu.bpf.h:12" if that is another file than `from`'s, or "insn 7" without line
  /// information.
  std::string where(int insn, int from) const;
  /// The instruction's statement, or the start of it: "if (!v)"; without a source the instruction.
  std::string statement(int insn) const;
  /// Where the instruction comes from; line 0: not known.
  SourceLine source(int insn) const;
  /// The variable that the statement assigns to, if it stands in the same file as `from`; else "".
  std::string assigned_variable(int insn, int from) const;
  /// Do both instructions come from the same source line?
  bool same_line(int a, int b) const;

 private:
  const SourceLine *line_of(int insn) const;
  std::string position(int insn) const;
  std::string diagnostic(int insn, const char *severity, const std::string &text) const;

  const Program &program_;
};

}  // namespace egpu::bpf
