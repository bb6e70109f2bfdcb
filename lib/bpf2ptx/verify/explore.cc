#include "lib/bpf2ptx/verify/explore.h"

#include <algorithm>
#include <ctime>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {
namespace {

constexpr int kLoopHelper = 181;  // bpf_loop
// Work that no reasonable program needs; with it, refusals do not depend on the machine's speed.
constexpr uint64_t kMaxProcessed = 1'000'000;
constexpr uint64_t kClockInterval = 256;  // instructions between looks at the clock

uint64_t size_of(const State &state) {
  uint64_t bytes = sizeof(State);
  for (const Frame &frame : state.frames)
    bytes += sizeof(Frame) + frame.stack.spills().size() * sizeof(Stack::Spill);
  return bytes;
}

}  // namespace

std::chrono::nanoseconds processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

Explorer::Counts Explorer::Counts::operator+(const Counts &other) const {
  Counts sum;
  for (int i = 0; i < 4; ++i) sum.n[i] = n[i] + other.n[i];
  return sum;
}

bool Explorer::Counts::raise_to(const Counts &other) {
  bool grew = false;
  for (int i = 0; i < 4; ++i) {
    grew |= other.n[i] > n[i];
    n[i] = std::max(n[i], other.n[i]);
  }
  return grew;
}

Explorer::Explorer(const Program &program, const Structure &structure, const VerifyOptions &options,
                   const Messages &messages, Transfer &transfer, Collector &collector, Claims *claims,
                   Walks *walks)
    : program_(program),
      structure_(structure),
      options_(options),
      messages_(messages),
      transfer_(transfer),
      collector_(collector),
      claims_(claims),
      walks_(walks),
      liveness_(program.insns, structure.starts.size() > 1 ? static_cast<size_t>(structure.starts[1])
                                                           : program.insns.size()),
      matters_(liveness_.matters(walks->decides)),
      all_matter_(liveness_.matters(std::vector<bool>(program.insns.size(), true))),
      join_(structure.join),
      seen_at_(program.insns.size()),
      arrivals_(program.insns.size(), 0),
      refused_(program.insns.size(), 0) {
  for (int start : structure.starts) join_[static_cast<size_t>(start)] = true;
  for (size_t i = 0; i < program.insns.size(); ++i) {
    RegMask after = liveness_.after(static_cast<int>(i));
    auto *call = std::get_if<CallHelper>(&program.insns[i].op);
    auto *atomic = std::get_if<Atomic>(&program.insns[i].op);
    if (call) collector_.result_used(static_cast<int>(i), after & 1);
    if (call && call->id == kLoopHelper && i + 1 < join_.size()) join_[i + 1] = true;
    if (atomic && atomic->fetch) {
      int reg = atomic->op == AtomicOp::cmpxchg ? 0 : atomic->src.n;
      collector_.result_used(static_cast<int>(i), (after >> reg) & 1);
    }
  }
}

Result<Cost> Explorer::explore() {
  Path first;
  first.state = transfer_.initial();
  TRY(first.state.top().chain, collector_.enter(-1, -1, 0));
  todo_.push_back(std::move(first));
  while (!todo_.empty() && reached_ == Limit::none && failures_.size() < kMaxRefusals) {
    Path path = std::move(todo_.back());
    todo_.pop_back();
    for (;;) {
      auto walk = step(path);
      if (!walk) refuse(path, std::move(walk).error());
      if (!walk || *walk == Walk::ended) break;
    }
  }
  const Counts &most = seen_[0]->to_end;
  return Cost{most.n[0], most.n[1], most.n[2], most.n[3]};
}

Result<Explorer::Walk> Explorer::step(Path &path) {
  auto pc = static_cast<size_t>(path.pc);
  if (join_[pc]) {
    TRY(Walk walk, meet(path));
    if (walk == Walk::ended) return walk;
  }
  const Op &op = program_.insns[pc].op;
  collector_.reached(path.state.top().chain, path.pc);
  ++arrivals_[pc];
  if (claims_) record_claims(path);
  count(path, op);
  if (auto e = check_limits(path)) return *e;

  if (auto *jump = std::get_if<JumpIf>(&op)) return branch(path, *jump);
  if (std::holds_alternative<Exit>(op)) return exit(path);
  if (auto *jump = std::get_if<Jump>(&op)) {
    path.pc = jump->target;
    return Walk::on;
  }
  if (auto *local = std::get_if<CallLocal>(&op)) {
    if (auto e = call(path, local->target)) return *e;
    return Walk::on;
  }
  if (auto *helper = std::get_if<CallHelper>(&op); helper && helper->id == kLoopHelper) {
    if (auto e = start_loop(path)) return *e;
    Frame loop = path.state.top();
    loop.loops = path.state.reg(1);
    loop.context = path.state.reg(3);
    loop.call = path.pc;
    loop.subprogram = structure_.subprogram_of[static_cast<size_t>(path.state.reg(2).function)];
    return iterate(path, loop, 0, true);
  }
  if (auto e = transfer_.execute(path.state, path.pc)) return *e;
  ++path.pc;
  return Walk::on;
}

void Explorer::count(Path &path, const Op &op) {
  ++processed_;
  ++path.executed;
  ++path.since_seen.n[0];
  path.since_seen.n[1] += Transfer::accesses_memory(op);
  path.since_seen.n[2] += std::holds_alternative<Atomic>(op);
  path.since_seen.n[3] += std::holds_alternative<CallHelper>(op);
}

