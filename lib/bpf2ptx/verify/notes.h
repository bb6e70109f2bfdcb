// Notes about an accepted program: what it will cost that its author may not have meant to pay.
// None of them is an error; where lanes that part make one is in convergence.h.
#pragma once
#include <string>
#include <vector>

#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/message.h"

namespace egpu::bpf {

/// Notes on varying branches and atomics, ready to print, in the order of the instructions. A program
/// that one lane runs per warp, block or launch gets none. Needs facts.uniformity.
std::vector<std::string> find_notes(const Program &program, const Object &object, const Facts &facts,
                                    const Messages &messages);

}  // namespace egpu::bpf
