// The bits of eBPF bytecode: classes, modes, operation codes. Source: RFC 9669, 4 and 5.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "lib/bpf2ptx/insn/insn.h"

namespace egpu::bpf::code {

// The low three bits of the opcode byte.
constexpr uint8_t kLd = 0, kLdx = 1, kSt = 2, kStx = 3, kAlu = 4, kJmp = 5, kJmp32 = 6, kAlu64 = 7;
// Bit 3 of ALU and JMP classes: the second operand is a register.
constexpr uint8_t kSourceReg = 0x08;

// Upper four bits of ALU classes that are no binary operation.
constexpr uint8_t kNeg = 0x80, kMov = 0xb0, kEnd = 0xd0;
// Upper four bits of JMP classes that are no comparison.
constexpr uint8_t kJa = 0x00, kCall = 0x80, kExit = 0x90, kMayGoto = 0xe0;

// Load and store classes: bits 3 and 4 are the size, bits 5 to 7 the mode.
constexpr uint8_t kModeImm = 0x00, kModeAbs = 0x20, kModeInd = 0x40, kModeMem = 0x60, kModeMemSx = 0x80,
                  kModeAtomic = 0xc0;
constexpr uint8_t kLoadImm64 = 0x18;

// The src field of a 64-bit immediate load.
constexpr uint8_t kImm64Value = 0, kImm64MapFd = 1, kImm64MapFdValue = 2, kImm64VarAddr = 3,
                  kImm64Function = 4, kImm64MapIndex = 5, kImm64MapIndexValue = 6;
// The src field of a call.
constexpr uint8_t kCallHelper = 0, kCallLocal = 1, kCallKfunc = 2;

// The imm field of an atomic.
constexpr int32_t kFetch = 0x01;
constexpr int32_t kXchg = 0xe1, kCmpxchg = 0xf1, kLoadAcquire = 0x100, kStoreRelease = 0x110;

struct AluRow {
  uint8_t code;
  int16_t offset;  // 1 selects the signed form of div and mod
  AluOp op;
};
constexpr std::array<AluRow, 13> kAluRows = {{{0x00, 0, AluOp::add},
                                              {0x10, 0, AluOp::sub},
                                              {0x20, 0, AluOp::mul},
                                              {0x30, 0, AluOp::div},
                                              {0x30, 1, AluOp::sdiv},
                                              {0x40, 0, AluOp::or_},
                                              {0x50, 0, AluOp::and_},
                                              {0x60, 0, AluOp::lsh},
                                              {0x70, 0, AluOp::rsh},
                                              {0x90, 0, AluOp::mod},
                                              {0x90, 1, AluOp::smod},
                                              {0xa0, 0, AluOp::xor_},
                                              {0xc0, 0, AluOp::arsh}}};

struct CmpRow {
  uint8_t code;
  CmpOp op;
};
constexpr std::array<CmpRow, 11> kCmpRows = {{{0x10, CmpOp::eq},
                                              {0x20, CmpOp::gt},
                                              {0x30, CmpOp::ge},
                                              {0x40, CmpOp::set},
                                              {0x50, CmpOp::ne},
                                              {0x60, CmpOp::sgt},
                                              {0x70, CmpOp::sge},
                                              {0xa0, CmpOp::lt},
                                              {0xb0, CmpOp::le},
                                              {0xc0, CmpOp::slt},
                                              {0xd0, CmpOp::sle}}};

struct AtomicRow {
  int32_t imm;
  AtomicOp op;
  bool fetch;
};
constexpr std::array<AtomicRow, 10> kAtomicRows = {{{0x00, AtomicOp::add, false},
                                                    {0x01, AtomicOp::add, true},
                                                    {0x40, AtomicOp::or_, false},
                                                    {0x41, AtomicOp::or_, true},
                                                    {0x50, AtomicOp::and_, false},
                                                    {0x51, AtomicOp::and_, true},
                                                    {0xa0, AtomicOp::xor_, false},
                                                    {0xa1, AtomicOp::xor_, true},
                                                    {kXchg, AtomicOp::xchg, true},
                                                    {kCmpxchg, AtomicOp::cmpxchg, true}}};

constexpr uint8_t size_bytes(uint8_t opcode) {
  constexpr uint8_t bytes[] = {4, 2, 1, 8};
  return bytes[(opcode >> 3) & 3];
}
constexpr uint8_t size_code(uint8_t bytes) {
  return bytes == 4 ? 0x00 : bytes == 2 ? 0x08 : bytes == 1 ? 0x10 : 0x18;
}

}  // namespace egpu::bpf::code
