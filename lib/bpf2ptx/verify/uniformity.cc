#include "lib/bpf2ptx/verify/uniformity.h"

#include "lib/bpf2ptx/verify/ctx.h"
#include "lib/bpf2ptx/verify/flow_graph.h"
#include "lib/bpf2ptx/verify/flow_state.h"
#include "lib/bpf2ptx/verify/helpers.h"

namespace egpu::bpf {
namespace {

// Blocks looked at; a program of 4,096 instructions takes a few thousand.
constexpr int64_t kMaxSteps = 50'000;
constexpr size_t kSplitBlocks = 16;  // of a split that cost as much as one block

class Analysis {
 public:
  Analysis(const Program &program, const Object &object, const Facts &facts)
      : program_(program), object_(object), facts_(facts), widest_(most_varying(program.event.scope)) {}

  Uniformity run() {
    for (const Chain &chain : facts_.chains) {
      flows_.emplace_back(program_, chain);
      result_.rows.emplace_back(chain.insns.size());
    }
    FlowState entry(1);
    analyse(0, entry);
    if (steps_ > kMaxSteps) return {{}, false};
    find_control();
    return std::move(result_);
  }

 private:
  // One chain's part of the analysis.
  struct Flow {
    Flow(const Program &program, const Chain &chain)
        : graph(program, chain),
          out(graph.blocks().size()),
          join_label(out.size(), Uniform::grid),
          branch(out.size(), Uniform::grid),
          splits(out.size()) {}

    FlowGraph graph;
    std::optional<FlowState> entry;             // joined over all calls
    std::vector<std::optional<FlowState>> out;  // by block: after it; nothing: not reached yet
    std::vector<Uniform> join_label;            // by block: the most varying branch whose ways meet here
    std::vector<Uniform> branch;                // by block: how its branch varies
    std::vector<std::optional<FlowGraph::Split>> splits;  // by block: of varying branches
    std::vector<int> loop_exits;                          // varying branches that can leave a loop
    Uniform rounds = Uniform::grid;                       // of a callback: how often it is called
  };

  Flow &flow(size_t chain) { return flows_[chain]; }
  Uniformity::Row &row(size_t chain, int insn) {
    return result_.rows[chain][static_cast<size_t>(insn - facts_.chains[chain].begin)];
  }
  // No label is above what the scope allows.
  Uniform limited(Uniform label) const { return std::min(label, widest_); }

  // The state in which the function ends; nothing: it does not.
  const FlowState *analyse(size_t chain, const FlowState &entry) {
    Flow &f = flow(chain);
    auto last = static_cast<size_t>(f.graph.last());
    if (f.entry && !f.entry->join(entry)) return f.out[last] ? &*f.out[last] : nullptr;
    if (!f.entry) f.entry = entry;
    for (bool changed = true; changed && steps_ <= kMaxSteps;) {
      changed = false;
      for (size_t b = 0; b < f.out.size() && steps_ <= kMaxSteps; ++b) changed |= update(chain, b);
    }
    return f.out[last] ? &*f.out[last] : nullptr;
  }

  // Carries the state through one block. Has anything changed?
  bool update(size_t chain, size_t b) {
    Flow &f = flow(chain);
    steps_ += 1 + static_cast<int64_t>(f.loop_exits.size());
    std::optional<FlowState> state = before_block(f, b);
    if (!state) return false;
    const FlowGraph::Block &block = f.graph.blocks()[b];
    for (int i = block.begin; i < block.end; ++i) {
      record(row(chain, i), *state);
      execute(chain, i, *state);
    }
    bool changed = block.next.size() == 2 && split(f, b, row(chain, block.end - 1), block.end - 1);
    if (!f.out[b]) {
      f.out[b] = std::move(state);
      return true;
    }
    return f.out[b]->update(*state) || changed;
  }

