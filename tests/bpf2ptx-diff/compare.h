// Runs jobs on the interpreter, this processor and the simulated GPU, and finds the jobs on which
// they differ; and makes such a job small.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/tools/job.h"

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
Comparison compare(const std::vector<Job> &jobs);

/// The smallest job found, by leaving out instructions, for which `fails` still holds.
Job shrink(const Job &job, const std::function<bool(const Job &)> &fails);

/// Its instructions and memory.
std::string listing(const Job &job);

}  // namespace egpu::bpf::run
