#include "lib/loader/map/merge.h"

#include <linux/btf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "lib/loader/map/layout.h"
#include "lib/loader/map/shards.h"

namespace egpu::map {
namespace {

constexpr int kMaxFieldDepth = 32;

// Walks a type and lists its integers; every integer has at least a byte of its own, so their
// number is bounded by the value's size even if the type is made to explode.
class FieldLister {
 public:
  FieldLister(const Btf &btf, uint32_t value_bytes) : btf_(btf), value_bytes_(value_bytes) {}

  Result<Ok> visit(uint32_t id, uint64_t offset, int depth) {
    id = btf_.resolve(id);
    const Btf::Type &type = btf_.type(id);
    // Empty structs cost no bytes, so steps are counted too.
    if (depth > kMaxFieldDepth || ++steps_ > 4 * uint64_t{value_bytes_} + 1000) return Error{"types are nested too deeply"};
    switch (type.kind) {
      case BTF_KIND_INT:
      case BTF_KIND_ENUM:
      case BTF_KIND_ENUM64:
      case BTF_KIND_PTR:
        return add(offset, btf_.size_of(id));
      case BTF_KIND_STRUCT:
      case BTF_KIND_DATASEC:
        return visit_members(type, offset, depth);
      case BTF_KIND_ARRAY:
        return visit_elements(type, offset, depth);
      default:
        return Error{"a value of type '" + btf_.c_name(id) + "' cannot be added up"};
    }
  }

  std::vector<SumField> fields;

 private:
  Result<Ok> add(uint64_t offset, uint64_t width) {
    if (width != 1 && width != 2 && width != 4 && width != 8) return Error{"integer of unusual size"};
    if (offset > value_bytes_ || width > value_bytes_ - offset || fields.size() >= value_bytes_)
      return Error{"type is larger than the map's value"};
    fields.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(width)});
    return Ok{};
  }

  Result<Ok> visit_members(const Btf::Type &type, uint64_t offset, int depth) {
    for (const Btf::Member &member : type.members) {
      if (member.bit_size != 0 || member.bit_offset % 8 != 0)
        return Error{"bit field '" + member.name + "' cannot be added up"};
      TRY(std::ignore, visit(member.type, offset + member.bit_offset / 8, depth + 1));
    }
    return Ok{};
  }

  Result<Ok> visit_elements(const Btf::Type &type, uint64_t offset, int depth) {
    uint64_t bytes = btf_.size_of(type.referred);
    if (bytes == 0 || type.count > value_bytes_ / bytes) return Error{"type is larger than the map's value"};
    for (uint32_t i = 0; i < type.count; i++) {
      TRY(std::ignore, visit(type.referred, offset + i * bytes, depth + 1));
    }
    return Ok{};
  }

  const Btf &btf_;
  uint32_t value_bytes_;
  uint64_t steps_ = 0;
};

template <class T>
void add_integer(uint8_t *to, const uint8_t *from) {
  T a, b;
  std::memcpy(&a, to, sizeof a);
  std::memcpy(&b, from, sizeof b);
  a = static_cast<T>(a + b);
  std::memcpy(to, &a, sizeof a);
}

void add_value(const std::vector<SumField> &fields, const uint8_t *from, uint8_t *to) {
  for (const SumField &f : fields) {
    switch (f.width) {
      case 1:
        add_integer<uint8_t>(to + f.offset, from + f.offset);
        break;
      case 2:
        add_integer<uint16_t>(to + f.offset, from + f.offset);
        break;
      case 4:
        add_integer<uint32_t>(to + f.offset, from + f.offset);
        break;
      default:
        add_integer<uint64_t>(to + f.offset, from + f.offset);
        break;
    }
  }
}

bool is_zero(const uint8_t *bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [](uint8_t b) { return b == 0; });
}

// Appends the entries of slot `slot`: one, or one per shard.
struct SlotReader {
  const MapData &map;
  const std::vector<SumField> &fields;
  bool per_shard, skip_zero;

