// Range arithmetic and refinement: random ranges, random members, every operation.
#include "lib/bpf2ptx/verify/range.h"

#include <gtest/gtest.h>

#include <random>

#include "lib/bpf2ptx/insn/semantics.h"
#include "lib/bpf2ptx/verify/branch.h"

namespace egpu::bpf {
namespace {

constexpr uint64_t kSeed = 20240607;
constexpr uint8_t kSwapBits[] = {16, 32, 64}, kMovBits[] = {0, 8, 16};

class Sampler {
 public:
  uint64_t number() {
    static constexpr uint64_t kEdges[] = {0,
                                          1,
                                          2,
                                          31,
                                          32,
                                          63,
                                          64,
                                          0x7f,
                                          0x80,
                                          0xff,
                                          0x7fff,
                                          0x8000,
                                          0x7fffffff,
                                          0x80000000,
                                          0xffffffff,
                                          0x100000000,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          0xffffffff80000000,
                                          ~uint64_t{0}};
    switch (random_() % 4) {
      case 0:
        return kEdges[random_() % std::size(kEdges)];
      case 1:
        return kEdges[random_() % std::size(kEdges)] + random_() % 5 - 2;
      case 2:
        return random_() % 100;
      default:
        return random_() >> (random_() % 64);
    }
  }

  // A range built from a few numbers, and one of those.
  std::pair<Range, uint64_t> range() {
    uint64_t member = number();
    Range r = Range::constant(member);
    for (uint64_t n = random_() % 4; n > 0; --n)
      r = join(r, Range::constant(random_() % 2 ? number() : member + random_() % 16));
    if (random_() % 4 == 0) r.bits = join(r.bits, Tnum::constant(number()));
    if (random_() % 4 == 0) r.full = Bounds64{};
    if (random_() % 4 == 0) r.low = Bounds32{};
    r.settle();
    return {r, member};
  }
  uint64_t pick() { return random_(); }

