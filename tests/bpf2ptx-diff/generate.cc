#include "tests/bpf2ptx-diff/generate.h"

namespace egpu::bpf::run {
namespace {

// Registers: r9 the memory; r6, r7, r8 and r3, r4, r5 numbers; r0, r1, r2 scratch. Stack: four words at
// -8 to -32 that are always initialised; below them a function's result (-40), a pointer (-48), an index
// (-56) and loop counters.
constexpr Reg kMemory{9}, kAddress{2};
constexpr int kWords = 4;
constexpr int32_t kLoopHelper = 181;
constexpr uint8_t kNumbers[] = {3, 4, 5, 6, 7, 8};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::vector<Insn> program() {
    emit(Mov{true, 0, kMemory, Reg{1}});
    function_body(true);
    finish();
    // Functions are made when something calls them; they call only later ones.
    for (size_t n = 0; n < functions_.size(); ++n) {
      auto start = static_cast<int>(insns_.size());
      made_ = n + 1;
      for (int call : functions_[n].calls) {
        Op &op = insns_[static_cast<size_t>(call)].op;
        if (auto *local = std::get_if<CallLocal>(&op)) local->target = start;
        if (auto *load = std::get_if<LoadFunction>(&op)) load->target = start;
      }
      if (functions_[n].callback)
        callback();
      else
        function();
    }
    return std::move(insns_);
  }

 private:
  struct Function {
    bool callback;
    std::vector<int> calls;  // instructions whose target it is
  };

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }
  size_t emit(Op op) {
    insns_.push_back({std::move(op), static_cast<uint32_t>(insns_.size()), -1});
    return insns_.size() - 1;
  }
  int here() const { return static_cast<int>(insns_.size()); }
  Reg number() { return {kNumbers[below(std::size(kNumbers))]}; }
  Imm imm() {
    static constexpr int32_t kImms[] = {0,  1,   2,    3,  5,  7,  8,         31,
                                        63, 255, 4096, -1, -2, -8, INT32_MAX, INT32_MIN};
    return one_in(4) ? Imm{static_cast<int32_t>(random_())} : Imm{kImms[below(std::size(kImms))]};
  }
  int size() { return 1 << below(4); }

  // A register gets a number that only the memory knows.
  void load_number(Reg reg) {
    emit(Load{8, false, reg, kMemory, static_cast<int16_t>(8 * below(kMemoryBytes / 8))});
  }
  void function_body(bool main) {
    for (uint8_t n : kNumbers) load_number(Reg{n});
    for (int i = 1; i <= kWords; ++i) {
      if (one_in(3))
        emit(Store{8, Reg{10}, static_cast<int16_t>(-8 * i), Operand{imm()}});
      else
        emit(Store{8, Reg{10}, static_cast<int16_t>(-8 * i), Operand{number()}});
    }
    unsigned blocks = main ? 1 + below(4) : 1 + below(2);
    for (unsigned b = 0; b < blocks; ++b) block(main ? 2 : 1);
  }
  // r0 becomes a mix of everything.
  void finish() {
    load_word(Reg{0}, -8);
    for (uint8_t n : kNumbers) mix(Reg{n});
    for (int i = 2; i <= kWords; ++i) {
      load_word(Reg{1}, static_cast<int16_t>(-8 * i));
      mix(Reg{1});
    }
    emit(Exit{});
  }
  void load_word(Reg reg, int16_t offset) { emit(Load{8, false, reg, Reg{10}, offset}); }
  void mix(Reg reg) {
    emit(Alu{AluOp::mul, true, Reg{0}, Imm{0x01000193}});
    emit(Alu{AluOp::xor_, true, Reg{0}, reg});
  }

