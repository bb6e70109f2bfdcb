// Why a program is refused: which causes there are, the path that leads to each, and what keeps a loop
// from ending.
#include <algorithm>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/verify/explore.h"
#include "lib/bpf2ptx/verify/registers.h"

namespace egpu::bpf {
namespace {

constexpr size_t kPathLines = 3;  // decisions shown with a refusal
constexpr size_t kPathLinesExplained = 16;
constexpr int kLoopSteps = 256;  // decisions looked at for a loop's condition

}  // namespace

Error Explorer::fail(const Path &path, const std::string &text, const std::vector<Note> &notes) const {
  return messages_.error(path.pc, text, notes);
}

// What checking takes is no fault of the place where it gets too much.
Error Explorer::too_much(const Path &path, const std::string &text) {
  reached_ = Limit::effort;
  return fail(path, text);
}

// Ends a path that does what it must not.
void Explorer::refuse(const Path &path, Error error) {
  ++refused_[static_cast<size_t>(path.pc)];
  if (path.seen >= 0) close(path);
  // Paths that are refused elsewhere may be what makes it too much.
  if (reached_ == Limit::effort && !failures_.empty()) return;
  int cause = cause_of(path);
  for (const Failure &known : failures_)
    if (known.cause == cause) return;
  failures_.push_back({path.pc, cause, std::move(error.message), describe_path(path)});
}

// An unchecked pointer is one cause, however often it is used.
int Explorer::cause_of(const Path &path) const {
  RegMask reads = reg_use(program_.insns[static_cast<size_t>(path.pc)].op).reads;
  for (int n = 0; n < kRegCount; ++n) {
    const Value &value = path.state.reg(n);
    if ((reads >> n) & 1 && value.kind == Kind::map_value_or_null) return value.origin;
  }
  return path.pc;
}

std::vector<Refusal> Explorer::refusals() const {
  std::vector<Refusal> all;
  for (const Failure &failure : failures_) {
    auto i = static_cast<size_t>(failure.insn);
    Refusal refusal{messages_.source(failure.insn), failure.insn, failure.message};
    bool known =
        std::any_of(all.begin(), all.end(), [&](const Refusal &r) { return same_cause(r, refusal); });
    if (known) continue;
    // The path says something where another one is fine.
    if (options_.explain || arrivals_[i] > refused_[i]) refusal.message += failure.path;
    all.push_back(std::move(refusal));
  }
  return all;
}

// One line for each of the last decisions, the last one at the end; and, if asked for, the registers.
std::string Explorer::describe_path(const Path &path) const {
  std::vector<std::string> lines;
  int last = path.pc;
  size_t most = options_.explain ? kPathLinesExplained : kPathLines;
  for (int s = path.history; s >= 0 && lines.size() < most; s = steps_[static_cast<size_t>(s)].previous) {
    const Step &step = steps_[static_cast<size_t>(s)];
    if (!messages_.same_line(step.insn, last)) {
      std::string from = messages_.where(step.insn, path.pc), to = messages_.where(step.next, path.pc);
      lines.push_back(format("\n  from {}, `{}`{}", from, messages_.statement(step.insn),
                             from == to ? "" : ", to " + to));
    }
    last = step.insn;
  }
  std::string text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) text += *line;
  if (options_.explain) text += "\n  registers: " + describe_registers(path.state, transfer_.maps());
  return text;
}

// The path executes too much, or comes back to a state it was in (`progress` false).
Error Explorer::unbounded(const Path &path, bool progress) {
  if (progress) reached_ = Limit::length;
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
