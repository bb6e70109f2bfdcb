#include "lib/bpf2ptx/interp/interp.h"

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/insn/semantics.h"

namespace egpu::bpf {
namespace {

constexpr int32_t kLoopHelper = 181;           // bpf_loop
constexpr uint64_t kMaxLoops = 1 << 23;        // kernel: BPF_MAX_LOOPS
constexpr uint64_t kTooBig = 0 - uint64_t{7};  // -E2BIG
// What LoadFunction gives: a number that no region has.
constexpr uint64_t kFunctionTag = 0xf000'0000'0000'0000;

}  // namespace

// One frame's instructions. Each operator() executes one kind; the result is the next
// instruction's index, or kReturn.
struct InsnRunner {
  static constexpr int kReturn = -1;

  Interpreter &interp;
  Interpreter::Registers regs{};
  int pc = 0;

  uint64_t get(Reg r) const { return regs.value[r.n]; }
  uint64_t get(const Operand &operand) const {
    if (auto *reg = std::get_if<Reg>(&operand)) return get(*reg);
    return static_cast<uint64_t>(int64_t{std::get<Imm>(operand).value});
  }
  int set(Reg r, uint64_t value) {
    regs.value[r.n] = value;
    regs.known[r.n] = true;
    return pc + 1;
  }
  bool known(Reg r) const { return regs.known[r.n]; }
  bool known(const Operand &operand) const {
    auto *reg = std::get_if<Reg>(&operand);
    return !reg || known(*reg);
  }
  // In strict mode an operand must have been written.
  template <class... T>
  Result<Ok> need(const T &...operands) const {
    if (!interp.strict_ || (known(operands) && ...)) return Ok{};
    return Error{"read of a register that was never written"};
  }
  std::array<uint64_t, 5> arguments() const {
    return {regs.value[1], regs.value[2], regs.value[3], regs.value[4], regs.value[5]};
  }
  void forget_arguments() {
    for (size_t n = 1; n <= 5; ++n) regs.known[n] = false;
  }