  std::optional<FlowState> before_block(const Flow &f, size_t b) const {
    std::optional<FlowState> state;
    if (b == 0) state = f.entry;
    for (int p : f.graph.blocks()[b].previous) {
      const auto &from = f.out[static_cast<size_t>(p)];
      if (!from) continue;
      if (state)
        state->meet(*from, static_cast<int>(b), f.join_label[b]);
      else
        state = from;
    }
    if (!state) return state;
    for (int exit : f.loop_exits) {
      const auto &[region, joins, cycle, sides] = *f.splits[static_cast<size_t>(exit)];
      if (!(region[b] || joins[b]) || cycle[b]) continue;
      state->for_each([&](FlowState::Cell &cell) {
        int made = cell.block(f.graph);
        if (made >= 0 && cycle[static_cast<size_t>(made)])
          cell.label = join(cell.label, f.branch[static_cast<size_t>(exit)]);
      });
    }
    return state;
  }

  // The block ends with a branch: do the threads part there, more than was known?
  bool split(Flow &f, size_t b, const Uniformity::Row &row, int insn) {
    Uniform label = branch_label(std::get<JumpIf>(program_.insns[static_cast<size_t>(insn)].op), row);
    if (label <= f.branch[b]) return false;
    f.branch[b] = label;
    auto &split = f.splits[b];
    if (!split) {
      split = f.graph.split(static_cast<int>(b));
      if (!split->cycle.empty()) f.loop_exits.push_back(static_cast<int>(b));
    }
    steps_ += static_cast<int64_t>(f.out.size() / kSplitBlocks);
    for (size_t i = 0; i < f.out.size(); ++i)
      if (split->joins[i]) f.join_label[i] = join(f.join_label[i], label);
    return true;
  }

  static void record(Uniformity::Row &row, const FlowState &state) {
    row.lookups = 0;
    for (size_t n = 0; n < kRegCount; ++n) {
      row.regs[n] = state.regs[n].label;
      if (state.regs[n].lookup) row.lookups |= static_cast<RegMask>(1u << n);
    }
  }

  void execute(size_t chain, int insn, FlowState &state) {
    auto run = [&](const auto &op) { operate(op, facts_.chains[chain].at(insn), chain, insn, state); };
    std::visit(run, program_.insns[static_cast<size_t>(insn)].op);
  }

  Uniform label_of(const FlowState &state, const Operand &operand) const {
    auto *reg = std::get_if<Reg>(&operand);
    return reg ? state.regs[reg->n].label : Uniform::grid;
  }
  static void set(FlowState &state, Reg dst, Uniform label, int insn) { state.regs[dst.n] = {label, insn}; }

  void operate(const Alu &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    // x - x and x ^ x, which compilers use to make zero.
    auto *src = std::get_if<Reg>(&op.src);
    if (src && *src == op.dst && (op.op == AluOp::sub || op.op == AluOp::xor_))
      return set(state, op.dst, Uniform::grid, insn);
    set(state, op.dst, join(state.regs[op.dst.n].label, label_of(state, op.src)), insn);
  }
  void operate(const Neg &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    set(state, op.dst, state.regs[op.dst.n].label, insn);
  }
  void operate(const Endian &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    set(state, op.dst, state.regs[op.dst.n].label, insn);
  }
  void operate(const Mov &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    auto *from = std::get_if<Reg>(&op.src);
    bool lookup = from && state.regs[from->n].lookup;
    set(state, op.dst, label_of(state, op.src), insn);
    state.regs[op.dst.n].lookup = lookup;
  }
  void operate(const LoadImm64 &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    set(state, op.dst, Uniform::grid, insn);
  }
  void operate(const LoadMap &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    set(state, op.dst, Uniform::grid, insn);
  }
  void operate(const LoadMapValue &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    set(state, op.dst, value_label(op.map), insn);
  }
  void operate(const LoadFunction &op, const InsnFacts &, size_t, int insn, FlowState &state) {
    set(state, op.dst, Uniform::grid, insn);
  }

  // The address of a map's value, for one key: per-SM maps have one for each SM.
  Uniform value_label(int map) const {
    map::Type type = object_.maps[static_cast<size_t>(map)].shape.type;
    bool per_sm = type == map::Type::percpu_array || type == map::Type::percpu_hash;
    return limited(per_sm ? Uniform::warp : Uniform::grid);
  }

