#include "lib/bpf2ptx/object/maps.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>

namespace egpu::bpf {
namespace {

constexpr uint32_t kPrintkRecords = 4096;
constexpr uint64_t kMaxKeyBytes = 512, kMaxValueBytes = 65536, kMaxBlockBytes = uint64_t{1} << 32;

struct TypeRow {
  bpf_map_type type;
  const char *name;
  bool supported;
};
constexpr std::array kTypes = {
    TypeRow{BPF_MAP_TYPE_HASH, "HASH", true},
    TypeRow{BPF_MAP_TYPE_ARRAY, "ARRAY", true},
    TypeRow{BPF_MAP_TYPE_PERCPU_HASH, "PERCPU_HASH", true},
    TypeRow{BPF_MAP_TYPE_PERCPU_ARRAY, "PERCPU_ARRAY", true},
    TypeRow{BPF_MAP_TYPE_LRU_HASH, "LRU_HASH", false},
    TypeRow{BPF_MAP_TYPE_RINGBUF, "RINGBUF", false},
};

Result<Ok> check_shape(const bpf_map *map, const MapSpec &spec) {
  const map::Shape &shape = spec.shape;
  const TypeRow *row = nullptr;
  for (const TypeRow &candidate : kTypes)
    if (candidate.type == static_cast<bpf_map_type>(shape.type)) row = &candidate;
  if (!row)
    return Error{"map type " + std::to_string(static_cast<uint32_t>(shape.type)) +
                 " is not supported; use ARRAY, HASH, PERCPU_ARRAY or PERCPU_HASH"};
  if (!row->supported)
    return Error{std::string("map type ") + row->name +
                 " is not supported yet; use ARRAY, HASH, PERCPU_ARRAY or PERCPU_HASH"};
  bool array = !map::is_hash(shape.type);
  if (shape.max_entries == 0) return Error{"max_entries is 0"};
  if (array && shape.key_size != 4) return Error{"the key of an array must have 4 bytes"};
  if (shape.key_size == 0 || shape.key_size > kMaxKeyBytes)
    return Error{"key of " + std::to_string(shape.key_size) + " bytes; 1 to 512 are possible"};
  if (shape.value_size == 0) return Error{"value of 0 bytes"};
  if (shape.value_size > kMaxValueBytes && !bpf_map__is_internal(map))
    return Error{"value of " + std::to_string(shape.value_size) + " bytes; 1 to 65536 are possible"};
  if (shape.max_entries > (1u << 30) || map::block_bytes(shape, 1) > kMaxBlockBytes)
    return Error{"the map would take more than 4 GiB; lower max_entries"};
  constexpr uint32_t kHarmless = BPF_F_NO_PREALLOC;
  if (!bpf_map__is_internal(map) && (bpf_map__map_flags(map) & BPF_F_MMAPABLE))
    return Error{"map_flags BPF_F_MMAPABLE is not supported yet"};
  if (uint32_t rest = bpf_map__map_flags(map) & ~(kHarmless | BPF_F_MMAPABLE | BPF_F_RDONLY_PROG); rest != 0)
    return Error{"map_flags " + std::to_string(rest) + " is not supported"};
  return Ok{};
}

// The variable of the map's definition carries the tag "unit:TEXT".
std::string unit_of(const btf *types, const std::string &map_name) {
  for (uint32_t id = 1; id < btf__type_cnt(types); ++id) {
    const btf_type *tag = btf__type_by_id(types, id);
    if (!btf_is_decl_tag(tag) || btf_decl_tag(tag)->component_idx != -1) continue;
    const btf_type *var = btf__type_by_id(types, tag->type);
    std::string text = btf__name_by_offset(types, tag->name_off);
    if (var && btf_is_var(var) && map_name == btf__name_by_offset(types, var->name_off) &&
        text.starts_with("unit:"))
      return text.substr(5);
  }
  return "";
}

}  // namespace

Result<std::vector<MapSpec>> read_maps(bpf_object *object) {
  const btf *types = bpf_object__btf(object);
  std::vector<MapSpec> maps;
  bpf_map *map = nullptr;
  bpf_object__for_each_map(map, object) {
    MapSpec spec;
    spec.name = bpf_map__name(map);
    // libbpf names a data section's map OBJECT.SECTION, sections begin with a dot.
    if (bpf_map__is_internal(map)) spec.name.erase(0, std::min(spec.name.find('.'), spec.name.size()));
    spec.shape = {static_cast<map::Type>(bpf_map__type(map)), bpf_map__key_size(map),
                  bpf_map__value_size(map), bpf_map__max_entries(map)};
    if (auto fine = check_shape(map, spec); !fine)
      return std::move(fine).error().in("map '" + spec.name + "'");
    spec.key_type_id = bpf_map__btf_key_type_id(map);
    spec.value_type_id = bpf_map__btf_value_type_id(map);
    spec.unit = unit_of(types, spec.name);
    if (bpf_map__is_internal(map)) {
      spec.read_only = spec.internal = spec.name.starts_with(".rodata");
      spec.key_type_id = 0;
      int id = btf__find_by_name_kind(types, spec.name.c_str(), BTF_KIND_DATASEC);
      spec.value_type_id = id > 0 ? static_cast<uint32_t>(id) : 0;
      size_t size_bytes = 0;
      if (const void *data = bpf_map__initial_value(map, &size_bytes)) {
        const auto *bytes = static_cast<const uint8_t *>(data);
        spec.initial.assign(bytes, bytes + std::min<size_t>(size_bytes, spec.shape.value_size));
      }
      bool zeros = std::all_of(spec.initial.begin(), spec.initial.end(), [](uint8_t b) { return b == 0; });
      if (zeros && !spec.read_only) spec.initial.clear();
      if (spec.read_only) spec.initial.resize(spec.shape.value_size);
    }
    maps.push_back(std::move(spec));
  }
  return maps;
}

MapSpec printk_map() {
  MapSpec spec;
  spec.name = "printk";
  spec.shape = {map::Type::ringbuf, 0, 0, kPrintkRecords};
  spec.internal = true;
  return spec;
}

}  // namespace egpu::bpf
