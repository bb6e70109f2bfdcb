// Probes compiled to real BTF, and map contents written by hand as the GPU would write them.
#pragma once
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/loader/map/layout.h"
#include "lib/loader/map/snapshot.h"

namespace egpu::map {

inline bool have_clang() { return std::system("clang-19 --version >/dev/null 2>&1") == 0; }

/// Compiles a probe; `source` is C text, or the bare name of a probe in probes/.
inline Result<bpf::Object> compile_for_test(const std::string &source) {
  char directory[] = "/tmp/egpu-map-test-XXXXXX";
  if (!mkdtemp(directory)) return Error{"mkdtemp"};
  const std::string root = EGPU_SOURCE_DIR, dir = directory;
  std::string c_file = root + "/probes/" + source + ".bpf.c";
  if (source.find('\n') != std::string::npos) {
    c_file = dir + "/probe.bpf.c";
    std::ofstream(c_file) << source;
  }
  std::string command = "clang-19 -target bpf -mcpu=v3 -O2 -g -I" + root + "/include -I/usr/include -c " +
                        c_file + " -o " + dir + "/probe.bpf.o";
  int status = std::system(command.c_str());
  std::ifstream file(dir + "/probe.bpf.o", std::ios::binary);
  std::vector<uint8_t> elf((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove_all(dir);
  if (status != 0) return Error{"clang-19 failed on " + c_file};
  return bpf::read_object("probe.bpf.o", elf, {});
}

/// A session of a GPU with `sm_count` SMs in which nothing has happened yet. As compile_object
/// decides it, maps that are not PERCPU and not constant are sharded and summed.
inline Snapshot fake_snapshot(const bpf::Object &object, uint32_t sm_count) {
  Snapshot snapshot;
  snapshot.session = {4711, "./vecadd", object.name, "Test GPU", sm_count, 9, 0, 1000};
  snapshot.btf = object.btf;
  for (MapSpec spec : object.maps) {
    bool ring = spec.shape.type == Type::ringbuf;
    spec.sharded = !spec.read_only && !ring;
    spec.summed = spec.sharded && !is_percpu(spec.shape.type);
    MapData data{spec, spec.sharded ? sm_count : 1, {}};
    data.block.resize(block_bytes(spec.shape, data.shard_count));
    std::copy(spec.initial.begin(), spec.initial.end(), data.block.begin());
    snapshot.maps.push_back(std::move(data));
  }
  return snapshot;
}

inline MapData *find_map(Snapshot *snapshot, const std::string &name) {
  for (MapData &map : snapshot->maps)
    if (map.spec.name == name) return &map;
  return nullptr;
}

/// Where element or slot `index` of a shard has its value.
inline uint8_t *value_at(MapData *map, uint64_t index, uint32_t shard = 0) {
  const Shape &s = map->spec.shape;
  return map->block.data() + values_offset(s) + shard * shard_bytes(s) + index * value_stride(s);
}

/// The slot of the key in a hash map, inserted if need be (not where the GPU's hash would put it;
/// readers must not care).
template <class Key>
uint64_t insert_key(MapData *map, const Key &key) {
  const Shape &s = map->spec.shape;
  auto *states = reinterpret_cast<uint32_t *>(map->block.data() + hash_states_offset());
  uint8_t *keys = map->block.data() + hash_keys_offset(s);
  for (uint64_t slot = 3 % hash_capacity(s);; slot = (slot + 1) % hash_capacity(s)) {
    uint8_t *place = keys + slot * key_stride(s);
    if ((states[slot] & kSlotStateMask) == kSlotFull && std::memcmp(place, &key, sizeof key) == 0)
      return slot;
    if (states[slot] != kSlotEmpty) continue;
    states[slot] = 0xabcdef00 | kSlotFull;
    std::memcpy(place, &key, sizeof key);
    reinterpret_cast<HashHeader *>(map->block.data())->count++;
    return slot;
  }
}

/// Adds to the u64 at `offset` of the value, as an atomic of the GPU does in its SM's copy.
inline void add_u64(MapData *map, uint64_t index, uint32_t shard, size_t offset, uint64_t n) {
  uint8_t *p = value_at(map, index, shard) + offset;
  uint64_t old;
  std::memcpy(&old, p, sizeof old);
  old += n;
  std::memcpy(p, &old, sizeof old);
}

}  // namespace egpu::map
