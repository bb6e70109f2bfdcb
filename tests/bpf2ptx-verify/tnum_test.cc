// Tnum operations against all numbers, exhaustively at a small width.
#include "lib/bpf2ptx/verify/tnum.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace egpu::bpf {
namespace {

constexpr unsigned kBits = 4;
constexpr uint64_t kCount = 1 << kBits;

std::vector<Tnum> all_tnums() {
  std::vector<Tnum> all;
  for (uint64_t mask = 0; mask < kCount; ++mask)
    for (uint64_t value = 0; value < kCount; ++value)
      if ((value & mask) == 0) all.push_back({value, mask});
  return all;
}

std::vector<uint64_t> members(Tnum t) {
  std::vector<uint64_t> found;
  for (uint64_t x = 0; x < kCount; ++x)
    if (t.contains(x)) found.push_back(x);
  return found;
}

struct BinaryCase {
  const char *name;
  std::function<Tnum(Tnum, Tnum)> abstract;
  std::function<uint64_t(uint64_t, uint64_t)> exact;
};

TEST(Tnum, BinaryOperationsContainEveryResult) {
  const BinaryCase cases[] = {
      {"+", [](Tnum a, Tnum b) { return a + b; }, [](uint64_t a, uint64_t b) { return a + b; }},
      {"-", [](Tnum a, Tnum b) { return a - b; }, [](uint64_t a, uint64_t b) { return a - b; }},
      {"*", [](Tnum a, Tnum b) { return a * b; }, [](uint64_t a, uint64_t b) { return a * b; }},
      {"&", [](Tnum a, Tnum b) { return a & b; }, [](uint64_t a, uint64_t b) { return a & b; }},
      {"|", [](Tnum a, Tnum b) { return a | b; }, [](uint64_t a, uint64_t b) { return a | b; }},
      {"^", [](Tnum a, Tnum b) { return a ^ b; }, [](uint64_t a, uint64_t b) { return a ^ b; }},
  };
  for (const BinaryCase &c : cases)
    for (Tnum a : all_tnums())
      for (Tnum b : all_tnums()) {
        Tnum result = c.abstract(a, b);
        ASSERT_EQ(result.value & result.mask, 0u) << c.name;
        for (uint64_t x : members(a))
          for (uint64_t y : members(b))
            ASSERT_TRUE(result.contains(c.exact(x, y))) << x << c.name << y << " of " << a.value << "/"
                                                        << a.mask << " and " << b.value << "/" << b.mask;
      }
}

TEST(Tnum, AdditionAndBitOperationsAreExact) {
  // The best possible Tnum is the join of all results.
  for (Tnum a : all_tnums())
    for (Tnum b : all_tnums()) {
      bool first = true;
      Tnum sum, both;
      for (uint64_t x : members(a))
        for (uint64_t y : members(b)) {
          sum = first ? Tnum::constant(x + y) : join(sum, Tnum::constant(x + y));
          both = first ? Tnum::constant(x & y) : join(both, Tnum::constant(x & y));
          first = false;
        }
      ASSERT_EQ(a + b, sum);
      ASSERT_EQ(a & b, both);
    }
}

TEST(Tnum, ShiftsContainEveryResult) {
  for (Tnum a : all_tnums())
    for (unsigned shift = 0; shift < 64; ++shift)
      for (uint64_t x : members(a)) {
        // Also at the top of the number, where signs are.
        uint64_t high = x << 60;
        Tnum top = a << 60;
        ASSERT_TRUE((a << shift).contains(x << shift));
        ASSERT_TRUE((top >> shift).contains(high >> shift));
        ASSERT_TRUE(shift_arithmetic(top, shift, 64)
                        .contains(static_cast<uint64_t>(static_cast<int64_t>(high) >> shift)));
        if (shift < 32) {
          auto low = static_cast<int32_t>(high >> 32);
          ASSERT_TRUE(shift_arithmetic(top >> 32, shift, 32).contains(static_cast<uint32_t>(low >> shift)));
        }
      }
}

TEST(Tnum, RangeCoversItsNumbers) {
  for (uint64_t min = 0; min < kCount; ++min)
    for (uint64_t max = min; max < kCount; ++max)
      for (uint64_t x = min; x <= max; ++x) ASSERT_TRUE(Tnum::range(min, max).contains(x));
  EXPECT_EQ(Tnum::range(0, ~uint64_t{0}), Tnum::unknown());
  EXPECT_EQ(Tnum::range(5, 5), Tnum::constant(5));
}

TEST(Tnum, IntersectJoinAndCoversAreSetOperations) {
  for (Tnum a : all_tnums())
    for (Tnum b : all_tnums()) {
      auto both = intersect(a, b);
      bool covered = true;
      for (uint64_t x = 0; x < kCount; ++x) {
        bool in_both = a.contains(x) && b.contains(x);
        ASSERT_EQ(both && both->contains(x), in_both);
        if (a.contains(x) || b.contains(x)) {
          ASSERT_TRUE(join(a, b).contains(x));
        }
        covered &= !b.contains(x) || a.contains(x);
      }
      ASSERT_EQ(a.covers(b), covered);
    }
}

TEST(Tnum, AlignmentIsKnownFromLowBits) {
  for (Tnum a : all_tnums())
    for (uint64_t size : {1, 2, 4, 8}) {
      bool aligned = true;
      for (uint64_t x : members(a)) aligned &= x % size == 0;
      ASSERT_EQ(a.is_aligned(size), aligned);
    }
}

TEST(Tnum, TruncateAndSignExtend) {
  Tnum a{0x80, 0xff00};
  EXPECT_EQ(truncate(a, 1), Tnum::constant(0x80));
  EXPECT_EQ(sign_extend(a, 1), Tnum::constant(0xffffffffffffff80));
  EXPECT_EQ(sign_extend(Tnum{0, 0x80}, 1), (Tnum{0, 0xffffffffffffff80}));
}

}  // namespace
}  // namespace egpu::bpf
