// What a conditional branch tells about its operands.
#pragma once
#include "lib/bpf2ptx/verify/range.h"

namespace egpu::bpf {

/// Narrows both operands to the numbers for which "lhs op rhs" is `outcome`. False: there are
/// none, the branch cannot go that way.
bool refine(CmpOp op, bool is64, bool outcome, Range &lhs, Range &rhs);

}  // namespace egpu::bpf
