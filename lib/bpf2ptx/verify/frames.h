// The call graph: no recursion, at most 8 frames, at most 512 bytes of stack in all.
#pragma once
#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/structure.h"

namespace egpu::bpf {

std::optional<Error> check_calls(const Program &program, const Structure &structure,
                                 const Messages &messages);
std::optional<Error> check_stack_depth(const Structure &structure, const Facts &facts,
                                       const Messages &messages);

}  // namespace egpu::bpf