  Result<int> operator()(const Alu &op) {
    TRY(Ok ok, need(op.dst, op.src));
    (void)ok;
    return set(op.dst, eval(op.op, op.is64, get(op.dst), get(op.src)));
  }
  Result<int> operator()(const Neg &op) {
    TRY(Ok ok, need(op.dst));
    (void)ok;
    return set(op.dst, eval(AluOp::sub, op.is64, 0, get(op.dst)));
  }
  Result<int> operator()(const Mov &op) {
    TRY(Ok ok, need(op.src));
    (void)ok;
    return set(op.dst, eval(op, get(op.src)));
  }
  Result<int> operator()(const Endian &op) {
    TRY(Ok ok, need(op.dst));
    (void)ok;
    return set(op.dst, eval(op, get(op.dst)));
  }
  Result<int> operator()(const LoadImm64 &op) { return set(op.dst, op.value); }
  Result<int> operator()(const LoadMap &op) {
    if (!interp.map_) return Error{"there are no maps"};
    TRY(uint64_t address, interp.map_(op.map, std::nullopt));
    return set(op.dst, address);
  }
  Result<int> operator()(const LoadMapValue &op) {
    if (!interp.map_) return Error{"there are no maps"};
    TRY(uint64_t address, interp.map_(op.map, op.offset));
    return set(op.dst, address);
  }
  Result<int> operator()(const LoadFunction &op) {
    return set(op.dst, kFunctionTag | static_cast<uint64_t>(op.target));
  }
  Result<int> operator()(const Load &op) {
    TRY(Ok ok, need(op.base));
    (void)ok;
    TRY(uint64_t value,
        interp.memory_.load(get(op.base) + static_cast<uint64_t>(int64_t{op.offset}), op.bytes));
    return set(op.dst, extend(value, op.bytes, op.sign_extend));
  }
  Result<int> operator()(const Store &op) {
    TRY(Ok ok, need(op.base, op.src));
    (void)ok;
    uint64_t address = get(op.base) + static_cast<uint64_t>(int64_t{op.offset});
    TRY(Ok stored, interp.memory_.store(address, op.bytes, get(op.src)));
    (void)stored;
    return pc + 1;
  }
  Result<int> operator()(const Atomic &op) {
    TRY(Ok ok, need(op.base, op.src));
    (void)ok;
    uint64_t address = get(op.base) + static_cast<uint64_t>(int64_t{op.offset});
    TRY(uint64_t old, interp.memory_.load(address, op.bytes));
    uint64_t source = get(op.src), next = old;
    switch (op.op) {
      case AtomicOp::add:
        next = old + source;
        break;
      case AtomicOp::or_:
        next = old | source;
        break;
      case AtomicOp::and_:
        next = old & source;
        break;
      case AtomicOp::xor_:
        next = old ^ source;
        break;
      case AtomicOp::xchg:
        next = source;
        break;
      case AtomicOp::cmpxchg:
        if (interp.strict_ && !regs.known[0]) return Error{"read of r0, which was never written"};
        next = old == extend(regs.value[0], op.bytes, false) ? source : old;
        break;
    }
    TRY(Ok stored, interp.memory_.store(address, op.bytes, next));
    (void)stored;
    if (!op.fetch) return pc + 1;
    return set(op.op == AtomicOp::cmpxchg ? Reg{0} : op.src, old);
  }
  Result<int> operator()(const Jump &op) { return op.target; }
  Result<int> operator()(const JumpIf &op) {
    TRY(Ok ok, need(op.lhs, op.rhs));
    (void)ok;
    return eval(op.op, op.is64, get(op.lhs), get(op.rhs)) ? op.target : pc + 1;
  }
  Result<int> operator()(const CallHelper &op) {
    uint64_t result = 0;
    if (op.id == kLoopHelper) {
      TRY(uint64_t rounds, interp.loop(arguments()));
      result = rounds;
    } else {
      if (!interp.helper_) return Error{"there are no helpers"};
      TRY(uint64_t r0, interp.helper_(op.id, arguments()));
      result = r0;
    }
    forget_arguments();
    return set(Reg{0}, result);
  }
  Result<int> operator()(const CallLocal &op) {
    int known_args = 0;
    for (int n = 1; n <= 5; ++n) known_args |= regs.known[static_cast<size_t>(n)] << n;
    TRY(uint64_t result, interp.call(op.target, arguments(), known_args));
    forget_arguments();
    return set(Reg{0}, result);
  }
  Result<int> operator()(const Exit &) { return kReturn; }
};

void Interpreter::set_strict(bool strict) {
  strict_ = strict;
  memory_.require_alignment(strict);
}

Result<uint64_t> Interpreter::run(uint64_t r1, uint64_t r2) {
  executed_ = 0;
  depth_ = 0;
  return call(0, {r1, r2, 0, 0, 0}, 1 << 1 | 1 << 2);
}

Result<uint64_t> Interpreter::call(int target, const std::array<uint64_t, 5> &args, int known_args) {
  if (depth_ >= kMaxFrames) return Error{format("calls are nested more than {} deep", kMaxFrames)};
  InsnRunner frame{*this};
  for (size_t n = 1; n <= 5; ++n) {
    frame.regs.value[n] = args[n - 1];
    frame.regs.known[n] = (known_args >> n) & 1;
  }
  std::array<uint8_t, kStackBytes> stack{}, initialized{};
  uint64_t top = kStackBase + static_cast<uint64_t>(depth_ + 1) * kFrameStride;
  frame.regs.value[10] = top;
  frame.regs.known[10] = true;
  memory_.add({format("the stack of frame {}", depth_), top - kStackBytes, stack.data(), kStackBytes, true,
               strict_ ? initialized.data() : nullptr});
  ++depth_;
  std::optional<Error> error;
  for (frame.pc = target; frame.pc != InsnRunner::kReturn;) {
    if (frame.pc < 0 || static_cast<size_t>(frame.pc) >= insns_.size()) {
      error = Error{"execution left the program"};
      break;
    }
    if (++executed_ > max_insns_) {
      error = Error{format("more than {} instructions executed", max_insns_)};
      break;
    }
    const Op &op = insns_[static_cast<size_t>(frame.pc)].op;
    if (trace_) {
      auto traced = trace_(frame.pc, depth_ - 1, frame.regs);
      if (!traced) {
        error = std::move(traced).error();
        break;
      }
    }
    auto next = std::visit(frame, op);
    if (!next) {
      error = std::move(next).error();
      if (!error->message.starts_with("insn "))
        error->message = format("insn {}: {}: {}", frame.pc, to_string(op), error->message);
      break;
    }
    frame.pc = *next;
  }
  --depth_;
  memory_.drop_last();
  if (error) return *error;
  return frame.regs.value[0];
}

Result<uint64_t> Interpreter::loop(const std::array<uint64_t, 5> &args) {
  uint64_t count = extend(args[0], 4, false);
  if (count > kMaxLoops) return kTooBig;
  if ((args[1] & kFunctionTag) != kFunctionTag) return Error{"the callback is no function"};
  for (uint64_t i = 0; i < count; ++i) {
    TRY(uint64_t stop,
        call(static_cast<int>(args[1] & ~kFunctionTag), {i, args[2], 0, 0, 0}, 1 << 1 | 1 << 2));
    if (stop) return i + 1;
  }
  return count;
}

}  // namespace egpu::bpf
