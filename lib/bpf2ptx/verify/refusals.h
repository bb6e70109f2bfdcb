// Refusals of one program or object: one per cause, in the order of the source.
#pragma once
#include <vector>

#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

// More than this are not shown, and a program's are not looked for.
constexpr size_t kMaxRefusals = 10;

/// Do both say the same at the same place? So do the copies of an inlined function.
bool same_cause(const Refusal &a, const Refusal &b);

/// One text of all refusals, by source position; equal ones once, and the number of those that
/// are too many. Precondition: there is at least one.
Error join(std::vector<Refusal> refusals);

}  // namespace egpu::bpf
