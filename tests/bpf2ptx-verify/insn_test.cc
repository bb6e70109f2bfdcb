// Bytecode: every opcode decodes, prints, encodes and assembles to the same thing.
#include <gtest/gtest.h>

#include <set>

#include "lib/bpf2ptx/insn/assemble.h"
#include "lib/bpf2ptx/insn/encode.h"
#include "lib/bpf2ptx/insn/helper_names.h"

namespace egpu::bpf {
namespace {

struct OpcodeCase {
  RawInsn raw;
  const char *text;
};

// dst is r1, src r2 where there is one.
const OpcodeCase kOpcodes[] = {
    {{0x04, 0x01, 0, 7}, "w1 += 7"},
    {{0x0c, 0x21, 0, 0}, "w1 += w2"},
    {{0x07, 0x01, 0, 7}, "r1 += 7"},
    {{0x0f, 0x21, 0, 0}, "r1 += r2"},
    {{0x14, 0x01, 0, 7}, "w1 -= 7"},
    {{0x1c, 0x21, 0, 0}, "w1 -= w2"},
    {{0x17, 0x01, 0, 7}, "r1 -= 7"},
    {{0x1f, 0x21, 0, 0}, "r1 -= r2"},
    {{0x24, 0x01, 0, 7}, "w1 *= 7"},
    {{0x2c, 0x21, 0, 0}, "w1 *= w2"},
    {{0x27, 0x01, 0, 7}, "r1 *= 7"},
    {{0x2f, 0x21, 0, 0}, "r1 *= r2"},
    {{0x34, 0x01, 0, 7}, "w1 /= 7"},
    {{0x3c, 0x21, 0, 0}, "w1 /= w2"},
    {{0x37, 0x01, 0, 7}, "r1 /= 7"},
    {{0x3f, 0x21, 0, 0}, "r1 /= r2"},
    {{0x34, 0x01, 1, 7}, "w1 s/= 7"},
    {{0x3c, 0x21, 1, 0}, "w1 s/= w2"},
    {{0x37, 0x01, 1, 7}, "r1 s/= 7"},
    {{0x3f, 0x21, 1, 0}, "r1 s/= r2"},
    {{0x44, 0x01, 0, 7}, "w1 |= 7"},
    {{0x4c, 0x21, 0, 0}, "w1 |= w2"},
    {{0x47, 0x01, 0, 7}, "r1 |= 7"},
    {{0x4f, 0x21, 0, 0}, "r1 |= r2"},
    {{0x54, 0x01, 0, 7}, "w1 &= 7"},
    {{0x5c, 0x21, 0, 0}, "w1 &= w2"},
    {{0x57, 0x01, 0, 7}, "r1 &= 7"},
    {{0x5f, 0x21, 0, 0}, "r1 &= r2"},
    {{0x64, 0x01, 0, 7}, "w1 <<= 7"},
    {{0x6c, 0x21, 0, 0}, "w1 <<= w2"},
    {{0x67, 0x01, 0, 7}, "r1 <<= 7"},
    {{0x6f, 0x21, 0, 0}, "r1 <<= r2"},
    {{0x74, 0x01, 0, 7}, "w1 >>= 7"},
    {{0x7c, 0x21, 0, 0}, "w1 >>= w2"},
    {{0x77, 0x01, 0, 7}, "r1 >>= 7"},
    {{0x7f, 0x21, 0, 0}, "r1 >>= r2"},
    {{0x84, 0x01, 0, 0}, "w1 = -w1"},
    {{0x87, 0x01, 0, 0}, "r1 = -r1"},
    {{0x94, 0x01, 0, 7}, "w1 %= 7"},
    {{0x9c, 0x21, 0, 0}, "w1 %= w2"},
    {{0x97, 0x01, 0, 7}, "r1 %= 7"},
    {{0x9f, 0x21, 0, 0}, "r1 %= r2"},
    {{0x94, 0x01, 1, 7}, "w1 s%= 7"},
    {{0x9c, 0x21, 1, 0}, "w1 s%= w2"},
    {{0x97, 0x01, 1, 7}, "r1 s%= 7"},
    {{0x9f, 0x21, 1, 0}, "r1 s%= r2"},
    {{0xa4, 0x01, 0, 7}, "w1 ^= 7"},
    {{0xac, 0x21, 0, 0}, "w1 ^= w2"},
    {{0xa7, 0x01, 0, -7}, "r1 ^= -7"},
    {{0xaf, 0x21, 0, 0}, "r1 ^= r2"},
    {{0xb4, 0x01, 0, 7}, "w1 = 7"},
    {{0xbc, 0x21, 0, 0}, "w1 = w2"},
    {{0xb7, 0x01, 0, 7}, "r1 = 7"},
    {{0xbf, 0x21, 0, 0}, "r1 = r2"},
    {{0xbc, 0x21, 8, 0}, "w1 = (s8)w2"},
    {{0xbc, 0x21, 16, 0}, "w1 = (s16)w2"},
    {{0xbf, 0x21, 8, 0}, "r1 = (s8)r2"},
    {{0xbf, 0x21, 16, 0}, "r1 = (s16)r2"},
    {{0xbf, 0x21, 32, 0}, "r1 = (s32)r2"},
    {{0xc4, 0x01, 0, 7}, "w1 s>>= 7"},
    {{0xcc, 0x21, 0, 0}, "w1 s>>= w2"},
    {{0xc7, 0x01, 0, 7}, "r1 s>>= 7"},
    {{0xcf, 0x21, 0, 0}, "r1 s>>= r2"},
    {{0xd4, 0x01, 0, 16}, "r1 = le16 r1"},
    {{0xd4, 0x01, 0, 32}, "r1 = le32 r1"},
    {{0xd4, 0x01, 0, 64}, "r1 = le64 r1"},
    {{0xdc, 0x01, 0, 16}, "r1 = be16 r1"},
    {{0xdc, 0x01, 0, 32}, "r1 = be32 r1"},
    {{0xdc, 0x01, 0, 64}, "r1 = be64 r1"},
    {{0xd7, 0x01, 0, 16}, "r1 = bswap16 r1"},
    {{0xd7, 0x01, 0, 32}, "r1 = bswap32 r1"},
    {{0xd7, 0x01, 0, 64}, "r1 = bswap64 r1"},
    {{0x71, 0x21, 4, 0}, "r1 = *(u8 *)(r2 +4)"},
    {{0x69, 0x21, 4, 0}, "r1 = *(u16 *)(r2 +4)"},
    {{0x61, 0x21, -4, 0}, "r1 = *(u32 *)(r2 -4)"},
    {{0x79, 0x21, 8, 0}, "r1 = *(u64 *)(r2 +8)"},
    {{0x91, 0x21, 4, 0}, "r1 = *(s8 *)(r2 +4)"},
    {{0x89, 0x21, 4, 0}, "r1 = *(s16 *)(r2 +4)"},
    {{0x81, 0x21, 4, 0}, "r1 = *(s32 *)(r2 +4)"},
    {{0x72, 0x01, 4, 9}, "*(u8 *)(r1 +4) = 9"},
    {{0x6a, 0x01, 4, 9}, "*(u16 *)(r1 +4) = 9"},
    {{0x62, 0x01, 4, 9}, "*(u32 *)(r1 +4) = 9"},
    {{0x7a, 0x01, 8, -9}, "*(u64 *)(r1 +8) = -9"},
    {{0x73, 0x21, 4, 0}, "*(u8 *)(r1 +4) = r2"},
    {{0x6b, 0x21, 4, 0}, "*(u16 *)(r1 +4) = r2"},
    {{0x63, 0x21, 4, 0}, "*(u32 *)(r1 +4) = r2"},
    {{0x7b, 0x21, 8, 0}, "*(u64 *)(r1 +8) = r2"},
    {{0xc3, 0x21, 4, 0x00}, "lock *(u32 *)(r1 +4) += r2"},
    {{0xdb, 0x21, 8, 0x00}, "lock *(u64 *)(r1 +8) += r2"},
    {{0xc3, 0x21, 4, 0x40}, "lock *(u32 *)(r1 +4) |= r2"},
    {{0xdb, 0x21, 8, 0x40}, "lock *(u64 *)(r1 +8) |= r2"},
    {{0xc3, 0x21, 4, 0x50}, "lock *(u32 *)(r1 +4) &= r2"},
    {{0xdb, 0x21, 8, 0x50}, "lock *(u64 *)(r1 +8) &= r2"},
    {{0xc3, 0x21, 4, 0xa0}, "lock *(u32 *)(r1 +4) ^= r2"},
    {{0xdb, 0x21, 8, 0xa0}, "lock *(u64 *)(r1 +8) ^= r2"},
    {{0xc3, 0x21, 4, 0x01}, "r2 = atomic_fetch_add((u32 *)(r1 +4), r2)"},
    {{0xdb, 0x21, 8, 0x01}, "r2 = atomic64_fetch_add((u64 *)(r1 +8), r2)"},
    {{0xc3, 0x21, 4, 0x41}, "r2 = atomic_fetch_or((u32 *)(r1 +4), r2)"},
    {{0xdb, 0x21, 8, 0x41}, "r2 = atomic64_fetch_or((u64 *)(r1 +8), r2)"},
    {{0xc3, 0x21, 4, 0x51}, "r2 = atomic_fetch_and((u32 *)(r1 +4), r2)"},
    {{0xdb, 0x21, 8, 0x51}, "r2 = atomic64_fetch_and((u64 *)(r1 +8), r2)"},
    {{0xc3, 0x21, 4, 0xa1}, "r2 = atomic_fetch_xor((u32 *)(r1 +4), r2)"},
    {{0xdb, 0x21, 8, 0xa1}, "r2 = atomic64_fetch_xor((u64 *)(r1 +8), r2)"},
    {{0xc3, 0x21, 4, 0xe1}, "r2 = atomic_xchg((u32 *)(r1 +4), r2)"},
    {{0xdb, 0x21, 8, 0xe1}, "r2 = atomic64_xchg((u64 *)(r1 +8), r2)"},
    {{0xc3, 0x21, 4, 0xf1}, "r0 = atomic_cmpxchg((u32 *)(r1 +4), r0, r2)"},
    {{0xdb, 0x21, 8, 0xf1}, "r0 = atomic64_cmpxchg((u64 *)(r1 +8), r0, r2)"},
    {{0x05, 0x00, 0, 0}, "goto 1"},
    {{0x06, 0x00, 0, 0}, "goto 1"},
    {{0x15, 0x01, 0, 7}, "if r1 == 7 goto 1"},
    {{0x1d, 0x21, 0, 0}, "if r1 == r2 goto 1"},
    {{0x16, 0x01, 0, 7}, "if w1 == 7 goto 1"},
    {{0x1e, 0x21, 0, 0}, "if w1 == w2 goto 1"},
    {{0x25, 0x01, 0, 7}, "if r1 > 7 goto 1"},
    {{0x2d, 0x21, 0, 0}, "if r1 > r2 goto 1"},
    {{0x26, 0x01, 0, 7}, "if w1 > 7 goto 1"},
    {{0x2e, 0x21, 0, 0}, "if w1 > w2 goto 1"},
    {{0x35, 0x01, 0, 7}, "if r1 >= 7 goto 1"},
    {{0x3d, 0x21, 0, 0}, "if r1 >= r2 goto 1"},
    {{0x36, 0x01, 0, 7}, "if w1 >= 7 goto 1"},
    {{0x3e, 0x21, 0, 0}, "if w1 >= w2 goto 1"},
    {{0x45, 0x01, 0, 7}, "if r1 & 7 goto 1"},
    {{0x4d, 0x21, 0, 0}, "if r1 & r2 goto 1"},
    {{0x46, 0x01, 0, 7}, "if w1 & 7 goto 1"},
    {{0x4e, 0x21, 0, 0}, "if w1 & w2 goto 1"},
    {{0x55, 0x01, 0, 7}, "if r1 != 7 goto 1"},
    {{0x5d, 0x21, 0, 0}, "if r1 != r2 goto 1"},
    {{0x56, 0x01, 0, 7}, "if w1 != 7 goto 1"},
    {{0x5e, 0x21, 0, 0}, "if w1 != w2 goto 1"},
    {{0x65, 0x01, 0, 7}, "if r1 s> 7 goto 1"},
    {{0x6d, 0x21, 0, 0}, "if r1 s> r2 goto 1"},
    {{0x66, 0x01, 0, 7}, "if w1 s> 7 goto 1"},
    {{0x6e, 0x21, 0, 0}, "if w1 s> w2 goto 1"},
    {{0x75, 0x01, 0, 7}, "if r1 s>= 7 goto 1"},
    {{0x7d, 0x21, 0, 0}, "if r1 s>= r2 goto 1"},
    {{0x76, 0x01, 0, 7}, "if w1 s>= 7 goto 1"},
    {{0x7e, 0x21, 0, 0}, "if w1 s>= w2 goto 1"},
    {{0xa5, 0x01, 0, 7}, "if r1 < 7 goto 1"},
    {{0xad, 0x21, 0, 0}, "if r1 < r2 goto 1"},
    {{0xa6, 0x01, 0, 7}, "if w1 < 7 goto 1"},
    {{0xae, 0x21, 0, 0}, "if w1 < w2 goto 1"},
    {{0xb5, 0x01, 0, 7}, "if r1 <= 7 goto 1"},
    {{0xbd, 0x21, 0, 0}, "if r1 <= r2 goto 1"},
    {{0xb6, 0x01, 0, 7}, "if w1 <= 7 goto 1"},
    {{0xbe, 0x21, 0, 0}, "if w1 <= w2 goto 1"},
    {{0xc5, 0x01, 0, 7}, "if r1 s< 7 goto 1"},
    {{0xcd, 0x21, 0, 0}, "if r1 s< r2 goto 1"},
    {{0xc6, 0x01, 0, 7}, "if w1 s< 7 goto 1"},
    {{0xce, 0x21, 0, 0}, "if w1 s< w2 goto 1"},
    {{0xd5, 0x01, 0, 7}, "if r1 s<= 7 goto 1"},
    {{0xdd, 0x21, 0, 0}, "if r1 s<= r2 goto 1"},
    {{0xd6, 0x01, 0, -7}, "if w1 s<= -7 goto 1"},
    {{0xde, 0x21, 0, 0}, "if w1 s<= w2 goto 1"},
    {{0x85, 0x00, 0, 1}, "call bpf_map_lookup_elem#1"},
    {{0x85, 0x00, 0, 0x6001}, "call gpu_cookie#24577"},
    {{0x85, 0x00, 0, 99999}, "call unknown#99999"},
    {{0x85, 0x10, 0, 0}, "call func 1"},
    {{0x95, 0x00, 0, 0}, "exit"},
};

const RawInsn kExit{0x95, 0, 0, 0};

TEST(Decode, EveryOpcodeHasItsTextAndComesBack) {
  for (const OpcodeCase &c : kOpcodes) {
    SCOPED_TRACE(c.text);
    auto insns = decode({c.raw, kExit});
    ASSERT_TRUE(insns) << insns.error().message;
    ASSERT_EQ(insns->size(), 2u);
    EXPECT_EQ(to_string((*insns)[0].op), c.text);
    std::vector<RawInsn> raw = encode(*insns);
    // A short gotol comes back as goto.
    if (c.raw.code != 0x06) {
      EXPECT_EQ(raw[0].code, c.raw.code);
    }
    EXPECT_EQ(raw[0].regs, c.raw.regs);
    EXPECT_EQ(raw[0].offset, c.raw.offset);
    EXPECT_EQ(raw[0].imm, c.raw.imm);
    auto assembly = assemble(std::string(c.text) + "\nexit");
    ASSERT_TRUE(assembly) << assembly.error().message;
    EXPECT_EQ(to_string(assembly->insns[0].op), c.text);
  }
}

TEST(Decode, WideInstructionsTakeTwoSlots) {
  struct Case {
    RawInsn first, second;
    const char *text;
  };
  const Case cases[] = {{{0x18, 0x01, 0, 5}, {0, 0, 0, 6}, "r1 = 0x600000005 ll"},
                        {{0x18, 0x01, 0, -1}, {0, 0, 0, 0}, "r1 = 0xffffffff ll"},
                        {{0x18, 0x51, 0, 3}, {0, 0, 0, 0}, "r1 = map[3]"},
                        {{0x18, 0x61, 0, 3}, {0, 0, 0, 16}, "r1 = map[3][0]+16"},
                        {{0x18, 0x41, 0, 1}, {0, 0, 0, 0}, "r1 = func 1"}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.text);
    auto insns = decode({c.first, c.second, kExit});
    ASSERT_TRUE(insns) << insns.error().message;
    ASSERT_EQ(insns->size(), 2u);
    EXPECT_EQ(to_string((*insns)[0].op), c.text);
    EXPECT_EQ((*insns)[1].slot, 2u);
    std::vector<RawInsn> raw = encode(*insns);
    ASSERT_EQ(raw.size(), 3u);
    EXPECT_EQ(raw[0].regs, c.first.regs);
    EXPECT_EQ(raw[0].imm, c.first.imm);
    EXPECT_EQ(raw[1].imm, c.second.imm);
    auto assembly = assemble(std::string(c.text) + "\nexit");
    ASSERT_TRUE(assembly) << assembly.error().message;
    EXPECT_EQ(to_string(assembly->insns[0].op), c.text);
  }
}

TEST(Decode, TargetsAreIndices) {
  // goto over a wide instruction, and back.
  auto insns = decode({{0x05, 0, 2, 0}, {0x18, 0x01, 0, 5}, {0, 0, 0, 0}, kExit, {0x05, 0, -4, 0}});
  ASSERT_TRUE(insns) << insns.error().message;
  EXPECT_EQ(to_string((*insns)[0].op), "goto 2");
  EXPECT_EQ(to_string((*insns)[3].op), "goto 1");
}

struct BadCase {
  std::vector<RawInsn> code;
  const char *message;
};

TEST(Decode, RefusesWhatTheRfcDoesNotDefine) {
  const BadCase cases[] = {
      {{{0x04, 0x21, 0, 7}}, "slot 0: unused field 'src' is not zero"},
      {{{0x0c, 0x21, 0, 7}}, "slot 0: unused field 'imm' is not zero"},
      {{{0x07, 0x01, 4, 7}}, "slot 0: unused field 'offset' is not zero"},
      {{{0x37, 0x01, 2, 7}}, "slot 0: bad offset 2 of div or mod"},
      {{{0x9f, 0x21, -1, 0}}, "slot 0: bad offset -1 of div or mod"},
      {{{0x87, 0x21, 0, 0}}, "slot 0: unused field 'src' is not zero"},
      {{{0x87, 0x01, 0, 1}}, "slot 0: unused field 'imm' is not zero"},
      {{{0x8f, 0x01, 0, 0}}, "slot 0: unknown opcode 0x8f"},
      {{{0xbf, 0x21, 24, 0}}, "slot 0: bad offset 24 of mov"},
      {{{0xbc, 0x21, 32, 0}}, "slot 0: bad offset 32 of mov"},
      {{{0xb7, 0x01, 8, 0}}, "slot 0: bad offset 8 of mov"},
      {{{0xd4, 0x01, 0, 8}}, "slot 0: byte swap of 8 bits"},
      {{{0xdf, 0x01, 0, 16}}, "slot 0: unknown opcode 0xdf"},
      {{{0xd4, 0x21, 0, 16}}, "slot 0: unused field 'src' is not zero"},
      {{{0xe4, 0x01, 0, 0}}, "slot 0: unknown opcode 0xe4"},
      {{{0x07, 0x0b, 0, 0}}, "slot 0: register r11 does not exist"},
      {{{0x0f, 0xf1, 0, 0}}, "slot 0: register r15 does not exist"},
      {{{0x18, 0x01, 0, 5}}, "slot 0: 64-bit immediate without its second half"},
      {{{0x18, 0x01, 0, 5}, {0x07, 0, 0, 0}}, "slot 0: the second half of a 64-bit immediate has an opcode"},
      {{{0x18, 0x01, 3, 5}, {0, 0, 0, 0}}, "slot 0: unused field 'offset' is not zero"},
      {{{0x18, 0x51, 0, 5}, {0, 0, 0, 1}}, "slot 0: unused field 'next_imm' is not zero"},
      {{{0x18, 0x11, 0, 5}, {0, 0, 0, 0}}, "slot 0: a map by file descriptor"},
      {{{0x18, 0x31, 0, 5}, {0, 0, 0, 0}}, "slot 0: the address of a kernel variable"},
      {{{0x18, 0x71, 0, 5}, {0, 0, 0, 0}}, "slot 0: unknown kind 7 of 64-bit immediate"},
      {{{0x18, 0x51, 0, -5}, {0, 0, 0, 0}}, "slot 0: negative map index"},
      {{{0x20, 0x00, 0, 0}}, "slot 0: legacy packet access"},
      {{{0x48, 0x10, 0, 0}}, "slot 0: legacy packet access"},
      {{{0x00, 0x00, 0, 0}}, "slot 0: unknown opcode 0x00"},
      {{{0x99, 0x21, 0, 0}}, "slot 0: unknown opcode 0x99"},
      {{{0x79, 0x21, 0, 1}}, "slot 0: unused field 'imm' is not zero"},
      {{{0x7a, 0x21, 0, 1}}, "slot 0: unused field 'src' is not zero"},
      {{{0x7b, 0x21, 0, 1}}, "slot 0: unused field 'imm' is not zero"},
      {{{0xd3, 0x21, 0, 0}}, "slot 0: atomics are 4 or 8 bytes wide"},
      {{{0xdb, 0x21, 0, 0x10}}, "slot 0: unknown atomic operation 0x10"},
      {{{0xdb, 0x21, 0, 0xe0}}, "slot 0: unknown atomic operation 0xe0"},
      {{{0xdb, 0x21, 0, 0x100}}, "slot 0: load-acquire and store-release are not supported"},
      {{{0x05, 0x00, 5, 0}}, "slot 0: target is outside the program"},
      {{{0x05, 0x00, -2, 0}}, "slot 0: target is outside the program"},
      {{{0x05, 0x01, 0, 0}, kExit}, "slot 0: unused field 'dst' is not zero"},
      {{{0x05, 0x00, 0, 1}, kExit}, "slot 0: unused field 'imm' is not zero"},
      {{{0x06, 0x00, 1, 0}, kExit}, "slot 0: unused field 'offset' is not zero"},
      {{{0x05, 0x00, 1, 0}, {0x18, 0x01, 0, 5}, {0, 0, 0, 0}, kExit},
       "slot 0: target is inside a 64-bit immediate"},
      {{{0x15, 0x21, 0, 0}, kExit}, "slot 0: unused field 'src' is not zero"},
      {{{0xe5, 0x00, 0, 0}}, "slot 0: may_goto is not supported"},
      {{{0x8d, 0x01, 0, 0}}, "slot 0: calls through a register are not supported"},
      {{{0x85, 0x20, 0, 5}}, "slot 0: kernel functions (kfuncs) have no meaning on a GPU"},
      {{{0x85, 0x30, 0, 5}}, "slot 0: unknown kind 3 of call"},
      {{{0x85, 0x10, 0, 9}}, "slot 0: target is outside the program"},
      {{{0x86, 0x00, 0, 1}}, "slot 0: unknown opcode 0x86"},
      {{{0x96, 0x00, 0, 0}}, "slot 0: unknown opcode 0x96"},
      {{{0x95, 0x00, 0, 1}}, "slot 0: unused field 'imm' is not zero"},
      {{{0xf5, 0x00, 0, 0}}, "slot 0: unknown opcode 0xf5"},
  };
  for (const BadCase &c : cases) {
    auto insns = decode(c.code);
    ASSERT_FALSE(insns) << c.message;
    EXPECT_TRUE(insns.error().message.starts_with(c.message))
        << insns.error().message << " wanted " << c.message;
  }
}

// All 256 opcodes with all-zero other fields: what is accepted comes back the same.
TEST(Decode, EveryByteEitherFailsOrComesBack) {
  std::set<int> accepted;
  for (int code = 0; code < 256; ++code)
    for (int imm : {0, 16}) {
      std::vector<RawInsn> raw{{static_cast<uint8_t>(code), 0, 0, imm}, kExit, kExit};
      auto insns = decode(raw);
      if (!insns) continue;
      accepted.insert(code);
      std::vector<RawInsn> again = encode(*insns);
      if (code == 0x06) continue;
      ASSERT_EQ(again.size(), raw.size());
      EXPECT_EQ(again[0].code, raw[0].code);
      EXPECT_EQ(again[0].imm, raw[0].imm);
    }
  std::set<int> expected{0x06};
  for (const OpcodeCase &c : kOpcodes) expected.insert(c.raw.code);
  // LDX and exits with imm 0 are in kOpcodes; every accepted opcode is, too.
  EXPECT_EQ(accepted, expected);
}

TEST(Encode, FarJumpsBecomeGotol) {
  std::vector<Insn> insns(40000, Insn{Mov{true, 0, Reg{0}, Imm{0}}, 0, -1});
  insns[0].op = Jump{39999};
  insns.back().op = Exit{};
  std::vector<RawInsn> raw = encode(insns);
  EXPECT_EQ(raw[0].code, 0x06);
  EXPECT_EQ(raw[0].imm, 39998);
  auto decoded = decode(raw);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(to_string((*decoded)[0].op), "goto 39999");
}

struct AssembleErrorCase {
  const char *text, *message;
};

TEST(Assemble, ErrorsNameTheLine) {
  const AssembleErrorCase cases[] = {
      {"r0 = 0\nfoo bar\n", "line 2: cannot read 'foo bar'"},
      {"goto nowhere\n", "line 1: no label 'nowhere'"},
      {"r0 = w1\n", "line 1: r and w registers are mixed"},
      {"r0 = 0x123456789\n", "line 1: immediate does not fit in 32 bits"},
      {"r0 = *(u24 *)(r1 +0)\n", "line 1: no type 'u24'"},
      {"r1 = map[nosuch]\n", "line 1: no map 'nosuch'"},
      {"exit now\n", "line 1: cannot read 'now'"},
      {"if r1 == 3 exit\n", "line 1: no 'goto'"},
  };
  for (const AssembleErrorCase &c : cases) {
    auto assembly = assemble(c.text);
    ASSERT_FALSE(assembly) << c.text;
    EXPECT_EQ(assembly.error().message, c.message);
  }
}

TEST(Assemble, FindsSubprograms) {
  auto assembly = assemble("call second\nr1 = func third\nexit\nsecond: r0 = 0\nexit\nthird: r0 = 1\nexit");
  ASSERT_TRUE(assembly) << assembly.error().message;
  EXPECT_EQ(assembly->subprogram_starts, (std::vector<int>{0, 3, 5}));
  EXPECT_EQ(assembly->subprogram_names, (std::vector<std::string>{"main", "second", "third"}));
}

TEST(HelperNames, AreTheKernels) {
  EXPECT_EQ(helper_name(1), "bpf_map_lookup_elem");
  EXPECT_EQ(helper_name(181), "bpf_loop");
  EXPECT_EQ(helper_name(0x6004), "gpu_log2_slot");
  EXPECT_EQ(helper_name(0), "");
  EXPECT_EQ(helper_name(-1), "");
  EXPECT_EQ(helper_name(100000), "");
}

}  // namespace
}  // namespace egpu::bpf
