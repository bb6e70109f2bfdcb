// What the test programs run in: an object with a few maps, and an interpreter with memory,
// maps and helpers whose contents come from a seed.
#pragma once
#include <memory>
#include <random>
#include <string>

#include "lib/bpf2ptx/insn/assemble.h"
#include "lib/bpf2ptx/interp/interp.h"
#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/claims.h"

namespace egpu::bpf::test {

/// Maps: array (16 values of 64 bytes), one (1 of 8), hash (key 8, value 16), percpu (1 of 8),
/// wide (key 16, value 256), rodata (64 bytes, see kRodata in world.cc), bss (32 bytes), printk.
const Object &object();

/// A program of the text; `event` is a section name.
Result<Program> make_program(const std::string &text, const std::string &event);

/// Runs a verified program with contents from the seed, strictly, and compares every register
/// with its claim before every instruction. Error: what went wrong.
Result<uint64_t> run_checked(const Program &program, const Claims &claims, const Facts &facts, uint64_t seed);

}  // namespace egpu::bpf::test
