// Notes about an accepted program: what it will cost that its author may not have meant to pay.
// None of them is an error; where lanes that part make one is in convergence.h.
#pragma once
#include <string>
#include <vector>

#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/message.h"

namespace egpu::bpf {

/// Notes on varying branches and atomics. A program that one lane runs per warp, block or launch gets none.
/// Needs facts.uniformity.
std::vector<Note> find_notes(const Program &program, const Object &object, const Facts &facts);

}  // namespace egpu::bpf
