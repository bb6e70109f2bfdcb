// Uniformity: for every instruction of a verified program, how far the value of each register is
// the same among the threads that execute it together.
//
// A forward data-flow over the facts. Sources have labels (a ctx field's and a helper's are columns of
// their tables), operations join those of their operands, memory gives the label of the address at
// best. Control decides too: where the two ways of a varying branch meet, what they wrote differs
// between those who come from here and from there; and what a loop wrote differs between those who
// left it in different rounds.
#pragma once
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

/// How a branch varies, of what is before it.
Uniform branch_label(const JumpIf &branch, const Uniformity::Row &before);

Uniformity find_uniformity(const Program &program, const Object &object, const Facts &facts);

}  // namespace egpu::bpf
