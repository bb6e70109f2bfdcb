// Calls of the program's own functions, returns from them, and bpf_loop().
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/verify/explore.h"

namespace egpu::bpf {
namespace {

constexpr uint64_t kMaxLoops = 1 << 23;  // kernel: BPF_MAX_LOOPS; more makes bpf_loop() fail

void clear_call_registers(State &state) {
  for (int n = 0; n <= 5; ++n) state.reg(n) = Value{};
}

// A new innermost frame; its arguments are left to the caller.
Frame &enter(State &state, int call, int subprogram, int chain) {
  state.frames.emplace_back();
  Frame &frame = state.top();
  frame.call = call;
  frame.subprogram = subprogram;
  frame.chain = chain;
  Value stack = Value::pointer(Kind::stack);
  stack.frame = static_cast<int>(state.frames.size()) - 1;
  frame.regs[kFramePointer] = stack;
  return frame;
}

}  // namespace

std::optional<Error> Explorer::call(Path &path, int target) {
  State &state = path.state;
  std::array<Value, kRegCount> regs = state.top().regs;
  clear_call_registers(state);
  int subprogram = structure_.subprogram_of[static_cast<size_t>(target)];
  EGPU_TRY(int chain, collector_.enter(state.top().chain, path.pc, subprogram));
  Frame &frame = enter(state, path.pc, subprogram, chain);
  for (size_t n = 1; n <= 5; ++n) frame.regs[n] = regs[n];
  path.pc = target;
  return std::nullopt;
}

Result<Explorer::Walk> Explorer::exit(Path &path) {
  State &state = path.state;
  const Value result = state.reg(0);
  mark_reads(path);
  if (state.frames.size() == 1) {
    if (auto e = transfer_.check_readable(state, path.pc, 0)) return *e;
    if (!result.is_scalar())
      return fail(path, format("the program returns {}; pointers may not leave the program, return a number",
                               describe(result)));
    if (auto e = end(path, {})) return *e;
    return Walk::ended;
  }
  auto depth = static_cast<int>(state.frames.size()) - 1;
  if (result.kind == Kind::stack && result.frame == depth)
    return fail(path, "the function returns the address of its own variable, which is gone after the return");
  Frame left = std::move(state.frames.back());
  state.frames.pop_back();
  if (left.callback) {
    if (!result.is_scalar() || result.range.full.umax > 1)
      return fail(path, format("a callback of bpf_loop() returns 0 (go on) or 1 (stop), this one returns {}",
                               result.is_scalar() ? to_string(result.range) : describe(result)));
    path.pc = left.call;
    uint64_t done = left.iteration + 1;
    bool can_stop = result.range.full.umax == 1, can_go = result.range.full.umin == 0;
    if (can_stop && can_go) {
      State stopped = state;
      leave_loop(stopped, left, done);
      push(path, std::move(stopped), path.pc + 1, result.outside);
    } else if (can_stop) {
      leave_loop(state, left, done);
      ++path.pc;
      return Walk::on;
    }
    return iterate(path, left, done, can_go);
  }
  state.reg(0) = result;
  path.pc = left.call + 1;
  return Walk::on;
}

std::optional<Error> Explorer::start_loop(Path &path) {
  const State &state = path.state;
  for (int reg = 1; reg <= 4; ++reg)
    if (auto e = transfer_.check_readable(state, path.pc, reg)) return e;
  const Value &loops = state.reg(1), &callback = state.reg(2), &context = state.reg(3), &flags = state.reg(4);
  if (!loops.is_scalar())
    return fail(path,
                format("argument 1 of bpf_loop() is the number of rounds, but r1 is {}", describe(loops)));
  if (callback.kind != Kind::function)
    return fail(path, format("argument 2 of bpf_loop() is a function, but r2 is {}", describe(callback)));
  if (!context.is_scalar() && context.kind != Kind::stack)
    return fail(path, format("argument 3 of bpf_loop() is the address of a variable or NULL, but r3 is {}",
                             describe(context)));
  if (!flags.is_constant() || flags.range.value() != 0)
    return fail(path, "argument 4 of bpf_loop() must be 0");
  for (int i : {0, 2, 3}) collector_.argument(i, state.reg(i + 1));
  collector_.selecting_argument(1, callback);
  collector_.end_of_arguments();
  return std::nullopt;
}

// `done` rounds of the loop are over; `loop` holds its arguments. Does it end, or go on?
Result<Explorer::Walk> Explorer::iterate(Path &path, const Frame &loop, uint64_t done, bool can_go) {
  // bpf_loop() takes a 32-bit count.
  Range loops = extend(loop.loops.range, 4, false);
  bool can_end = loops.full.umin <= done || loops.full.umax > kMaxLoops;
  can_go = can_go && loops.full.umax > done;
  if (can_end) {
    State ended = path.state;
    leave_loop(ended, loop, done);
    if (!can_go) {
      path.state = std::move(ended);
      ++path.pc;
      return Walk::on;
    }
    push(path, std::move(ended), path.pc + 1, loop.loops.outside);
  }
  clear_call_registers(path.state);
  TRY(int chain, collector_.enter(path.state.top().chain, path.pc, loop.subprogram));
  Frame &frame = enter(path.state, path.pc, loop.subprogram, chain);
  frame.callback = true;
  frame.iteration = done;
  frame.loops = loop.loops;
  frame.context = loop.context;
  frame.regs[1] = Value::constant(done);
  frame.regs[2] = loop.context;
  path.pc = structure_.starts[static_cast<size_t>(loop.subprogram)];
  return Walk::on;
}

void Explorer::leave_loop(State &state, const Frame &loop, uint64_t done) {
  clear_call_registers(state);
  bool may_fail = extend(loop.loops.range, 4, false).full.umax > kMaxLoops;
  state.reg(0) = may_fail ? Value::scalar(Range::unknown()) : Value::constant(done);
}

}  // namespace egpu::bpf
