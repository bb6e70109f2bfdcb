#include "lib/bpf2ptx/insn/semantics.h"

#include <limits>

namespace egpu::bpf {
namespace {

// One width's arithmetic. U is uint32_t or uint64_t, S its signed twin.
template <class U, class S>
U eval_alu(AluOp op, U a, U b) {
  constexpr U kShiftMask = sizeof(U) * 8 - 1;
  S sa = static_cast<S>(a), sb = static_cast<S>(b);
  bool overflows = sa == std::numeric_limits<S>::min() && sb == -1;
  switch (op) {
    case AluOp::add:
      return a + b;
    case AluOp::sub:
      return a - b;
    case AluOp::mul:
      return a * b;
    case AluOp::div:
      return b ? a / b : 0;
    case AluOp::sdiv:
      return b == 0 ? 0 : overflows ? a : static_cast<U>(sa / sb);
    case AluOp::mod:
      return b ? a % b : a;
    case AluOp::smod:
      return b == 0 ? a : overflows ? 0 : static_cast<U>(sa % sb);
    case AluOp::or_:
      return a | b;
    case AluOp::and_:
      return a & b;
    case AluOp::xor_:
      return a ^ b;
    case AluOp::lsh:
      return static_cast<U>(a << (b & kShiftMask));
    case AluOp::rsh:
      return a >> (b & kShiftMask);
    case AluOp::arsh:
      return static_cast<U>(sa >> (b & kShiftMask));
  }
  return 0;
}

template <class U, class S>
bool eval_cmp(CmpOp op, U a, U b) {
  S sa = static_cast<S>(a), sb = static_cast<S>(b);
  switch (op) {
    case CmpOp::eq:
      return a == b;
    case CmpOp::ne:
      return a != b;
    case CmpOp::gt:
      return a > b;
    case CmpOp::ge:
      return a >= b;
    case CmpOp::lt:
      return a < b;
    case CmpOp::le:
      return a <= b;
    case CmpOp::sgt:
      return sa > sb;
    case CmpOp::sge:
      return sa >= sb;
    case CmpOp::slt:
      return sa < sb;
    case CmpOp::sle:
      return sa <= sb;
    case CmpOp::set:
      return (a & b) != 0;
  }
  return false;
}

uint64_t swap_bytes(uint64_t value, int bytes) {
  uint64_t out = 0;
  for (int i = 0; i < bytes; ++i) out = out << 8 | ((value >> (8 * i)) & 0xff);
  return out;
}

}  // namespace

uint64_t eval(AluOp op, bool is64, uint64_t dst, uint64_t src) {
  if (is64) return eval_alu<uint64_t, int64_t>(op, dst, src);
  return eval_alu<uint32_t, int32_t>(op, static_cast<uint32_t>(dst), static_cast<uint32_t>(src));
}

uint64_t eval(const Mov &mov, uint64_t src) {
  if (mov.sign_extend_bits) src = extend(src, mov.sign_extend_bits / 8, true);
  return mov.is64 ? src : static_cast<uint32_t>(src);
}

uint64_t eval(const Endian &op, uint64_t dst) {
  // The GPU is little-endian: to_le truncates, to_be and bswap swap.
  int bytes = op.bits / 8;
  return op.op == EndianOp::to_le ? extend(dst, bytes, false) : swap_bytes(dst, bytes);
}

bool eval(CmpOp op, bool is64, uint64_t lhs, uint64_t rhs) {
  if (is64) return eval_cmp<uint64_t, int64_t>(op, lhs, rhs);
  return eval_cmp<uint32_t, int32_t>(op, static_cast<uint32_t>(lhs), static_cast<uint32_t>(rhs));
}

uint64_t extend(uint64_t value, int bytes, bool sign) {
  int unused = 64 - 8 * bytes;
  uint64_t top = value << unused;
  return sign ? static_cast<uint64_t>(static_cast<int64_t>(top) >> unused) : top >> unused;
}

}  // namespace egpu::bpf
