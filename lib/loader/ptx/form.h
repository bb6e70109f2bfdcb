// Should a probe's body stand at its sites, or once as a function that the sites call?
//
// Copies cost instructions (time of ptxas, which grows faster than they do, and the GPU's
// instruction caches), calls cost time at every event and at least 24 registers, which the
// calling convention of PTX asks of a kernel. Measured, in docs/facts.md, section 2.
#pragma once
#include <cstddef>
#include <vector>

#include "lib/loader/ptx/patch.h"

namespace egpu::ptx {

// What one probe does to one kernel.
struct BodyUse {
  BodyForm asked = BodyForm::by_cost;
  size_t statements = 0;  // of its body
  size_t sites = 0;
};

/// For each use: is it to be called? The bodies that stay in the kernel have kInlineStatements
/// or fewer together, if calling can make them so: the largest users are called first.
std::vector<bool> choose_called(const std::vector<BodyUse> &uses);

constexpr size_t kInlineStatements = 4096;
/// A body of so few statements is no longer than its call.
constexpr size_t kCallStatements = 16;

}  // namespace egpu::ptx
