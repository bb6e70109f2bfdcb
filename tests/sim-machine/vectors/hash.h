// FNV-1a, and random numbers (splitmix64): the same everywhere, so that a GPU's results and the
// simulator's are of the same inputs.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace egpu::vectors {

inline constexpr uint64_t kHashOfNothing = 0xCBF29CE484222325u;

inline uint64_t hash(std::string_view text, uint64_t value = kHashOfNothing) {
  for (char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return value;
}

inline uint64_t hash(const std::vector<uint64_t> &words, uint64_t value = kHashOfNothing) {
  for (uint64_t word : words)
    for (int shift = 0; shift < 64; shift += 8) value = (value ^ (word >> shift & 255)) * 0x100000001B3u;
  return value;
}

inline uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

}  // namespace egpu::vectors
