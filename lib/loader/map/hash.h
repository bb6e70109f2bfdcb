// The hash function of hash maps: the same on the GPU (lib/bpf2ptx/lower emits it) and in
// host readers (this header).
//
// The key is taken as 32-bit little-endian words, the last one padded with zero bytes; each
// word is xored into the hash, which is then mixed by the 32-bit finaliser of MurmurHash3
// (a bijection: keys of at most 4 bytes never share a hash). Two multiplications per word.
// A key's first slot is hash modulo capacity; its state word carries hash & ~kSlotStateMask.
// Probing is linear.
#pragma once
#include <cstdint>

#include "lib/loader/map/layout.h"

namespace egpu::map {

constexpr uint32_t kHashSeed = 0x9e3779b9, kHashMultiplier1 = 0x85ebca6b, kHashMultiplier2 = 0xc2b2ae35;

constexpr uint32_t hash_mix(uint32_t h) {
  h ^= h >> 16;
  h *= kHashMultiplier1;
  h ^= h >> 13;
  h *= kHashMultiplier2;
  return h ^ (h >> 16);
}

constexpr uint32_t hash_key(const uint8_t *key, uint32_t key_size) {
  uint32_t hash = kHashSeed;
  for (uint32_t at = 0; at < key_size; at += 4) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 4 && at + i < key_size; ++i) word |= uint32_t{key[at + i]} << (8 * i);
    hash = hash_mix(hash ^ word);
  }
  return hash;
}

constexpr uint32_t hash_first_slot(uint32_t hash, const Shape &s) {
  return hash & static_cast<uint32_t>(hash_capacity(s) - 1);
}

}  // namespace egpu::map