std::optional<Error> Explorer::check_limits(const Path &path) {
  if (path.executed > options_.max_insns) return unbounded(path, true);
  if (processed_ > (walks_->copies_are_equal ? kMaxProcessed / 4 : kMaxProcessed))
    return too_much(
        path, format("the program has too many paths to check ({} instructions looked at); split it, or use "
                     "fewer branches in loops",
                     processed_));
  if (memory_ > options_.memory_limit_bytes)
    return too_much(
        path,
        "the program has too many different states to check (memory limit); use fewer variables in loops");
  if (options_.time_limit_ms && processed_ % kClockInterval == 0 && processor_time() > walks_->deadline)
    return too_much(
        path, format("the program takes more than {} ms to check; split it, or use fewer branches in loops",
                     options_.time_limit_ms));
  return std::nullopt;
}

// Of the branches known by now.
const Matters &Explorer::matters() {
  if (stale_) matters_ = liveness_.matters(walks_->decides);
  stale_ = false;
  return matters_;
}

Live Explorer::live_in(const Path &path, const Matters &matters) const {
  Live live;
  const auto &frames = path.state.frames;
  for (size_t f = 0; f < frames.size(); ++f) {
    bool top = f + 1 == frames.size();
    int call = top ? -1 : frames[f + 1].call;
    live.frames.push_back(
        {top ? liveness_.before(path.pc) : liveness_.during_call(call),
         top ? matters.before[static_cast<size_t>(path.pc)] : liveness_.during_call(matters.before, call),
         Stack::Bytes{}.set(), matters.stack});
  }
  return live;
}

// The path has read stack bytes since its last seen state: that state depends on them, and so
// do the ones before it, back to where the bytes were written.
void Explorer::mark_reads(const Path &path) {
  for (size_t f = 0; f < path.state.frames.size(); ++f)
    mark_reads(path.seen, f, path.state.frames[f].stack.use().read);
}

void Explorer::mark_reads(int seen, size_t frame, Stack::Bytes reads) {
  while (seen >= 0 && reads.any()) {
    Seen &s = *seen_[static_cast<size_t>(seen)];
    if (frame >= s.read.size() || (reads & ~s.read[frame]).none()) return;
    s.read[frame] |= reads;
    reads &= ~s.written[frame];
    seen = s.parent;
  }
}

// Paths meet at path.pc: has what can happen from here been explored already?
Result<Explorer::Walk> Explorer::meet(Path &path) {
  Live live = live_in(path, matters()), all = live_in(path, all_matter_);
  std::vector<int> &here = seen_at_[static_cast<size_t>(path.pc)];
  for (size_t i = here.size(); i-- > 0;) {
    Seen &seen = *seen_[static_cast<size_t>(here[i])];
    // Every open state is an ancestor of this path. The same state again: no progress.
    if (seen.open > 0) {
      if (covers(seen.state, path.state, all) && covers(path.state, seen.state, all))
        return unbounded(path, false);
      continue;
    }
    for (size_t f = 0; f < live.frames.size() && f < seen.read.size(); ++f)
      live.frames[f].stack = seen.read[f];
    if (covers(seen.state, path.state, live)) {
      ++seen.hits;
      relied_ = true;
      mark_reads(path);
      for (size_t f = 0; f < seen.read.size(); ++f)
        mark_reads(path.seen, f, seen.read[f] & ~path.state.frames[f].stack.use().written);
      if (auto e = end(path, seen.to_end)) return *e;
      return Walk::ended;
    }
    // States that cover nothing cost time and memory (the rule is the kernel's).
    if (++seen.misses > 3 * seen.hits + 16) {
      memory_ -= size_of(seen.state);
      seen.state = State{};
      here.erase(here.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  remember(path);
  return Walk::on;
}

void Explorer::remember(Path &path) {
  mark_reads(path);
  auto seen = std::make_unique<Seen>();
  for (Frame &frame : path.state.frames) {
    seen->read.emplace_back();
    seen->written.push_back(frame.stack.use().written);
    frame.stack.clear_use();
  }
  seen->state = path.state;
  drop_lonely_ids(seen->state);
  seen->pc = path.pc;
  seen->parent = path.seen;
  seen->from_parent = path.since_seen;
  memory_ += size_of(seen->state) + sizeof(Seen);
  path.seen = static_cast<int>(seen_.size());
  path.since_seen = {};
  seen_at_[static_cast<size_t>(path.pc)].push_back(path.seen);
  seen_.push_back(std::move(seen));
}

// The path is done; after it, at most `rest` more is executed.
std::optional<Error> Explorer::end(const Path &path, const Counts &rest) {
  if (path.executed + rest.n[0] > options_.max_insns) return unbounded(path, true);
  Counts total = path.since_seen + rest;
  for (int s = path.seen; s >= 0;) {
    Seen &seen = *seen_[static_cast<size_t>(s)];
    if (!seen.to_end.raise_to(total)) break;
    total = seen.from_parent + seen.to_end;
    s = seen.parent;
  }
  close(path);
  return std::nullopt;
}

// The path goes no further. What it was the last one to leave has been explored to the end.
void Explorer::close(const Path &path) {
  for (int s = path.seen; s >= 0 && --seen_[static_cast<size_t>(s)]->open == 0;)
    s = seen_[static_cast<size_t>(s)]->parent;
}

void Explorer::record_claims(const Path &path) {
  RegMask live = matters().before[static_cast<size_t>(path.pc)];
  auto &row = claims_->before[static_cast<size_t>(path.pc)];
  for (size_t n = 0; n < kRegCount; ++n) {
    if (!((live >> n) & 1)) continue;
    const Value &value = path.state.top().regs[n];
    Claims::Register &claim = row[n];
    bool first = !claim.seen;
    claim.seen = true;
    if (!value.is_scalar())
      claim.range.reset();
    else if (first)
      claim.range = value.range;
    else if (claim.range)
      claim.range = join(*claim.range, value.range);
  }
}

}  // namespace egpu::bpf
