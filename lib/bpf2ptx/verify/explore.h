// Walks every path of a program, depth first, one abstract state at a time.
//
// Where paths meet, the state is compared with the states that were seen there: what an
// earlier one covers need not be explored again ("pruning", as in the kernel's verifier).
// Only states whose every continuation has been explored can stand for others. A state equal to
// one that is still being explored is a loop that makes no progress.
//
// What a state is covered by depends on the numbers that matter, and these on the branches that numbers
// decide. A branch is taken to go both ways until a path is seen that can go one way only. If paths were
// given up before on less, the walk is made again.
//
// A path that does what it must not ends there; the others go on, so that one run finds all causes.
//
// The walk also finds the worst-case cost: each seen state knows the most that is executed
// from it to the end of the program.
#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "lib/bpf2ptx/verify/claims.h"
#include "lib/bpf2ptx/verify/refusals.h"
#include "lib/bpf2ptx/verify/structure.h"
#include "lib/bpf2ptx/verify/transfer.h"

namespace egpu::bpf {

// What one walk leaves to the next.
struct Walks {
  std::vector<bool> decides;  // by instruction: branches that numbers decide
  // Does a comparison with a copy have one outcome? If so, more paths differ.
  bool copies_are_equal = true;
  std::chrono::nanoseconds deadline{};  // processor time, if VerifyOptions::time_limit_ms is not 0
};

/// Processor time of this thread: a verdict must not depend on what else the machine does.
std::chrono::nanoseconds processor_time();

class Explorer {
 public:
  Explorer(const Program &program, const Structure &structure, const VerifyOptions &options,
           const Messages &messages, Transfer &transfer, Collector &collector, Claims *claims, Walks *walks);

  /// The worst-case cost, if no path is refused.
  Result<Cost> explore();
  /// Is the walk to be made again, by another Explorer?
  bool again() const { return again_ && reached_ == Limit::none; }
  /// Did looking at all paths take too much?
  bool gave_up() const { return reached_ == Limit::effort; }
  /// What paths must not do, one for each cause.
  std::vector<Refusal> refusals() const;

 private:
  // Cost as an array, so that maxima and sums are loops.
  struct Counts {
    uint32_t n[4] = {};  // insns, memory, atomics, helpers
    Counts operator+(const Counts &other) const;
    bool raise_to(const Counts &other);  // did anything grow?
  };

  // A state that was seen at a place where paths meet.
  struct Seen {
    State state;
    int pc = 0;
    int parent = -1;     // the seen state before it on the path that made it
    Counts from_parent;  // executed between the two
    Counts to_end;       // the most executed from here, over all explored continuations
    int open = 1;        // paths from here that are not explored to their end
    uint32_t hits = 0, misses = 0;
    // By frame: stack bytes that some continuation reads, and that were written since `parent`.
    std::vector<Stack::Bytes> read, written;
  };

  // One decision of a path, for messages.
  struct Step {
    int insn, next, previous;
    int outside;  // what the condition was computed from: Value::outside
  };

  struct Path {
    State state;
    int pc = 0;
    int seen = -1;          // the last seen state on it
    Counts since_seen;      // executed since then
    uint32_t executed = 0;  // instructions since the start
    int history = -1;       // index of the last Step
  };

  // A path that was refused.
  struct Failure {
    int insn, cause;  // cause: the instruction to change
    std::string message, path;
  };
  // Why no more paths are looked at: the program's length, or what looking at them takes.
  enum class Limit { none, length, effort };

  using Check = std::optional<Error>;
  enum class Walk { on, ended };

  // explore.cc
  Result<Walk> step(Path &path);
  Result<Walk> meet(Path &path);
  void remember(Path &path);
  Check end(const Path &path, const Counts &rest);
  void close(const Path &path);
  Check check_limits(const Path &path);
  void count(Path &path, const Op &op);
  Live live_in(const Path &path, const Matters &matters) const;
  void mark_reads(const Path &path);
  void mark_reads(int seen, size_t frame, Stack::Bytes reads);
  void record_claims(const Path &path);
  const Matters &matters();

  // conditions.cc
  Result<Walk> branch(Path &path, const JumpIf &op);
  Result<Walk> branch_on_pointer(Path &path, const JumpIf &op, const Value &lhs, const Value &rhs);
  Result<Walk> branch_on_null(Path &path, const JumpIf &op, const Value &pointer);
  Result<Walk> fork(Path &path, const JumpIf &op, std::optional<State> taken, std::optional<State> fallen);
  void push(const Path &path, State state, int pc, int outside);
  void decided(int branch);
  bool informs(const Path &path, const Value &operand);

  // calls between the program's own functions: subprograms.cc
  Check call(Path &path, int target);
  Result<Walk> exit(Path &path);
  Check start_loop(Path &path);
  Result<Walk> iterate(Path &path, const Frame &loop, uint64_t done, bool can_go);
  void leave_loop(State &state, const Frame &loop, uint64_t done);

  // reasons.cc
  Error fail(const Path &path, const std::string &text, const std::vector<Note> &notes = {}) const;
  Error too_much(const Path &path, const std::string &text);
  void refuse(const Path &path, Error error);
  int cause_of(const Path &path) const;
  std::string describe_path(const Path &path) const;
  Error unbounded(const Path &path, bool progress);

  const Program &program_;
  const Structure &structure_;
  const VerifyOptions &options_;
  const Messages &messages_;
  Transfer &transfer_;
  Collector &collector_;
  Claims *claims_;
  Walks *walks_;
  Liveness liveness_;
  Matters matters_, all_matter_;  // with the branches of walks_, and with all
  bool stale_ = false;            // matters_ are those of fewer branches
  bool relied_ = false;           // a path was given up, or a copy not followed, for what did not matter
  bool again_ = false;

  std::vector<std::unique_ptr<Seen>> seen_;
  std::vector<bool> join_;                 // by instruction: paths can meet here
  std::vector<std::vector<int>> seen_at_;  // by instruction: indices into seen_
  std::vector<Path> todo_;
  std::vector<Step> steps_;
  uint64_t processed_ = 0, memory_ = 0;
  Limit reached_ = Limit::none;
  std::vector<Failure> failures_;
  std::vector<uint32_t> arrivals_, refused_;  // by instruction: paths that came here, and that ended here
};

}  // namespace egpu::bpf
