// Into how many copies a map's values are split, and how large its block gets.
//
// An add-only map has one copy of its values per SM, because one hot cache line costs a factor of
// four and a line per SM costs nothing (docs/facts.md, 2). Copies cost memory, on the device and
// in the snapshot; past kShardBudgetBytes the largest maps keep one copy. PERCPU maps are not
// asked: their copies are their meaning.
#pragma once
#include <cstdint>
#include <vector>

#include "egpu/bpf2ptx.h"

namespace egpu::map {

constexpr uint64_t kShardBudgetBytes = 256 << 20;

/// The block's size; an Error if the shape is not one that a map can have (also: too large).
Result<uint64_t> checked_block_bytes(const Shape &shape, uint32_t shard_count);

/// For each map its number of shards: sm_count or 1. `budget_bytes` bounds the sum of the blocks of
/// the maps that are sharded by our choice; smaller maps are served first.
Result<std::vector<uint32_t>> plan_shards(const std::vector<MapSpec> &maps, uint32_t sm_count,
                                          uint64_t budget_bytes = kShardBudgetBytes);

}  // namespace egpu::map
