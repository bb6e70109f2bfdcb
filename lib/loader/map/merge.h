// From a map's raw block to its entries: find the full slots, add the shards.
//
// In: one map of a snapshot and the object's BTF. Out: entries in slot order, each with its key
// and value bytes as the probe's C types have them. A block that cannot be (wrong size, impossible
// counts) gives an Error that names the map.
#pragma once
#include <cstdint>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/map/btf.h"
#include "lib/loader/map/snapshot.h"

namespace egpu::map {

struct Entry {
  std::vector<uint8_t> key, value;
  int shard = -1;  // SM number in a map that is shown per SM
};

struct HashStatus {
  uint32_t count = 0;    // entries
  uint32_t dropped = 0;  // inserts refused because the map was full
};

/// One integer inside a value, to be added on its own.
struct SumField {
  uint32_t offset, width;  // width: 1, 2, 4 or 8 bytes
};

/// The integers that a value of this type consists of. Error: it has parts that cannot be added
/// (floats, unions, bit fields), or the type does not describe `value_bytes` bytes.
Result<std::vector<SumField>> sum_fields(const Btf &btf, uint32_t type_id, uint32_t value_bytes);

/// All entries. `skip_zero` leaves out values that are zero throughout, where a zero value and no
/// value are the same thing to the reader: elements of arrays and SMs of per-SM maps.
Result<std::vector<Entry>> entries(const MapData &map, const Btf &btf, bool skip_zero);

/// For a hash map; all zero for others.
Result<HashStatus> hash_status(const MapData &map);

}  // namespace egpu::map
