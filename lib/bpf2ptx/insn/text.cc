// Typed instructions as text, in the notation of the kernel's verifier log
// (kernel/bpf/disasm.c), with targets as indices of the typed vector.

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"
#include "lib/bpf2ptx/insn/insn.h"

namespace egpu::bpf {
namespace {

std::string reg(Reg r, bool is64 = true) { return format("{}{}", is64 ? 'r' : 'w', r.n); }

std::string operand(const Operand &src, bool is64 = true) {
  if (auto *r = std::get_if<Reg>(&src)) return reg(*r, is64);
  return format("{}", std::get<Imm>(src).value);
}

std::string memory(char type, int bytes, Reg base, int16_t offset) {
  return format("({}{} *)({} {})", type, bytes * 8, reg(base), with_sign(offset));
}

const char *symbol(AluOp op) {
  switch (op) {
    case AluOp::add:
      return "+=";
    case AluOp::sub:
      return "-=";
    case AluOp::mul:
      return "*=";
    case AluOp::div:
      return "/=";
    case AluOp::sdiv:
      return "s/=";
    case AluOp::or_:
      return "|=";
    case AluOp::and_:
      return "&=";
    case AluOp::lsh:
      return "<<=";
    case AluOp::rsh:
      return ">>=";
    case AluOp::arsh:
      return "s>>=";
    case AluOp::mod:
      return "%=";
    case AluOp::smod:
      return "s%=";
    case AluOp::xor_:
      return "^=";
  }
  return "?";
}

const char *symbol(CmpOp op) {
  switch (op) {
    case CmpOp::eq:
      return "==";
    case CmpOp::ne:
      return "!=";
    case CmpOp::gt:
      return ">";
    case CmpOp::ge:
      return ">=";
    case CmpOp::lt:
      return "<";
    case CmpOp::le:
      return "<=";
    case CmpOp::sgt:
      return "s>";
    case CmpOp::sge:
      return "s>=";
    case CmpOp::slt:
      return "s<";
    case CmpOp::sle:
      return "s<=";
    case CmpOp::set:
      return "&";
  }
  return "?";
}

const char *symbol(AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return "add";
    case AtomicOp::or_:
      return "or";
    case AtomicOp::and_:
      return "and";
    case AtomicOp::xor_:
      return "xor";
    case AtomicOp::xchg:
      return "xchg";
    case AtomicOp::cmpxchg:
      return "cmpxchg";
  }
  return "?";
}

const char *lock_symbol(AtomicOp op) {
  switch (op) {
    case AtomicOp::or_:
      return "|=";
    case AtomicOp::and_:
      return "&=";
    case AtomicOp::xor_:
      return "^=";
    default:
      return "+=";
  }
}

struct Text {
  std::string operator()(const Alu &op) const {
    return format("{} {} {}", reg(op.dst, op.is64), symbol(op.op), operand(op.src, op.is64));
  }
  std::string operator()(const Neg &op) const {
    return format("{} = -{}", reg(op.dst, op.is64), reg(op.dst, op.is64));
  }
  std::string operator()(const Mov &op) const {
    std::string cast = op.sign_extend_bits ? format("(s{})", op.sign_extend_bits) : "";
    return format("{} = {}{}", reg(op.dst, op.is64), cast, operand(op.src, op.is64));
  }
  std::string operator()(const Endian &op) const {
    const char *name = op.op == EndianOp::to_le ? "le" : op.op == EndianOp::to_be ? "be" : "bswap";
    return format("{} = {}{} {}", reg(op.dst), name, op.bits, reg(op.dst));
  }
  std::string operator()(const LoadImm64 &op) const {
    return format("{} = {} ll", reg(op.dst), hex(op.value));
  }
  std::string operator()(const LoadMap &op) const { return format("{} = map[{}]", reg(op.dst), op.map); }
  std::string operator()(const LoadMapValue &op) const {
    return format("{} = map[{}][0]+{}", reg(op.dst), op.map, op.offset);
  }
  std::string operator()(const LoadFunction &op) const {
    return format("{} = func {}", reg(op.dst), op.target);
  }
  std::string operator()(const Load &op) const {
    return format("{} = *{}", reg(op.dst), memory(op.sign_extend ? 's' : 'u', op.bytes, op.base, op.offset));
  }
  std::string operator()(const Store &op) const {
    return format("*{} = {}", memory('u', op.bytes, op.base, op.offset), operand(op.src));
  }
  std::string operator()(const Atomic &op) const {
    std::string address = memory('u', op.bytes, op.base, op.offset);
    if (!op.fetch) return format("lock *{} {} {}", address, lock_symbol(op.op), reg(op.src));
    std::string name = format("atomic{}_{}{}", op.bytes == 8 ? "64" : "",
                              op.op < AtomicOp::xchg ? "fetch_" : "", symbol(op.op));
    if (op.op == AtomicOp::cmpxchg) return format("r0 = {}({}, r0, {})", name, address, reg(op.src));
    return format("{} = {}({}, {})", reg(op.src), name, address, reg(op.src));
  }
  std::string operator()(const Jump &op) const { return format("goto {}", op.target); }
  std::string operator()(const JumpIf &op) const {
    return format("if {} {} {} goto {}", reg(op.lhs, op.is64), symbol(op.op), operand(op.rhs, op.is64),
                  op.target);
  }
  std::string operator()(const CallHelper &op) const {
    std::string name = helper_name(op.id);
    return format("call {}#{}", name.empty() ? "unknown" : name, op.id);
  }
  std::string operator()(const CallLocal &op) const { return format("call func {}", op.target); }
  std::string operator()(const Exit &) const { return "exit"; }
};

}  // namespace

std::string to_string(const Op &op) { return std::visit(Text{}, op); }

}  // namespace egpu::bpf
