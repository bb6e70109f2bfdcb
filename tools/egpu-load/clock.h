// Host time as the GPU's probes and the snapshots give it: CLOCK_MONOTONIC, nanoseconds.
#pragma once
#include <cstdint>
#include <ctime>

namespace egpu::load {

inline uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace egpu::load
