#include "lib/loader/map/shards.h"

#include <algorithm>
#include <numeric>

#include "lib/loader/map/snapshot_format.h"

namespace egpu::map {
namespace {

// A key lies on the 512-byte eBPF stack; values and entries are bounded so that no size below overflows.
constexpr uint32_t kMaxKeyBytes = 512, kMaxValueBytes = 64 << 20, kMaxEntries = 1 << 28;

bool is_known(Type type) {
  switch (type) {
    case Type::hash:
    case Type::array:
    case Type::percpu_hash:
    case Type::percpu_array:
    case Type::ringbuf:
      return true;
  }
  return false;
}

bool is_split_by_choice(const MapSpec &map) {
  return map.sharded && !is_percpu(map.shape.type) && map.shape.type != Type::ringbuf;
}

}  // namespace

Result<uint64_t> checked_block_bytes(const Shape &shape, uint32_t shard_count) {
  if (!is_known(shape.type))
    return Error{"unknown map type " + std::to_string(static_cast<uint32_t>(shape.type))};
  if (shard_count < 1 || shard_count > format::kMaxShards)
    return Error{"impossible number of shards: " + std::to_string(shard_count)};
  if (shape.max_entries < 1 || shape.max_entries > kMaxEntries)
    return Error{"max_entries is " + std::to_string(shape.max_entries) + ", not 1 to " +
                 std::to_string(kMaxEntries)};
  if (shape.type != Type::ringbuf) {
    if (shape.key_size < 1 || shape.key_size > kMaxKeyBytes)
      return Error{"key of " + std::to_string(shape.key_size) + " bytes, not 1 to " +
                   std::to_string(kMaxKeyBytes)};
    if (shape.value_size < 1 || shape.value_size > kMaxValueBytes)
      return Error{"value of " + std::to_string(shape.value_size) + " bytes, not 1 to " +
                   std::to_string(kMaxValueBytes)};
    if (!is_hash(shape.type) && shape.key_size != 4)
      return Error{"key of an array is 4 bytes, not " + std::to_string(shape.key_size)};
  }
  // 2^29 slots of 2^26 bytes fit 64 bits; their product with the shards might not.
  if (shape.type != Type::ringbuf && shard_bytes(shape) > format::kMaxBlocksBytes / shard_count)
    return Error{"needs more than " + std::to_string(format::kMaxBlocksBytes >> 30) + " GiB"};
  uint64_t bytes = block_bytes(shape, shard_count);
  if (bytes > format::kMaxBlocksBytes)
    return Error{"needs more than " + std::to_string(format::kMaxBlocksBytes >> 30) + " GiB"};
  return bytes;
}

Result<std::vector<uint32_t>> plan_shards(const std::vector<MapSpec> &maps, uint32_t sm_count,
                                          uint64_t budget_bytes) {
  if (sm_count < 1 || sm_count > format::kMaxShards)
    return Error{"a device with " + std::to_string(sm_count) + " SMs is not known"};
  std::vector<uint32_t> counts(maps.size(), 1);
  std::vector<size_t> order(maps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto weight = [](const Shape &s) {
      return uint64_t{s.max_entries} * (uint64_t{s.key_size} + s.value_size);
    };
    return weight(maps[a].shape) < weight(maps[b].shape);
  });
  uint64_t used = 0;
  for (size_t i : order) {
    const MapSpec &map = maps[i];
    if (is_percpu(map.shape.type)) counts[i] = sm_count;
    if (!is_split_by_choice(map)) continue;
    auto bytes = checked_block_bytes(map.shape, sm_count);
    if (!bytes || *bytes > budget_bytes - used) continue;
    counts[i] = sm_count;
    used += *bytes;
  }
  return counts;
}

}  // namespace egpu::map
