// Where divergence is unsafe: a helper that asks all lanes of the warp at once. If the lanes may have
// parted before, its result depends on how the hardware groups them, which it may do in any way.
#pragma once
#include <vector>

#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/message.h"

namespace egpu::bpf {

/// One for each call of such a helper that not all lanes may reach together, or that one lane makes
/// alone. Needs facts.uniformity.
std::vector<Refusal> find_partings(const Program &program, const Facts &facts, const Messages &messages);

}  // namespace egpu::bpf
