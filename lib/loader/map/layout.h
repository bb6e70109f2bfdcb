// Where the parts of a map lie in its block of device memory.
//
// One block per map, allocated zeroed by the agent. The code that lib/bpf2ptx/lower
// emits, the agent's snapshot and the readers (tools/egpu-map) all compute offsets
// from these functions and from nothing else. All sizes and offsets are bytes.
//
//   ARRAY, PERCPU_ARRAY   shards of values: value i of shard s at s*shard_bytes + i*value_stride
//   HASH, PERCPU_HASH     HashHeader | u32 state[capacity] | keys | shards of values
//   RINGBUF ("printk")    PrintkHeader | PrintkRecord[max_entries]
//
// A shard is one SM's copy of the values. A map that is not sharded has one shard;
// the GPU code then runs with a stride of 0.
#pragma once
#include <cstdint>

namespace egpu::map {

enum class Type : uint32_t { hash = 1, array = 2, percpu_hash = 5, percpu_array = 6, ringbuf = 27 };

struct Shape {
  Type type;
  uint32_t key_size, value_size, max_entries;
};

// The two words at the start of a hash map's block.
struct HashHeader {
  uint32_t count;    // slots that are full
  uint32_t dropped;  // inserts refused because the table was full
};

// A slot's state word. A slot goes empty -> busy -> full; the key and the first value are
// written while busy and published by a release store of full. The upper 30 bits hold the
// hash's upper 30 bits, so that a probe passes other keys' slots without reading keys.
constexpr uint32_t kSlotEmpty = 0, kSlotBusy = 1, kSlotFull = 2, kSlotDeleted = 3, kSlotStateMask = 3;

// Records of bpf_trace_printk. A producer takes a position by compare-and-swap on head while
// head - tail < capacity, else adds 1 to dropped; it writes the record and publishes it by
// a release store of sequence = position + 1. The reader advances tail.
struct PrintkHeader {
  uint64_t head, tail, dropped, reserved;
};
struct PrintkRecord {
  uint64_t sequence;       // position + 1 once the record is complete
  uint64_t time_ns;        // CLOCK_MONOTONIC
  uint32_t map, offset;    // where the format string lies: index of the .rodata map, offset in it
  uint32_t kernel, site;
  uint32_t argument_count, reserved;
  uint64_t arguments[3];
};
static_assert(sizeof(PrintkRecord) == 64 && sizeof(PrintkHeader) == 32);

constexpr uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

constexpr bool is_hash(Type t) { return t == Type::hash || t == Type::percpu_hash; }
constexpr bool is_percpu(Type t) { return t == Type::percpu_hash || t == Type::percpu_array; }

constexpr uint64_t key_stride(const Shape &s) { return round_up(s.key_size, 8); }
constexpr uint64_t value_stride(const Shape &s) { return round_up(s.value_size, 8); }

// Slots of a hash table: a power of two, at most half full when max_entries are in it.
constexpr uint64_t hash_capacity(const Shape &s) {
  uint64_t n = 16;
  while (n < 2 * uint64_t{s.max_entries}) n *= 2;
  return n;
}

constexpr uint64_t hash_states_offset() { return 128; }
constexpr uint64_t hash_keys_offset(const Shape &s) {
  return round_up(hash_states_offset() + 4 * hash_capacity(s), 128);
}

// Offset of shard 0's values.
constexpr uint64_t values_offset(const Shape &s) {
  if (!is_hash(s.type)) return 0;
  return round_up(hash_keys_offset(s) + key_stride(s) * hash_capacity(s), 128);
}

// Distance between two shards; a multiple of 128 so that shards share no cache line.
constexpr uint64_t shard_bytes(const Shape &s) {
  uint64_t slots = is_hash(s.type) ? hash_capacity(s) : s.max_entries;
  return round_up(slots * value_stride(s), 128);
}

constexpr uint64_t block_bytes(const Shape &s, uint32_t shard_count) {
  if (s.type == Type::ringbuf) return sizeof(PrintkHeader) + uint64_t{s.max_entries} * sizeof(PrintkRecord);
  return values_offset(s) + shard_bytes(s) * shard_count;
}

}  // namespace egpu::map
