// Which maps are kept in one copy per SM, decided over all programs of an object.
//
// A map is summed if programs change its values only by atomic adds whose result nobody
// reads, and read them not at all: then each SM can add to its own copy, and a reader sums.
// Creating an element with BPF_NOEXIST is allowed (the first value goes into one copy).
// PERCPU maps have one copy per SM by definition and are not summed.
#pragma once
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

/// Sets MapSpec::sharded and ::summed. `facts[i]` belongs to object->programs[i].
void decide_sharding(Object *object, const std::vector<Facts> &facts);

}  // namespace egpu::bpf
