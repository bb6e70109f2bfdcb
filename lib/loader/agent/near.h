// Memory for trampolines within reach of a 5-byte jump.
//
// A rel32 jump reaches 2 GiB. The loader puts libraries close together with gaps between them;
// stepping down blindly from the driver found none in several processes, the maps file always
// did, 5 to 27 MB away (facts.md, section 1).
#pragma once
#include <stdint.h>

namespace egpu::agent {

/// The address of the free range of `size_bytes` (whole pages) that is nearest to [low, high) and
/// within 2 GiB of all of it; 0 if there is none. `maps`: NUL-ended text in the format of
/// /proc/self/maps (proc(5)).
uint64_t find_gap(const char *maps, uint64_t low, uint64_t high, uint64_t size_bytes);

/// Maps `size_bytes` there, readable, writable and executable; anywhere if no gap can be had;
/// 0 if memory is short.
uint64_t map_near(uint64_t low, uint64_t high, uint64_t size_bytes);

}  // namespace egpu::agent
