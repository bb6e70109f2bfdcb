// Why a program is refused: the path that leads there, and what keeps a loop from ending.
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/verify/explore.h"

namespace egpu::bpf {
namespace {

constexpr int kPathNotes = 3;    // decisions shown with an error
constexpr int kLoopSteps = 256;  // decisions looked at for a loop's condition

}  // namespace

Error Explorer::fail(const Path &path, const std::string &text, const std::vector<Note> &notes) const {
  return messages_.error(path.pc, text, notes);
}

// Adds the last decisions that led to the error.
Error Explorer::with_path(Error error, const Path &path) const {
  std::vector<std::string> notes;
  int last = path.pc;
  for (int s = path.history; s >= 0 && notes.size() < kPathNotes;) {
    const Step &step = steps_[static_cast<size_t>(s)];
    if (!messages_.same_line(step.insn, last))
      notes.push_back(messages_.note(
          step.insn, format("on the path that goes from here to {}", messages_.where(step.next))));
    last = step.insn;
    s = step.previous;
  }
  for (auto note = notes.rbegin(); note != notes.rend(); ++note) error.message += "\n" + *note;
  return error;
}

// The path executes too much, or comes back to a state it was in (`progress` false).
Error Explorer::unbounded(const Path &path, bool progress) const {
  // The innermost loop: a place that the path has passed before.
  int head = -1;
  for (int s = path.seen; s >= 0 && head < 0; s = seen_[static_cast<size_t>(s)]->parent)
    for (int before = seen_[static_cast<size_t>(s)]->parent; before >= 0;
         before = seen_[static_cast<size_t>(before)]->parent)
      if (seen_[static_cast<size_t>(before)]->pc == seen_[static_cast<size_t>(s)]->pc) {
        head = seen_[static_cast<size_t>(s)]->pc;
        break;
      }
  if (head < 0 && progress)
    return fail(path,
                format("the program may execute more than {} instructions; shorten it (or raise --max-insns)",
                       options_.max_insns));
  int at = head < 0 ? path.pc : head;
  int budget = kLoopSteps;
  for (int s = path.history; s >= 0 && budget-- > 0; s = steps_[static_cast<size_t>(s)].previous) {
    const Step &step = steps_[static_cast<size_t>(s)];
    if (step.outside < 0) continue;
    const Op &source = program_.insns[static_cast<size_t>(step.outside)].op;
    if (auto *call = std::get_if<CallHelper>(&source))
      return messages_.error(
          at,
          format("the end of this loop depends on {}(), so its rounds have no bound; waiting is not "
                 "possible on a GPU, count rounds to a constant",
                 helper_name(call->id)),
          {{step.insn, "the loop is left or not here"}});
    return messages_.error(
        at,
        "the end of this loop depends on memory that another thread writes: waiting for other "
        "threads is not possible on a GPU; read the value once",
        {{step.outside, "the value is read here"}, {step.insn, "the loop is left or not here"}});
  }
  if (!progress)
    return messages_.error(at,
                           "this loop never ends: nothing that its end depends on changes; bound it: for "
                           "(i = 0; i < 16; i++)");
  return messages_.error(
      at,
      format("this loop may execute more than {} instructions; bound it with a smaller constant (or raise "
             "--max-insns)",
             options_.max_insns));
}

}  // namespace egpu::bpf
