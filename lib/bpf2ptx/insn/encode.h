// Typed instructions back to bytecode: the inverse of decode(), for tests and tools.
#pragma once
#include <vector>

#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {

/// The bytecode of the instructions; `slot` fields are ignored, branch targets are indices.
/// A jump further than 16 bits becomes gotol. Precondition: targets are inside the vector.
std::vector<RawInsn> encode(const std::vector<Insn> &insns);

}  // namespace egpu::bpf
