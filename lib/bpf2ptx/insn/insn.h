// One eBPF instruction as a variant: what object/ decodes, verify/ judges, lower/ translates
// and interp/ executes. Each consumer is one visitor.
//
// Index space: the typed vector. A 64-bit immediate is one Insn although it takes two slots
// of bytecode; branch targets are indices into the typed vector. `slot` keeps the position
// in the bytecode for messages. Source: RFC 9669.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace egpu::bpf {

struct Reg {
  uint8_t n;  // 0 to 10
  bool operator==(const Reg &) const = default;
};
struct Imm {
  int32_t value;  // sign-extended to 64 bits where it is used
};
using Operand = std::variant<Reg, Imm>;

enum class AluOp : uint8_t { add, sub, mul, div, sdiv, or_, and_, lsh, rsh, arsh, mod, smod, xor_ };
enum class CmpOp : uint8_t { eq, ne, gt, ge, lt, le, sgt, sge, slt, sle, set };
enum class AtomicOp : uint8_t { add, or_, and_, xor_, xchg, cmpxchg };
enum class EndianOp : uint8_t { to_le, to_be, bswap };

struct Alu { AluOp op; bool is64; Reg dst; Operand src; };
struct Neg { bool is64; Reg dst; };
struct Mov { bool is64; uint8_t sign_extend_bits; Reg dst; Operand src; };  // 0, 8, 16 or 32
struct Endian { EndianOp op; uint8_t bits; Reg dst; };
struct LoadImm64 { Reg dst; uint64_t value; };
struct LoadMap { Reg dst; int map; };                            // the map itself, for helpers
struct LoadMapValue { Reg dst; int map; uint32_t offset; };      // address in value 0 (globals)
struct LoadFunction { Reg dst; int target; };                    // a callback
struct Load { uint8_t bytes; bool sign_extend; Reg dst, base; int16_t offset; };
struct Store { uint8_t bytes; Reg base; int16_t offset; Operand src; };
struct Atomic { AtomicOp op; uint8_t bytes; bool fetch; Reg base; int16_t offset; Reg src; };
struct Jump { int target; };
struct JumpIf { CmpOp op; bool is64; Reg lhs; Operand rhs; int target; };
struct CallHelper { int32_t id; };
struct CallLocal { int target; };
struct Exit {};

using Op = std::variant<Alu, Neg, Mov, Endian, LoadImm64, LoadMap, LoadMapValue, LoadFunction, Load, Store,
                        Atomic, Jump, JumpIf, CallHelper, CallLocal, Exit>;

struct SourceLine {
  std::string file, text;  // text: the source line, without its newline; both empty without .BTF.ext
  uint32_t line = 0, column = 0;
};

struct Insn {
  Op op;
  uint32_t slot = 0;
  int source = -1;  // index into Program::lines, -1: unknown
};

// The number of slots an instruction takes in bytecode.
inline int slot_count(const Op &op) {
  return std::holds_alternative<LoadImm64>(op) || std::holds_alternative<LoadMap>(op) ||
                 std::holds_alternative<LoadMapValue>(op) || std::holds_alternative<LoadFunction>(op)
             ? 2
             : 1;
}

// "r1 = *(u64 *)(r2 +8)": the assembly text that llvm-objdump and the kernel's verifier print.
std::string to_string(const Op &op);

}  // namespace egpu::bpf