  void operate(const Load &op, const InsnFacts &facts, size_t, int insn, FlowState &state) {
    if (facts.constant) return set(state, op.dst, Uniform::grid, insn);
    FlowState::Cell loaded{state.regs[op.base.n].label, insn};
    bool first = true;
    for (const Pointer &p : facts.memory) {
      if (p.space == Space::stack) {
        FlowState::Cell cell = state.load(p, op.bytes);
        loaded.label = join(loaded.label, cell.label);
        loaded.lookup = cell.lookup && (first || loaded.lookup);
      } else {
        loaded.label = join(loaded.label, contents(p, op.bytes));
        loaded.lookup = false;
      }
      first = false;
    }
    state.regs[op.dst.n] = loaded;
  }

  // What memory other than the stack holds, at an address that does not vary.
  Uniform contents(const Pointer &p, int bytes) const {
    switch (p.space) {
      case Space::ctx: {
        const CtxField *field = find_ctx_field(program_.event, p.min_offset, bytes);
        return limited(field ? field->uniform : Uniform::lane);
      }
      case Space::map_value:
        // Others write while this runs: warps that read one after the other read different numbers.
        return object_.maps[static_cast<size_t>(p.map)].read_only ? Uniform::grid : limited(Uniform::warp);
      default:
        return widest_;
    }
  }

  void operate(const Store &op, const InsnFacts &facts, size_t, int insn, FlowState &state) {
    FlowState::Cell value{join(label_of(state, op.src), state.regs[op.base.n].label), insn};
    if (auto *from = std::get_if<Reg>(&op.src)) value.lookup = state.regs[from->n].lookup;
    for (const Pointer &p : facts.memory)
      if (p.space == Space::stack) state.store(p, op.bytes, value, facts.memory.size() == 1);
  }

  void operate(const Atomic &op, const InsnFacts &facts, size_t, int insn, FlowState &state) {
    Uniform address = state.regs[op.base.n].label, old = Uniform::grid;
    Uniform given = join(address, state.regs[op.src.n].label);
    if (op.op == AtomicOp::cmpxchg) given = join(given, state.regs[0].label);
    for (const Pointer &p : facts.memory) {
      if (p.space != Space::stack) {
        old = widest_;  // each thread gets what the one before it left
        continue;
      }
      old = join(old, state.load(p, op.bytes).label);
      state.store(p, op.bytes, {join(given, old), insn}, false);
    }
    if (!op.fetch) return;
    set(state, op.op == AtomicOp::cmpxchg ? Reg{0} : op.src, join(address, old), insn);
  }

  void operate(const Jump &, const InsnFacts &, size_t, int, FlowState &) {}
  void operate(const JumpIf &, const InsnFacts &, size_t, int, FlowState &) {}
  void operate(const Exit &, const InsnFacts &, size_t, int, FlowState &) {}

  void operate(const CallHelper &op, const InsnFacts &facts, size_t chain, int insn, FlowState &state) {
    const Helper &helper = *find_helper(op.id);
    FlowState::Cell result{limited(helper.uniform), insn};
    for (const HelperCall &call : facts.calls)
      for (size_t i = 0; i < call.args.size(); ++i) {
        if (helper.args[i] == Arg::none || helper.together) continue;
        result.label = join(result.label, state.regs[i + 1].label);
        for (const Pointer &p : call.args[i].pointers)
          result.label = join(result.label, argument(helper, helper.args[i], call, p, state));
      }
    result.lookup = helper.ret == Ret::map_value_or_null;
    if (helper.ret == Ret::loop) result.label = join(result.label, loop(facts, chain, insn, state));
    for (size_t n = 0; n <= 5; ++n) state.regs[n] = {Uniform::grid, insn};
    state.regs[0] = result;
  }