  // r1, r2: numbers; r3: the memory.
  void function() {
    emit(Mov{true, 0, kMemory, Reg{3}});
    emit(Mov{true, 0, Reg{0}, Reg{1}});
    emit(Alu{AluOp::sub, true, Reg{0}, Reg{2}});
    emit(Store{8, Reg{10}, -40, Operand{Reg{0}}});
    function_body(false);
    load_word(Reg{3}, -40);
    finish();
  }
  // r1: the round; r2: a word of the caller's stack.
  void callback() {
    emit(Load{8, false, Reg{3}, Reg{2}, 0});
    emit(Alu{AluOp::mul, true, Reg{3}, Imm{imm().value | 1}});
    emit(Alu{one_in(2) ? AluOp::add : AluOp::xor_, true, Reg{3}, Reg{1}});
    emit(Store{8, Reg{2}, 0, Operand{Reg{3}}});
    emit(Mov{true, 0, Reg{0}, Imm{0}});
    if (one_in(2)) {
      // Some rounds are the last.
      emit(Alu{AluOp::and_, true, Reg{3}, Imm{7}});
      emit(JumpIf{CmpOp::ne, true, Reg{3}, Imm{3}, here() + 2});
      emit(Mov{true, 0, Reg{0}, Imm{1}});
    }
    emit(Exit{});
  }

  void arithmetic() {
    static constexpr AluOp kOps[] = {AluOp::add, AluOp::sub,  AluOp::mul, AluOp::div, AluOp::sdiv,
                                     AluOp::or_, AluOp::and_, AluOp::lsh, AluOp::rsh, AluOp::arsh,
                                     AluOp::mod, AluOp::smod, AluOp::xor_};
    AluOp op = kOps[below(std::size(kOps))];
    bool is64 = one_in(2), shift = op == AluOp::lsh || op == AluOp::rsh || op == AluOp::arsh;
    if (one_in(2))
      emit(Alu{op, is64, number(), number()});
    else if (shift)
      emit(Alu{op, is64, number(), Imm{static_cast<int32_t>(below(is64 ? 64 : 32))}});
    else
      emit(Alu{op, is64, number(), Imm{imm().value | 1}});
  }
  void unary() {
    static constexpr uint8_t kSwapBits[] = {16, 32, 64}, kExtendBits[] = {0, 8, 16, 32};
    switch (below(5)) {
      case 0:
        emit(Neg{one_in(2), number()});
        break;
      case 1:
        emit(Endian{EndianOp::bswap, kSwapBits[below(3)], number()});
        break;
      case 2:
        emit(Endian{one_in(2) ? EndianOp::to_be : EndianOp::to_le, kSwapBits[below(3)], number()});
        break;
      case 3: {
        bool is64 = one_in(2);
        emit(Mov{is64, kExtendBits[below(is64 ? 4 : 3)], number(), Operand{number()}});
        break;
      }
      default:
        if (one_in(2))
          emit(LoadImm64{number(), random_()});
        else
          emit(Mov{one_in(2), 0, number(), Operand{imm()}});
    }
  }

  // kAddress becomes an address with `bytes` bytes of memory or stack behind it, aligned so;
  // or the base and the offset are used as they are.
  Reg place(int bytes, int16_t *offset) {
    bool stack = one_in(2);
    int room = stack ? 8 * kWords : kMemoryBytes;
    Reg base = stack ? Reg{10} : kMemory;
    int lowest = stack ? -8 * kWords : 0;
    if (one_in(2)) {
      *offset =
          static_cast<int16_t>(lowest + bytes * static_cast<int>(below(static_cast<unsigned>(room / bytes))));
      return base;
    }
    *offset = static_cast<int16_t>(lowest);
    emit(Mov{true, 0, Reg{1}, Operand{number()}});
    emit(Alu{AluOp::and_, true, Reg{1}, Imm{(room - 1) & -bytes}});
    emit(Mov{true, 0, kAddress, Operand{base}});
    emit(Alu{AluOp::add, true, kAddress, Reg{1}});
    return kAddress;
  }
  void memory() {
    int bytes = size();
    int16_t offset = 0;
    Reg base = place(bytes, &offset);
    auto width = static_cast<uint8_t>(bytes);
    switch (below(3)) {
      case 0:
        emit(Load{width, bytes < 8 && one_in(2), number(), base, offset});
        break;
      case 1:
        emit(Store{width, base, offset, Operand{number()}});
        break;
      default:
        emit(Store{width, base, offset, Operand{imm()}});
    }
  }
  void atomic() {
    int bytes = one_in(2) ? 4 : 8;
    int16_t offset = 0;
    Reg base = place(bytes, &offset);
    auto width = static_cast<uint8_t>(bytes);
    auto op = static_cast<AtomicOp>(below(6));
    if (op == AtomicOp::cmpxchg) {
      // As often as not with what is there.
      if (one_in(2))
        emit(Load{width, false, Reg{0}, base, offset});
      else
        emit(Mov{true, 0, Reg{0}, Operand{number()}});
      emit(Atomic{op, width, true, base, offset, number()});
      emit(Mov{true, 0, number(), Operand{Reg{0}}});
      return;
    }
    emit(Atomic{op, width, op == AtomicOp::xchg || one_in(2), base, offset, number()});
  }

