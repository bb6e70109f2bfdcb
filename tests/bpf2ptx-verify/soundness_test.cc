// Random programs: what the verifier accepts never does anything wrong, and every register is
// where the verifier claims.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "lib/bpf2ptx/insn/encode.h"
#include "tests/bpf2ptx-verify/world.h"

namespace egpu::bpf::test {
namespace {

// Programs that have a fair chance to be accepted: registers are initialised, accesses are
// masked more often than not, loops are counted.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Program program() {
    insns_.clear();
    start();
    unsigned blocks = 1 + below(5);
    for (unsigned b = 0; b < blocks; ++b) block(2);
    emit(Mov{true, 0, Reg{0}, Imm{0}});
    emit(Exit{});
    Program p;
    p.name = "random";
    p.event = Event{};
    p.event.section = "gpu/entry";
    p.insns = insns_;
    p.subprogram_starts = {0};
    p.subprogram_names = {"random"};
    return p;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  void emit(Op op) { insns_.push_back({std::move(op), static_cast<uint32_t>(insns_.size()), -1}); }
  Reg scalar() { return {static_cast<uint8_t>(2 + below(5))}; }  // r2 to r6
  Imm imm() {
    static constexpr int32_t kImms[] = {0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 255, -1, -8, 0x7fffffff, INT32_MIN};
    return {kImms[below(std::size(kImms))]};
  }

  // r9: the context; r8: .bss; r2 to r6: numbers; stack: four words.
  void start() {
    emit(Mov{true, 0, Reg{9}, Reg{1}});
    emit(LoadMapValue{Reg{8}, 6, 0});
    for (uint8_t n = 2; n <= 6; ++n) {
      if (below(2))
        emit(Load{8, false, Reg{n}, Reg{9}, static_cast<int16_t>(80 + 8 * below(12))});
      else if (below(2))
        emit(Load{4, below(2) == 0, Reg{n}, Reg{9}, static_cast<int16_t>(below(17) * 4)});
      else
        emit(Mov{true, 0, Reg{n}, imm()});
    }
    for (int i = 1; i <= 4; ++i)
      if (below(8)) emit(Store{8, Reg{10}, static_cast<int16_t>(-8 * i), Operand{scalar()}});
  }

  void alu() {
    static constexpr AluOp kOps[] = {AluOp::add, AluOp::sub,  AluOp::mul, AluOp::div, AluOp::sdiv,
                                     AluOp::or_, AluOp::and_, AluOp::lsh, AluOp::rsh, AluOp::arsh,
                                     AluOp::mod, AluOp::smod, AluOp::xor_};
    AluOp op = kOps[below(std::size(kOps))];
    bool is64 = below(2);
    bool shift = op == AluOp::lsh || op == AluOp::rsh || op == AluOp::arsh;
    if (below(2))
      emit(Alu{op, is64, scalar(), scalar()});
    else if (shift)
      emit(Alu{op, is64, scalar(), Imm{static_cast<int32_t>(below(is64 ? 64 : 32))}});
    else
      emit(Alu{op, is64, scalar(), Imm{imm().value | 1}});
  }

  void other_alu() {
    switch (below(4)) {
      case 0:
        emit(Neg{below(2) == 0, scalar()});
        break;
      case 1: {
        static constexpr uint8_t kBits[] = {16, 32, 64};
        emit(Endian{static_cast<EndianOp>(below(3)), kBits[below(3)], scalar()});
        break;
      }
      case 2: {
        static constexpr uint8_t kBits[] = {0, 8, 16};
        emit(Mov{below(2) == 0, kBits[below(3)], scalar(), scalar()});
        break;
      }
      default:
        emit(Mov{true, 0, scalar(), Operand{scalar()}});
    }
  }

