// Functions that kernels call and that the machine itself provides.
#pragma once
#include <string_view>

#include "lib/sim/machine/exec.h"

namespace egpu::sim {

/// 0: not provided.
int find_builtin(std::string_view name);
void call_builtin(Exec &x, const CallSite &site, uint32_t lanes);

}  // namespace egpu::sim