  JumpIf condition() {
    bool is64 = one_in(2);
    auto op = static_cast<CmpOp>(below(11));
    Operand rhs = one_in(2) ? Operand{number()} : Operand{imm()};
    return {op, is64, number(), rhs, 0};
  }
  void branch(int depth) {
    size_t split = emit(condition());
    block(depth - 1);
    if (one_in(2)) {
      std::get<JumpIf>(insns_[split].op).target = here();
      return;
    }
    size_t join = emit(Jump{0});
    std::get<JumpIf>(insns_[split].op).target = here();
    block(depth - 1);
    std::get<Jump>(insns_[join].op).target = here();
  }
  // What clang makes of a switch: tests of one number, and cases that fall through or leave.
  void selection() {
    emit(Mov{true, 0, Reg{1}, Operand{number()}});
    emit(Alu{AluOp::and_, true, Reg{1}, Imm{7}});
    std::vector<size_t> tests, ends;
    for (unsigned n = 2 + below(3); n > 0; --n)
      tests.push_back(emit(JumpIf{CmpOp::eq, one_in(2), Reg{1}, Imm{static_cast<int32_t>(below(8))}, 0}));
    arithmetic();
    ends.push_back(emit(Jump{0}));
    for (size_t test : tests) {
      std::get<JumpIf>(insns_[test].op).target = here();
      arithmetic();
      if (one_in(2)) ends.push_back(emit(Jump{0}));
    }
    for (size_t end : ends) std::get<Jump>(insns_[end].op).target = here();
  }

  // An index of the memory that a branch bounds, by a number that differs from path to path: directly,
  // through a copy, through what is a constant less, or on the stack. Some bounds are too large, and refused.
  void bounded_index() {
    constexpr int kMost = kMemoryBytes - 8;
    constexpr int16_t kSlot = -56;
    const Reg bound{0}, index{1};
    // As often as not an index that may be inside.
    emit(Mov{true, 0, index, Operand{number()}});
    if (one_in(2)) emit(Alu{AluOp::and_, true, index, Imm{2 * kMemoryBytes - 1}});
    int32_t bounds[2] = {static_cast<int32_t>(1 + below(kMost)), static_cast<int32_t>(1 + below(kMost))};
    if (one_in(40)) bounds[below(2)] = 2 * kMemoryBytes;
    emit(Mov{true, 0, bound, Imm{bounds[0]}});
    size_t split = emit(condition());
    emit(Mov{true, 0, bound, Imm{bounds[1]}});
    std::get<JumpIf>(insns_[split].op).target = here();
    unsigned way = below(4);
    if (way == 3) emit(Store{8, Reg{10}, kSlot, Operand{index}});
    if (way == 1 || way == 2) emit(Mov{true, 0, kAddress, Operand{index}});
    if (way == 2) emit(Alu{AluOp::add, true, kAddress, Imm{-static_cast<int32_t>(below(8))}});
    size_t outside = emit(JumpIf{CmpOp::ge, true, way == 1 || way == 2 ? kAddress : index, bound, 0});
    if (way == 3) load_word(index, kSlot);
    emit(Mov{true, 0, kAddress, Operand{kMemory}});
    emit(Alu{AluOp::add, true, kAddress, index});
    if (one_in(2))
      emit(Load{1, one_in(2), number(), kAddress, 0});
    else
      emit(Store{1, kAddress, 0, Operand{number()}});
    std::get<JumpIf>(insns_[outside].op).target = here();
  }

  // An address that waits on the stack.
  void spilled_pointer() {
    constexpr int16_t kSlot = -48;
    int bytes = size();
    int16_t offset = 0;
    emit(Store{8, Reg{10}, kSlot, Operand{place(bytes, &offset)}});
    arithmetic();
    load_word(kAddress, kSlot);
    auto width = static_cast<uint8_t>(bytes);
    if (one_in(2))
      emit(Load{width, bytes < 8 && one_in(2), number(), kAddress, offset});
    else
      emit(Store{width, kAddress, offset, Operand{number()}});
  }

