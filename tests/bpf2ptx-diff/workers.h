// A range of seeds, shared out in batches among processes.
//
// Worker w of n takes batches w, w + n, w + 2n, ... Processes, not threads: what a wrong translation does
// to one, it does not do to the rest, and CUDA compiles in several processes at once. Before each batch a
// worker says which, so that one that dies can be named. Progress goes to stderr.
#pragma once
#include <cstdint>
#include <functional>

#include "egpu/result.h"

namespace egpu::bpf::run {

struct Seeds {
  uint64_t first, count;
};

struct Tally {
  uint64_t programs = 0, compared = 0, insns = 0;
};

/// One batch. Error: what went wrong; the worker ends with it.
using Work = std::function<Result<Tally>(Seeds)>;

/// The sum of all batches. `open` makes the work, once in each worker. Error: how many workers failed; each
/// has printed its reason to stderr.
Result<Tally> share_out(Seeds seeds, uint64_t batch, unsigned workers,
                        const std::function<Result<Work>()> &open);

}  // namespace egpu::bpf::run
