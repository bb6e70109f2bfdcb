// The names that Linux gives to helper functions, by number.
#pragma once
#include <cstdint>
#include <string>

namespace egpu::bpf {

/// "bpf_map_lookup_elem" for 1, "gpu_cookie" for 0x6001; empty if nobody uses the number.
std::string helper_name(int32_t id);

}  // namespace egpu::bpf