  void counted_loop(int depth) {
    auto slot = static_cast<int16_t>(-56 - 8 * depth);
    emit(Store{8, Reg{10}, slot, Operand{Imm{0}}});
    int head = here();
    ++loops_;
    block(depth - 1);
    --loops_;
    load_word(Reg{0}, slot);
    emit(Alu{AluOp::add, true, Reg{0}, Imm{1}});
    emit(Store{8, Reg{10}, slot, Operand{Reg{0}}});
    emit(JumpIf{CmpOp::lt, true, Reg{0}, Imm{static_cast<int32_t>(2 + below(3))}, head});
  }

  // A function that is not made yet, or one more.
  size_t some_function(bool callback) {
    for (size_t n = made_; n < functions_.size(); ++n)
      if (functions_[n].callback == callback && one_in(2)) return n;
    functions_.push_back({callback, {}});
    return functions_.size() - 1;
  }
  void call() {
    if (functions_.size() >= 3) return arithmetic();
    emit(Mov{true, 0, Reg{1}, Operand{number()}});
    emit(Mov{true, 0, Reg{2}, Operand{number()}});
    emit(Mov{true, 0, Reg{3}, Operand{kMemory}});
    size_t function = some_function(false);
    functions_[function].calls.push_back(static_cast<int>(emit(CallLocal{0})));
    after_call();
  }
  void loop_helper() {
    if (functions_.size() >= 3) return memory();
    emit(Mov{true, 0, Reg{1}, Operand{number()}});
    emit(Alu{AluOp::and_, true, Reg{1}, Imm{3}});
    size_t function = some_function(true);
    functions_[function].calls.push_back(static_cast<int>(emit(LoadFunction{Reg{2}, 0})));
    emit(Mov{true, 0, Reg{3}, Operand{Reg{10}}});
    emit(Alu{AluOp::add, true, Reg{3}, Imm{-8 * static_cast<int>(1 + below(kWords))}});
    emit(Mov{true, 0, Reg{4}, Imm{0}});
    emit(CallHelper{kLoopHelper});
    after_call();
  }
  // r3 to r5 are gone; r0 is a number.
  void after_call() {
    emit(Mov{true, 0, Reg{3}, Operand{Reg{0}}});
    load_number(Reg{4});
    load_number(Reg{5});
  }

  void block(int depth) {
    unsigned kind = below(16);
    if (depth > 0 && kind < 3) return branch(depth);
    if (depth > 0 && kind == 3 && loops_ == 0) return counted_loop(depth);
    if (kind == 4 && loops_ == 0) return call();
    if (kind == 5 && loops_ == 0) return loop_helper();
    if (kind == 6) return selection();
    if (kind == 7 || kind == 8) return bounded_index();
    if (kind == 9) return spilled_pointer();
    for (unsigned n = 2 + below(5); n > 0; --n) switch (below(8)) {
        case 0:
        case 1:
        case 2:
          arithmetic();
          break;
        case 3:
        case 4:
          unary();
          break;
        case 5:
          atomic();
          break;
        default:
          memory();
      }
  }

  std::mt19937_64 random_;
  std::vector<Insn> insns_;
  std::vector<Function> functions_;
  size_t made_ = 0;
  int loops_ = 0;
};

}  // namespace

Job generate(uint64_t seed) {
  Job job;
  std::mt19937_64 random(seed ^ 0x9e3779b97f4a7c15);
  // Numbers of all kinds: small, negative, with the sign bits of both halves, any.
  static constexpr uint64_t kSpecial[] = {0,          1,           ~uint64_t{0},      0x80000000, 0xffffffff,
                                          0x7fffffff, 0x100000000, uint64_t{1} << 63, 31,         64};
  for (int word = 0; word < kMemoryBytes / 8; ++word) {
    uint64_t value = random() % 3 ? random() : kSpecial[random() % std::size(kSpecial)];
    for (int i = 0; i < 8; ++i) job.memory.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  job.program = *program_of_insns(Generator(seed).program());
  job.max_insns = 4096;
  return job;
}

}  // namespace egpu::bpf::run