  // What an argument points to, if it decides the result.
  Uniform argument(const Helper &helper, Arg type, const HelperCall &call, const Pointer &p,
                   const FlowState &state) const {
    if (type == Arg::map && helper.ret == Ret::map_value_or_null) {
      // A key of a hash that one warp does not find, the next one may.
      bool hash = map::is_hash(object_.maps[static_cast<size_t>(p.map)].shape.type);
      return hash ? limited(Uniform::warp) : value_label(p.map);
    }
    if (type != Arg::key) return Uniform::grid;
    auto size =
        static_cast<int>(object_.maps[static_cast<size_t>(call.args[0].pointers[0].map)].shape.key_size);
    return p.space == Space::stack ? state.load(p, size).label : contents(p, size);
  }

  // Calls of the program's own functions. A callee sees its arguments and the frames below it.
  void operate(const CallLocal &op, const InsnFacts &, size_t chain, int insn, FlowState &state) {
    int callee = facts_.callee(static_cast<int>(chain), insn, op.target);
    FlowState::Cell result{Uniform::grid, insn};
    if (const FlowState *end = callee < 0 ? nullptr : analyse_call(callee, state, state)) {
      result.label = end->regs[0].label;
      state.take_frames(*end, insn, Uniform::grid, false);
    }
    for (size_t n = 1; n <= 5; ++n) state.regs[n] = {Uniform::grid, insn};
    state.regs[0] = result;
  }

  const FlowState *analyse_call(int callee, const FlowState &caller, const FlowState &arguments) {
    FlowState entry = caller.enter();
    for (size_t n = 1; n <= 5; ++n) entry.regs[n].label = arguments.regs[n].label;
    return analyse(static_cast<size_t>(callee), entry);
  }

  // bpf_loop(): each round sees what the rounds before it wrote. How does the number of rounds vary?
  Uniform loop(const InsnFacts &facts, size_t chain, int insn, FlowState &state) {
    Uniform rounds = state.regs[1].label;
    for (const HelperCall &call : facts.calls) {
      if (call.args[1].pointers.empty()) continue;
      int callee = facts_.callee(static_cast<int>(chain), insn, call.args[1].pointers[0].function);
      if (callee < 0) continue;
      FlowState arguments = state;
      arguments.regs[1].label = Uniform::grid;  // the round, of those who are in it together
      arguments.regs[2].label = state.regs[3].label;
      for (bool changed = true; changed && steps_ <= kMaxSteps;) {
        changed = false;
        const FlowState *end = analyse_call(callee, state, arguments);
        if (!end) break;
        Uniform more = join(rounds, end->regs[0].label);
        changed = more != rounds;
        rounds = more;
        flow(static_cast<size_t>(callee)).rounds = rounds;
        changed |= state.take_frames(*end, insn, rounds, true);
      }
    }
    return rounds;
  }

  // Which branches decide whether an instruction is executed? Callers come before their callees.
  void find_control() {
    for (size_t c = 0; c < facts_.chains.size(); ++c) {
      const Chain &chain = facts_.chains[c];
      Uniform above = flows_[c].rounds;
      if (chain.parent >= 0) above = join(above, row(static_cast<size_t>(chain.parent), chain.call).control);
      const Flow &f = flows_[c];
      std::vector<Uniform> control(f.out.size(), above);
      for (size_t b = 0; b < f.out.size(); ++b)
        for (size_t i = 0; f.splits[b] && i < f.out.size(); ++i)
          if (f.splits[b]->region[i]) control[i] = join(control[i], f.branch[b]);
      for (size_t b = 0; b < f.out.size(); ++b)
        for (int i = f.graph.blocks()[b].begin; i < f.graph.blocks()[b].end; ++i)
          row(c, i).control = control[b];
    }
  }

  const Program &program_;
  const Object &object_;
  const Facts &facts_;
  Uniform widest_;
  std::vector<Flow> flows_;
  Uniformity result_;
  int64_t steps_ = 0;
};

}  // namespace

Uniform branch_label(const JumpIf &branch, const Uniformity::Row &before) {
  Uniform label = before.regs[branch.lhs.n];
  auto *rhs = std::get_if<Reg>(&branch.rhs);
  return rhs ? join(label, before.regs[rhs->n]) : label;
}

Uniformity find_uniformity(const Program &program, const Object &object, const Facts &facts) {
  return Analysis(program, object, facts).run();
}

}  // namespace egpu::bpf
