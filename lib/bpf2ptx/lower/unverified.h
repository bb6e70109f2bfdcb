// Facts about a program that nobody verified, for tests of the instruction set.
//
// Such a program may do what the verifier refuses: misaligned accesses, dead code, division
// by a constant 0. Every address is a device address of which nothing is known, its stack too: the
// frames lie in a map that the caller provides. Helpers are refused, because their arguments
// need facts. Never for programs of users: nothing keeps such a program in its memory.
#pragma once
#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

/// `stack_map`: index of a map whose value 0 has room for 8 frames of 512 bytes. Error: the program
/// calls a helper, leaves a function by a jump or by running off its end.
Result<Facts> unverified_facts(const Program &program, int stack_map);

}  // namespace egpu::bpf
