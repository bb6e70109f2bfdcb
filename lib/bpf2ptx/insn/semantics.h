// What each instruction computes on given numbers. Source: RFC 9669, 4.1 to 4.3.
//
// The one definition of the arithmetic: interp/ executes with it and verify/ folds
// constants with it. Everything is total: division by zero gives 0, modulo by zero the
// dividend, the most negative number divided by -1 itself, shift amounts are masked.
#pragma once
#include <cstdint>

#include "lib/bpf2ptx/insn/insn.h"

namespace egpu::bpf {

/// dst op src; 32-bit operations use the low halves and zero the upper half of the result.
uint64_t eval(AluOp op, bool is64, uint64_t dst, uint64_t src);
/// The value a Mov writes.
uint64_t eval(const Mov &mov, uint64_t src);
uint64_t eval(const Endian &op, uint64_t dst);
bool eval(CmpOp op, bool is64, uint64_t lhs, uint64_t rhs);
/// The low `bytes` of a value, zero- or sign-extended to 64 bits.
uint64_t extend(uint64_t value, int bytes, bool sign);

}  // namespace egpu::bpf
