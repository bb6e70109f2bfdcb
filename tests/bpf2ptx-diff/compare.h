// Runs jobs on the interpreter and on other machines, and finds the jobs on which they differ; and makes
// such a job small.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/tools/machines.h"

namespace egpu::bpf::run {

struct Difference {
  size_t job;  // index
  std::string text;
};

struct Comparison {
  std::vector<Difference> differences;
  size_t compared = 0;  // the rest was refused by the verifier
};

/// All jobs in one batch per machine.
Comparison compare(const std::vector<Job> &jobs, const std::vector<Machine> &machines);

/// The smallest job found, by leaving out instructions, for which `fails` still holds.
Job shrink(const Job &job, const std::function<bool(const Job &)> &fails);

/// A difference with the job as small as it can be made: seed, what the machines say, instructions, memory.
std::string report(const Job &job, uint64_t seed, const Difference &difference,
                   const std::vector<Machine> &machines);

/// Its instructions and memory.
std::string listing(const Job &job);

}  // namespace egpu::bpf::run