  // A masked or checked index into .bss or the stack.
  void memory() {
    Reg index = scalar();
    static constexpr uint8_t kSizes[] = {1, 2, 4, 8};
    uint8_t bytes = kSizes[below(4)];
    bool on_stack = below(2);
    emit(Mov{true, 0, Reg{7}, Reg{static_cast<uint8_t>(on_stack ? 10 : 8)}});
    if (on_stack) emit(Alu{AluOp::add, true, Reg{7}, Imm{-32}});
    if (below(4)) {
      emit(Alu{AluOp::and_, below(2) == 0, index,
               Imm{static_cast<int32_t>(below(2) ? 31 & -int{bytes} : below(40))}});
      emit(Alu{AluOp::add, true, Reg{7}, index});
    }
    auto offset = static_cast<int16_t>(below(3) ? 0 : below(5) * bytes);
    switch (below(4)) {
      case 0:
        emit(Load{bytes, bytes < 8 && below(2), scalar(), Reg{7}, offset});
        break;
      case 1:
        emit(Store{bytes, Reg{7}, offset, Operand{scalar()}});
        break;
      case 2:
        emit(Store{bytes, Reg{7}, offset, Operand{imm()}});
        break;
      default: {
        static constexpr AtomicOp kOps[] = {AtomicOp::add, AtomicOp::or_, AtomicOp::and_, AtomicOp::xor_,
                                            AtomicOp::xchg};
        AtomicOp op = kOps[below(5)];
        emit(Atomic{op, static_cast<uint8_t>(below(2) ? 4 : 8), op == AtomicOp::xchg || below(2), Reg{7},
                    offset, scalar()});
      }
    }
  }

  void spill() {
    auto offset = static_cast<int16_t>(-8 * static_cast<int>(1 + below(4)));
    uint8_t bytes = below(2) ? 8 : 4;
    if (below(2))
      emit(Store{bytes, Reg{10}, offset, Operand{scalar()}});
    else
      emit(Load{bytes, false, scalar(), Reg{10}, offset});
  }

  JumpIf condition() {
    static constexpr CmpOp kOps[] = {CmpOp::eq,  CmpOp::ne,  CmpOp::gt,  CmpOp::ge,  CmpOp::lt, CmpOp::le,
                                     CmpOp::sgt, CmpOp::sge, CmpOp::slt, CmpOp::sle, CmpOp::set};
    Operand rhs = below(2) ? Operand{scalar()} : Operand{imm()};
    return {kOps[below(std::size(kOps))], below(2) == 0, scalar(), rhs, 0};
  }

  void block(int depth) {
    unsigned kind = below(10);
    if (depth > 0 && kind < 3) {
      // if / else
      size_t branch = insns_.size();
      emit(condition());
      block(depth - 1);
      size_t jump = insns_.size();
      emit(Jump{0});
      std::get<JumpIf>(insns_[branch].op).target = static_cast<int>(insns_.size());
      block(depth - 1);
      std::get<Jump>(insns_[jump].op).target = static_cast<int>(insns_.size());
      return;
    }
    if (depth > 0 && kind == 3) {
      // A counted loop; the counter is on the stack where nothing else stores.
      auto slot = static_cast<int16_t>(-64 - 8 * depth);
      emit(Store{8, Reg{10}, slot, Operand{Imm{0}}});
      auto head = static_cast<int>(insns_.size());
      block(depth - 1);
      emit(Load{8, false, Reg{0}, Reg{10}, slot});
      emit(Alu{AluOp::add, true, Reg{0}, Imm{1}});
      emit(Store{8, Reg{10}, slot, Operand{Reg{0}}});
      emit(JumpIf{CmpOp::lt, true, Reg{0}, Imm{static_cast<int32_t>(1 + below(6))}, head});
      return;
    }
    for (unsigned n = 1 + below(4); n > 0; --n) switch (below(6)) {
        case 0:
        case 1:
          alu();
          break;
        case 2:
          other_alu();
          break;
        case 3:
          spill();
          break;
        default:
          memory();
      }
  }

  std::mt19937_64 random_;
  std::vector<Insn> insns_;
};

std::string listing(const Program &program) {
  std::string text;
  for (size_t i = 0; i < program.insns.size(); ++i)
    text += std::to_string(i) + ": " + to_string(program.insns[i].op) + "\n";
  return text;
}

uint64_t count_from_environment(const char *name, uint64_t standard) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : standard;
}

