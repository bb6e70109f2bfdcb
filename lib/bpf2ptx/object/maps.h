// The object's maps, the global data sections among them, as MapSpecs.
#pragma once
#include <vector>

#include "egpu/bpf2ptx.h"

struct bpf_object;

namespace egpu::bpf {

/// Maps in the order of libbpf's map indices, which linked instructions use.
Result<std::vector<MapSpec>> read_maps(bpf_object *object);

/// The ring that bpf_trace_printk writes to; it is added last.
MapSpec printk_map();

}  // namespace egpu::bpf