 private:
  std::mt19937_64 random_{kSeed};
};

constexpr AluOp kAluOps[] = {AluOp::add, AluOp::sub,  AluOp::mul, AluOp::div, AluOp::sdiv,
                             AluOp::or_, AluOp::and_, AluOp::lsh, AluOp::rsh, AluOp::arsh,
                             AluOp::mod, AluOp::smod, AluOp::xor_};
constexpr CmpOp kCmpOps[] = {CmpOp::eq,  CmpOp::ne,  CmpOp::gt,  CmpOp::ge,  CmpOp::lt, CmpOp::le,
                             CmpOp::sgt, CmpOp::sge, CmpOp::slt, CmpOp::sle, CmpOp::set};

TEST(Range, SettleKeepsItsMembers) {
  Sampler sampler;
  for (int i = 0; i < 50000; ++i) {
    auto [r, x] = sampler.range();
    ASSERT_FALSE(r.empty());
    ASSERT_TRUE(r.contains(x)) << x << " in " << to_string(r);
  }
}

TEST(Range, ArithmeticContainsEveryResult) {
  Sampler sampler;
  for (int i = 0; i < 5000; ++i) {
    auto [a, x] = sampler.range();
    auto [b, y] = sampler.range();
    for (AluOp op : kAluOps)
      for (bool is64 : {true, false}) {
        Range r = eval(op, is64, a, b);
        uint64_t exact = eval(op, is64, x, y);
        ASSERT_TRUE(r.contains(exact))
            << "op " << static_cast<int>(op) << (is64 ? " 64 " : " 32 ") << x << ", " << y << " = " << exact
            << " not in " << to_string(r) << " from " << to_string(a) << " and " << to_string(b);
      }
  }
}

TEST(Range, OneOperandOperationsContainEveryResult) {
  Sampler sampler;
  for (int i = 0; i < 5000; ++i) {
    auto [a, x] = sampler.range();
    for (int bytes : {1, 2, 4, 8})
      for (bool sign : {false, true})
        ASSERT_TRUE(extend(a, bytes, sign).contains(extend(x, bytes, sign))) << x << " " << bytes << sign;
    for (EndianOp op : {EndianOp::to_le, EndianOp::to_be, EndianOp::bswap})
      for (uint8_t bits : kSwapBits) {
        Endian e{op, bits, Reg{0}};
        ASSERT_TRUE(eval(e, a).contains(eval(e, x))) << x;
      }
    for (bool is64 : {true, false}) {
      ASSERT_TRUE(negate(is64, a).contains(eval(AluOp::sub, is64, 0, x)));
      for (uint8_t bits : kMovBits) {
        Mov mov{is64, bits, Reg{0}, Reg{1}};
        ASSERT_TRUE(eval(mov, a).contains(eval(mov, x)));
      }
    }
  }
}

TEST(Range, RefinementKeepsTheNumbersThatGoThatWay) {
  Sampler sampler;
  for (int i = 0; i < 5000; ++i) {
    auto [a, x] = sampler.range();
    auto [b, y] = sampler.range();
    for (CmpOp op : kCmpOps)
      for (bool is64 : {true, false}) {
        bool outcome = eval(op, is64, x, y);
        Range lhs = a, rhs = b;
        ASSERT_TRUE(refine(op, is64, outcome, lhs, rhs)) << static_cast<int>(op) << " " << x << " " << y;
        ASSERT_TRUE(lhs.contains(x)) << static_cast<int>(op) << " " << x << " " << y << " not in "
                                     << to_string(lhs);
        ASSERT_TRUE(rhs.contains(y)) << static_cast<int>(op) << " " << x << " " << y << " not in "
                                     << to_string(rhs);
        ASSERT_TRUE(a.covers(lhs) && b.covers(rhs));
      }
  }
}

TEST(Range, ConstantsDecideEveryBranch) {
  Sampler sampler;
  for (int i = 0; i < 5000; ++i) {
    uint64_t x = sampler.number(), y = sampler.pick() % 2 ? x : sampler.number();
    for (CmpOp op : kCmpOps)
      for (bool is64 : {true, false})
        for (bool outcome : {true, false}) {
          Range lhs = Range::constant(x), rhs = Range::constant(y);
          ASSERT_EQ(refine(op, is64, outcome, lhs, rhs), outcome == eval(op, is64, x, y))
              << static_cast<int>(op) << " " << x << " " << y << " " << is64;
        }
  }
}

TEST(Range, JoinIntersectAndCoversAgree) {
  Sampler sampler;
  for (int i = 0; i < 5000; ++i) {
    auto [a, x] = sampler.range();
    auto [b, y] = sampler.range();
    Range both = join(a, b);
    ASSERT_TRUE(both.contains(x) && both.contains(y));
    ASSERT_TRUE(both.covers(a) && both.covers(b));
    auto common = intersect(a, b);
    if (a.contains(y)) {
      ASSERT_TRUE(common && common->contains(y));
    }
    if (a.covers(b)) {
      ASSERT_TRUE(a.contains(y));
    }
  }
}

struct PreciseCase {
  const char *name;
  Range (*make)();
  uint64_t min, max;
};

// What programs rely on: bounds that must come out exactly.
TEST(Range, IdiomsAreExact) {
  const PreciseCase cases[] = {
      {"mask", [] { return eval(AluOp::and_, true, Range::unknown(), Range::constant(63)); }, 0, 63},
      {"modulo", [] { return eval(AluOp::mod, true, Range::unknown(), Range::constant(10)); }, 0, 9},
      {"shift right", [] { return eval(AluOp::rsh, true, Range::unknown(), Range::constant(60)); }, 0, 15},
      {"scaled", [] { return eval(AluOp::lsh, true, Range::up_to(63), Range::constant(3)); }, 0, 504},
      {"32-bit mask", [] { return eval(AluOp::and_, false, Range::unknown(), Range::constant(7)); }, 0, 7},
      {"sum", [] { return eval(AluOp::add, true, Range::up_to(5), Range::between(3, 4)); }, 3, 9},
      {"difference", [] { return eval(AluOp::sub, true, Range::between(10, 12), Range::between(1, 3)); }, 7,
       11},
      {"product", [] { return eval(AluOp::mul, true, Range::between(2, 3), Range::between(4, 5)); }, 8, 15},
      {"quotient", [] { return eval(AluOp::div, true, Range::up_to(100), Range::constant(8)); }, 0, 12},
      {"byte", [] { return extend(Range::unknown(), 1, false); }, 0, 255},
  };
  for (const PreciseCase &c : cases) {
    Range r = c.make();
    EXPECT_EQ(r.full.umin, c.min) << c.name;
    EXPECT_EQ(r.full.umax, c.max) << c.name;
  }
}

}  // namespace
}  // namespace egpu::bpf