// EGPU_SOUNDNESS_COUNT programs from seed EGPU_SOUNDNESS_SEED on.
TEST(Soundness, AcceptedRandomProgramsKeepTheirClaims) {
  uint64_t count = count_from_environment("EGPU_SOUNDNESS_COUNT", 1500);
  uint64_t first = count_from_environment("EGPU_SOUNDNESS_SEED", 1), accepted = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Program program = Generator(seed).program();
    Claims claims;
    VerifyOptions options;
    options.time_limit_ms = 0;
    auto facts = verify_with_claims(program, object(), options, &claims);
    if (!facts) continue;
    ++accepted;
    for (uint64_t run = 1; run <= 8; ++run) {
      auto result = run_checked(program, claims, *facts, seed * 16 + run);
      ASSERT_TRUE(result) << "seed " << seed << " run " << run << ": " << result.error().message << "\n"
                          << listing(program);
    }
  }
  RecordProperty("accepted", static_cast<int>(accepted));
  EXPECT_GT(accepted, count / 20) << "the generator makes too few programs that are accepted";
}

// Any bytes: an answer, never a crash, and within the limits.
TEST(Soundness, RandomBytecodeGetsAnAnswer) {
  std::mt19937_64 random(7);
  static const std::vector<uint8_t> kCodes = [] {
    std::vector<uint8_t> codes;
    for (int code = 0; code < 256; ++code)
      if (decode({{static_cast<uint8_t>(code), 0, 0, 0}, {0x95, 0, 0, 0}, {0x95, 0, 0, 0}}) ||
          decode({{static_cast<uint8_t>(code), 0, 0, 16}, {0x95, 0, 0, 0}}))
        codes.push_back(static_cast<uint8_t>(code));
    return codes;
  }();
  int decoded = 0;
  for (int i = 0; i < 5000; ++i) {
    std::vector<RawInsn> code;
    for (uint64_t n = 1 + random() % 12; n > 0; --n) {
      uint8_t opcode = kCodes[random() % kCodes.size()];
      bool is_reg = opcode & 8;
      auto regs = static_cast<uint8_t>(random() % 11 | (is_reg ? random() % 11 << 4 : 0));
      code.push_back({opcode, regs, static_cast<int16_t>(random() % 3 ? 0 : random() % 9 - 4),
                      static_cast<int32_t>(random() % 3 ? 0 : random() % 64)});
    }
    code.push_back({0x95, 0, 0, 0});
    auto insns = decode(code);
    if (!insns) continue;
    ++decoded;
    Program program;
    program.name = "random";
    program.event.section = "gpu/entry";
    program.insns = *insns;
    program.subprogram_starts = {0};
    program.subprogram_names = {"random"};
    Claims claims;
    auto facts = verify_with_claims(program, object(), {}, &claims);
    if (!facts) {
      ASSERT_NE(facts.error().message.find("error: "), std::string::npos) << facts.error().message;
      continue;
    }
    auto result = run_checked(program, claims, *facts, random());
    ASSERT_TRUE(result) << result.error().message << "\n" << listing(program);
  }
  EXPECT_GT(decoded, 100);
}

// A program that forks at every step and never joins alike: refused within the limits.
TEST(Soundness, ExplosionsAreRefusedInTime) {
  std::string text = "r6 = *(u64 *)(r1 +72)\nr0 = 0\n";
  for (int i = 0; i < 60; ++i) {
    text += "r7 = r6\nr6 >>= 1\nr7 &= 1\nif r7 == 0 goto skip" + std::to_string(i) + "\n";
    text += "r0 += " + std::to_string(1 << (i % 30)) + "\nskip" + std::to_string(i) + ":\n";
  }
  // r0 matters at the end, so that no two paths are alike.
  text += "r0 &= 24\nr3 = map[bss][0]+0\nr3 += r0\nr0 = *(u64 *)(r3 +0)\nexit\n";
  auto program = make_program(text, "gpu/entry");
  ASSERT_TRUE(program) << program.error().message;
  auto start = std::chrono::steady_clock::now();
  auto facts = verify(*program, object());
  auto took = std::chrono::steady_clock::now() - start;
  if (!facts) {
    EXPECT_NE(facts.error().message.find("to check"), std::string::npos) << facts.error().message;
  }
  EXPECT_LT(took, std::chrono::seconds(10));
}

}  // namespace
}  // namespace egpu::bpf::test
