// Random programs for comparing machines, valid by construction, but for one in a hundred that the verifier must
// refuse: an index that is too large on one path.
//
// A program mixes every kind of instruction: arithmetic of both widths, byte swaps, loads and
// stores of all sizes through fixed and computed offsets, atomics on memory and stack, branches,
// switches, indices that branches bound, spilled pointers, counted loops, local calls, bpf_loop. Its numbers come from its memory (r1, kMemoryBytes), which the
// optimiser cannot see, and all of its registers end up in r0, so that no instruction is idle.
#pragma once
#include <random>
#include <vector>

#include "tests/tools/job.h"

namespace egpu::bpf::run {

constexpr int kMemoryBytes = 128;

/// The job of a seed: always the same for the same seed.
Job generate(uint64_t seed);

}  // namespace egpu::bpf::run
