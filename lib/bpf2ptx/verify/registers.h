// The registers of a state as text, for refusals with -v.
#pragma once
#include <string>
#include <vector>

#include "egpu/bpf2ptx.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {

/// "r0 = a value of 'counts' or NULL, r6 = 0 to 31, r10 = stack" for the innermost frame; registers
/// that hold nothing are left out.
std::string describe_registers(const State &state, const std::vector<MapSpec> &maps);

}  // namespace egpu::bpf
