// The reference interpreter: results by hand from RFC 9669, and what it refuses.
#include "lib/bpf2ptx/interp/interp.h"

#include <gtest/gtest.h>

#include "lib/bpf2ptx/insn/assemble.h"

namespace egpu::bpf {
namespace {

constexpr uint64_t kMemory = 0x1000;

struct RunCase {
  const char *text;
  uint64_t r0;
};

Result<uint64_t> run(const std::string &text, bool strict = true) {
  auto assembly = assemble(text);
  if (!assembly) return assembly.error();
  Interpreter interp(assembly->insns);
  uint8_t bytes[16] = {0x11, 0x22, 0x33, 0x44, 0x85, 0x86, 0x87, 0x88, 0xff};
  interp.memory().add({"mem", kMemory, bytes, sizeof bytes, true, nullptr});
  interp.set_strict(strict);
  interp.set_max_insns(1000);
  interp.on_helper([](int32_t id, const std::array<uint64_t, 5> &args) -> Result<uint64_t> {
    if (id == 5) return 1234;
    if (id == 1) return args[0] + args[1] * 10;
    return Error{"no such helper"};
  });
  interp.on_map([](int map, std::optional<uint32_t> offset) -> Result<uint64_t> {
    return static_cast<uint64_t>(map) * 0x100 + offset.value_or(0x77);
  });
  return interp.run(kMemory, sizeof bytes);
}

TEST(Interpreter, ComputesWhatTheRfcSays) {
  const RunCase cases[] = {
      // Arithmetic, 64 bits.
      {"r0 = -1\nr0 += 2\nexit", 1},
      {"r0 = 1\nr0 -= 3\nexit", static_cast<uint64_t>(-2)},
      {"r0 = -3\nr0 *= 5\nexit", static_cast<uint64_t>(-15)},
      {"r0 = -1\nr0 /= 2\nexit", 0x7fffffffffffffff},
      {"r0 = -7\nr0 s/= 2\nexit", static_cast<uint64_t>(-3)},
      {"r0 = -7\nr0 s%= 3\nexit", static_cast<uint64_t>(-1)},
      {"r0 = 7\nr0 s%= -3\nexit", 1},
      {"r0 = 17\nr0 %= 5\nexit", 2},
      {"r0 = 1\nr0 <<= 63\nexit", 0x8000000000000000},
      {"r0 = -1\nr0 >>= 63\nexit", 1},
      {"r0 = -16\nr0 s>>= 2\nexit", static_cast<uint64_t>(-4)},
      {"r0 = 5\nr0 = -r0\nexit", static_cast<uint64_t>(-5)},
      {"r0 = 0xf0\nr0 |= 0x0f\nexit", 0xff},
      {"r0 = 0xff\nr0 &= -16\nexit", 0xf0},
      {"r0 = 0xff\nr0 ^= -1\nexit", 0xffffffffffffff00},
      // Division by zero and overflow.
      {"r0 = 7\nr1 = 0\nr0 /= r1\nexit", 0},
      {"r0 = 7\nr1 = 0\nr0 %= r1\nexit", 7},
      {"r0 = 7\nr1 = 0\nr0 s/= r1\nexit", 0},
      {"r0 = -7\nr1 = 0\nr0 s%= r1\nexit", static_cast<uint64_t>(-7)},
      {"r0 = -7\nw1 = 0\nw0 %= w1\nexit", 0xfffffff9},
      {"r0 = 0x8000000000000000 ll\nr1 = -1\nr0 s/= r1\nexit", 0x8000000000000000},
      {"r0 = 0x8000000000000000 ll\nr1 = -1\nr0 s%= r1\nexit", 0},
      {"w0 = 0x80000000\nr1 = -1\nw0 s/= w1\nexit", 0x80000000},
      {"w0 = 0x80000000\nr1 = -1\nw0 s%= w1\nexit", 0},
      // Shift amounts are masked.
      {"r0 = 1\nr1 = 65\nr0 <<= r1\nexit", 2},
      {"w0 = 1\nw1 = 33\nw0 <<= w1\nexit", 2},
      {"r0 = -8\nr1 = 65\nr0 s>>= r1\nexit", static_cast<uint64_t>(-4)},
      // 32-bit operations clear the upper half.
      {"r0 = -1\nw0 += 0\nexit", 0xffffffff},
      {"r0 = -1\nw0 = w0\nexit", 0xffffffff},
      {"r0 = 1\nw0 = -w0\nexit", 0xffffffff},
      {"r0 = -1\nw0 s>>= 4\nexit", 0xffffffff},
      {"w0 = -1\nexit", 0xffffffff},
      // Moves with sign extension.
      {"r1 = 0x80\nr0 = (s8)r1\nexit", static_cast<uint64_t>(-128)},
      {"r1 = 0x8000\nr0 = (s16)r1\nexit", static_cast<uint64_t>(-32768)},
      {"r1 = 0x80000000 ll\nr0 = (s32)r1\nexit", 0xffffffff80000000},
      {"w1 = 0x80\nw0 = (s8)w1\nexit", 0xffffff80},
      // Byte swaps.
      {"r0 = 0x1122334455667788 ll\nr0 = be16 r0\nexit", 0x8877},
      {"r0 = 0x1122334455667788 ll\nr0 = be32 r0\nexit", 0x88776655},
      {"r0 = 0x1122334455667788 ll\nr0 = be64 r0\nexit", 0x8877665544332211},
      {"r0 = 0x1122334455667788 ll\nr0 = le16 r0\nexit", 0x7788},
      {"r0 = 0x1122334455667788 ll\nr0 = le64 r0\nexit", 0x1122334455667788},
      {"r0 = 0x1122334455667788 ll\nr0 = bswap32 r0\nexit", 0x88776655},
      // Loads and stores.
      {"r0 = *(u32 *)(r1 +0)\nexit", 0x44332211},
      {"r0 = *(u64 *)(r1 +0)\nexit", 0x8887868544332211},
      {"r0 = *(u8 *)(r1 +4)\nexit", 0x85},
      {"r0 = *(s8 *)(r1 +4)\nexit", 0xffffffffffffff85},
      {"r0 = *(s16 *)(r1 +4)\nexit", 0xffffffffffff8685},
      {"r0 = *(s32 *)(r1 +4)\nexit", 0xffffffff88878685},
      {"*(u16 *)(r10 -2) = -1\nr0 = *(u16 *)(r10 -2)\nexit", 0xffff},
      {"*(u64 *)(r10 -8) = -1\nr0 = *(u64 *)(r10 -8)\nexit", ~uint64_t{0}},
      // Branches.
      {"r0 = 1\nif r0 == 1 goto out\nr0 = 2\nout: exit", 1},
      {"r0 = -1\nif r0 s< 0 goto out\nr0 = 2\nout: exit", ~uint64_t{0}},
      {"r0 = -1\nif r0 > 5 goto out\nr0 = 2\nout: exit", ~uint64_t{0}},
      {"r0 = 0x100000001 ll\nif w0 == 1 goto out\nr0 = 2\nout: exit", 0x100000001},
      {"r0 = 6\nif r0 & 4 goto out\nr0 = 2\nout: exit", 6},
      {"r0 = 0\nloop: r0 += 1\nif r0 < 10 goto loop\nexit", 10},
      // Atomics.
      {"r2 = 5\nlock *(u32 *)(r1 +0) += r2\nr0 = *(u64 *)(r1 +0)\nexit", 0x8887868544332216},
      {"r2 = 1\nr2 = atomic64_fetch_add((u64 *)(r1 +0), r2)\nr0 = r2\nexit", 0x8887868544332211},
      {"r2 = 1\nr2 = atomic_xchg((u32 *)(r1 +0), r2)\nr0 = r2\nexit", 0x44332211},
      {"r0 = 0x11\nr2 = 9\nr0 = atomic_cmpxchg((u32 *)(r1 +8), r0, r2)\nr0 = *(u8 *)(r1 +8)\nexit", 0xff},
      {"r0 = 0x1000000ff ll\nr2 = 9\nr0 = atomic_cmpxchg((u32 *)(r1 +8), r0, r2)\nr0 = *(u8 *)(r1 +8)\nexit",
       9},
      {"r2 = 0xff\nlock *(u32 *)(r1 +0) &= r2\nr0 = *(u32 *)(r1 +0)\nexit", 0x11},
      {"r2 = 0xff\nlock *(u32 *)(r1 +0) |= r2\nr0 = *(u32 *)(r1 +0)\nexit", 0x443322ff},
      {"r2 = 0xff\nlock *(u32 *)(r1 +0) ^= r2\nr0 = *(u32 *)(r1 +0)\nexit", 0x443322ee},
      // Calls.
      {"call 5\nexit", 1234},
      {"r1 = 3\nr2 = 4\ncall 1\nexit", 43},
      {"r6 = 1\nr1 = 5\ncall sub\nr0 += r6\nexit\nsub: r6 = 100\nr0 = r1\nr0 *= 2\nexit", 11},
      {"r1 = 5\nr2 = func body\n*(u64 *)(r10 -8) = 0\nr3 = r10\nr3 += -8\nr4 = 0\ncall bpf_loop\nr0 <<= "
       "8\nr1 = *(u64 *)(r10 -8)\n"
       "r0 |= r1\nexit\nbody: r3 = *(u64 *)(r2 +0)\nr3 += r1\n*(u64 *)(r2 +0) = r3\nr0 = 0\nif r1 != 3 goto "
       "out\nr0 = 1\nout: exit",
       0x406},
      {"r1 = 0x900000\nr2 = func body\nr3 = 0\nr4 = 0\ncall bpf_loop\nexit\nbody: r0 = 0\nexit",
       static_cast<uint64_t>(-7)},
      // Maps.
      {"r0 = map[2]\nexit", 0x277},
      {"r0 = map[2][0]+5\nexit", 0x205},
  };
  for (const RunCase &c : cases) {
    auto r0 = run(c.text);
    ASSERT_TRUE(r0) << c.text << "\n" << r0.error().message;
    EXPECT_EQ(*r0, c.r0) << c.text;
  }
}

struct FaultCase {
  const char *text, *message;
};

TEST(Interpreter, RefusesWhatLeavesItsMemory) {
  const FaultCase cases[] = {
      {"r0 = *(u64 *)(r1 +16)\nexit",
       "insn 0: r0 = *(u64 *)(r1 +16): 8 bytes at 0x1010, where there is no memory"},
      {"r0 = *(u64 *)(r1 +8)\nr0 = *(u32 *)(r1 -4)\nexit",
       "insn 1: r0 = *(u32 *)(r1 -4): 4 bytes at 0xffc, where"},
      {"r0 = 0\nr0 = *(u8 *)(r0 +0)\nexit", "where there is no memory"},
      {"*(u64 *)(r10 +0) = 1\nexit", "where there is no memory"},
      {"r0 = *(u64 *)(r10 -8)\nexit", "read of byte 504 of the stack of frame 0, which was never written"},
      {"r0 = *(u32 *)(r1 +2)\nexit", "is misaligned"},
      {"r0 = r5\nexit", "read of a register that was never written"},
      {"call 5\nr0 = r1\nexit", "read of a register that was never written"},
      {"loop: goto loop", "more than 1000 instructions executed"},
      {"call 77\nexit", "no such helper"},
      {"call sub\nexit\nsub: call sub\nexit", "calls are nested more than 8 deep"},
  };
  for (const FaultCase &c : cases) {
    auto r0 = run(c.text);
    ASSERT_FALSE(r0) << c.text;
    EXPECT_NE(r0.error().message.find(c.message), std::string::npos)
        << r0.error().message << "\nwanted " << c.message;
  }
}

TEST(Interpreter, IsLenientUnlessStrict) {
  EXPECT_TRUE(run("r0 = *(u32 *)(r1 +2)\nexit", false));
  EXPECT_TRUE(run("r0 = *(u64 *)(r10 -8)\nexit", false));
  EXPECT_FALSE(run("r0 = *(u64 *)(r1 +9)\nexit", false));
}

TEST(Interpreter, ReadOnlyMemoryStaysAsItIs) {
  auto assembly = assemble("*(u8 *)(r1 +0) = 1\nr0 = 0\nexit");
  Interpreter interp(assembly->insns);
  uint8_t byte = 9;
  interp.memory().add({"constants", kMemory, &byte, 1, false, nullptr});
  auto r0 = interp.run(kMemory, 0);
  ASSERT_FALSE(r0);
  EXPECT_NE(r0.error().message.find("write to constants, which is read-only"), std::string::npos);
  EXPECT_EQ(byte, 9);
}

}  // namespace
}  // namespace egpu::bpf
