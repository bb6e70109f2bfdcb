// Kernels and sites before anything runs: -l, --dry-run, and the check that something matches.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/ptx/patch.h"
#include "tools/egpu-load/options.h"
#include "tools/egpu-load/output.h"

namespace egpu::load {

/// Error: no kernel matches any of the probes; names near ones.
Result<Ok> some_match(const std::set<std::string> &kernels, const std::vector<ptx::Probe> &probes);

/// Prints kernels that match options.list_glob: a line each; with probes, their sites below.
Result<Ok> list_kernels(const Options &options, const std::vector<ptx::Probe> &probes);

}  // namespace egpu::load
