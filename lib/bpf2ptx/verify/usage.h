// What a verified program uses on any of its paths: helpers, maps, fields of the context.
#pragma once
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

ProgramUse find_use(const Program &program, const Facts &facts);

}  // namespace egpu::bpf