  void read(uint64_t slot, std::vector<uint8_t> key, std::vector<Entry> *out) const {
    const Shape &shape = map.spec.shape;
    const uint8_t *value = map.block.data() + values_offset(shape) + slot * value_stride(shape);
    const uint64_t stride = shard_bytes(shape);
    if (per_shard) {
      for (uint32_t s = 0; s < map.shard_count; s++, value += stride)
        if (!skip_zero || !is_zero(value, shape.value_size))
          out->push_back({key, {value, value + shape.value_size}, static_cast<int>(s)});
      return;
    }
    Entry entry{std::move(key), {value, value + shape.value_size}, -1};
    for (uint32_t s = 1; s < map.shard_count; s++) add_value(fields, value + s * stride, entry.value.data());
    if (skip_zero && !is_hash(shape.type) && is_zero(entry.value.data(), entry.value.size())) return;
    out->push_back(std::move(entry));
  }
};

Result<Ok> check_block(const MapData &map) {
  auto bytes = checked_block_bytes(map.spec.shape, map.shard_count);
  if (!bytes) return std::move(bytes).error().in("map " + map.spec.name);
  if (map.block.size() != *bytes)
    return Error{"map " + map.spec.name + ": has " + std::to_string(map.block.size()) + " bytes instead of " +
                 std::to_string(*bytes)};
  return Ok{};
}

}  // namespace

Result<std::vector<SumField>> sum_fields(const Btf &btf, uint32_t type_id, uint32_t value_bytes) {
  if (type_id == 0) return Error{"has no type information, so its copies cannot be added up"};
  FieldLister lister(btf, value_bytes);
  TRY(std::ignore, lister.visit(type_id, 0, 0));
  return std::move(lister.fields);
}

Result<HashStatus> hash_status(const MapData &map) {
  HashStatus status;
  if (!is_hash(map.spec.shape.type)) return status;
  TRY(std::ignore, check_block(map));
  HashHeader header;
  std::memcpy(&header, map.block.data(), sizeof header);
  if (header.count > hash_capacity(map.spec.shape))
    return Error{"map " + map.spec.name + ": is damaged: " + std::to_string(header.count) + " entries in " +
                 std::to_string(hash_capacity(map.spec.shape)) + " slots"};
  return HashStatus{header.count, header.dropped};
}

Result<std::vector<Entry>> entries(const MapData &map, const Btf &btf, bool skip_zero) {
  const Shape &shape = map.spec.shape;
  if (shape.type == Type::ringbuf)
    return Error{"map " + map.spec.name + ": is a ring buffer, it has no entries"};
  TRY(std::ignore, check_block(map));
  bool per_shard = map.shard_count > 1 && !map.spec.summed;
  std::vector<SumField> fields;
  if (map.shard_count > 1 && !per_shard) {
    auto listed = sum_fields(btf, map.spec.value_type_id, shape.value_size);
    if (!listed) return std::move(listed).error().in("map " + map.spec.name);
    fields = *std::move(listed);
  }
  SlotReader reader{map, fields, per_shard, skip_zero};
  std::vector<Entry> out;
  if (!is_hash(shape.type)) {
    for (uint32_t i = 0; i < shape.max_entries; i++) {
      auto *p = reinterpret_cast<const uint8_t *>(&i);
      reader.read(i, {p, p + sizeof i}, &out);
    }
    return out;
  }
  TRY(std::ignore, hash_status(map));
  const uint8_t *states = map.block.data() + hash_states_offset();
  const uint8_t *keys = map.block.data() + hash_keys_offset(shape);
  for (uint64_t slot = 0; slot < hash_capacity(shape); slot++) {
    uint32_t state = 0;
    std::memcpy(&state, states + slot * sizeof state, sizeof state);
    if ((state & kSlotStateMask) != kSlotFull) continue;
    const uint8_t *key = keys + slot * key_stride(shape);
    reader.read(slot, {key, key + shape.key_size}, &out);
  }
  return out;
}

}  // namespace egpu::map
