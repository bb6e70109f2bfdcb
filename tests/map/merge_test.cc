// Blocks to entries, with the types of the real probes.
#include "lib/loader/map/merge.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/map/fake_maps.h"

namespace egpu::map {
namespace {

#define COMPILE(object, source)                                    \
  if (!have_clang()) GTEST_SKIP() << "clang-19 is not installed";  \
  auto object##_result = compile_for_test(source);                 \
  ASSERT_TRUE(object##_result) << object##_result.error().message; \
  bpf::Object object = *std::move(object##_result)

uint64_t u64_at(const std::vector<uint8_t> &bytes, size_t offset = 0) {
  uint64_t n;
  std::memcpy(&n, bytes.data() + offset, sizeof n);
  return n;
}

TEST(Merge, HashValuesAreSummedOverShards) {
  COMPILE(object, "kcount");
  Snapshot snapshot = fake_snapshot(object, 7);
  MapData *map = find_map(&snapshot, "launches");
  auto btf = Btf::parse(snapshot.btf);
  ASSERT_TRUE(btf) << btf.error().message;
  for (uint32_t sm = 0; sm < 7; sm++) add_u64(map, insert_key(map, uint32_t{5}), sm, 0, sm + 1);
  add_u64(map, insert_key(map, uint32_t{9}), 3, 0, uint64_t{1} << 40);
  insert_key(map, uint32_t{11});  // a value of zero is still an entry
  // A slot that is being filled and one that was deleted are no entries.
  auto *states = reinterpret_cast<uint32_t *>(map->block.data() + hash_states_offset());
  states[100] = kSlotBusy, states[101] = kSlotDeleted;

  auto result = entries(*map, *btf, true);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->size(), 3u);
  EXPECT_EQ(u64_at((*result)[0].value), 28u);
  EXPECT_EQ((*result)[0].shard, -1);
  EXPECT_EQ((*result)[0].key, (std::vector<uint8_t>{5, 0, 0, 0}));
  EXPECT_EQ(u64_at((*result)[1].value), uint64_t{1} << 40);
  EXPECT_EQ(u64_at((*result)[2].value), 0u);
}

TEST(Merge, StructMembersAreSummedOnTheirOwn) {
  COMPILE(object, "smload");
  Snapshot snapshot = fake_snapshot(object, 3);
  MapData *map = find_map(&snapshot, "sms");
  auto btf = Btf::parse(snapshot.btf);
  for (uint32_t sm = 0; sm < 3; sm++) {
    add_u64(map, 17, sm, 0, 10);
    add_u64(map, 17, sm, 8, ~uint64_t{0} / 4);  // carries must not reach the neighbour
  }
  auto some = entries(*map, *btf, true);
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 1u);
  EXPECT_EQ((*some)[0].key[0], 17);
  EXPECT_EQ(u64_at((*some)[0].value), 30u);
  EXPECT_EQ(u64_at((*some)[0].value, 8), ~uint64_t{0} / 4 * 3);
  auto all = entries(*map, *btf, false);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 256u);
}

TEST(Merge, HistogramsAndGlobals) {
  COMPILE(object, "blockdur");
  Snapshot snapshot = fake_snapshot(object, 5);
  MapData *map = find_map(&snapshot, "duration");
  auto btf = Btf::parse(snapshot.btf);
  for (uint32_t sm = 0; sm < 5; sm++)
    for (size_t slot = 0; slot < 64; slot++) add_u64(map, 0, sm, 8 * slot, slot);
  auto result = entries(*map, *btf, false);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->size(), 1u);
  for (size_t slot = 0; slot < 64; slot++) EXPECT_EQ(u64_at((*result)[0].value, 8 * slot), 5 * slot);

  COMPILE(memheat, "memheat");
  Snapshot second = fake_snapshot(memheat, 5);
  auto second_btf = Btf::parse(second.btf);
  MapData *bss = find_map(&second, ".bss");
  ASSERT_NE(bss, nullptr);
  for (uint32_t sm = 0; sm < 5; sm++) add_u64(bss, 0, sm, 0, 2);
  result = entries(*bss, *second_btf, false);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(u64_at((*result)[0].value), 10u);
}

TEST(Merge, NarrowMembersDoNotCarry) {
  COMPILE(object, R"(
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
struct v { u32 a, b; u64 c; u8 d; u32 e[3]; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, u32); __type(value, struct v); } m SEC(".maps");
SEC("gpu/entry/*") int f(void *ctx) { u32 k = 0; return bpf_map_lookup_elem(&m, &k) != 0; }
)");
  Snapshot snapshot = fake_snapshot(object, 2);
  MapData *map = find_map(&snapshot, "m");
  auto btf = Btf::parse(snapshot.btf);
  auto fields = sum_fields(*btf, map->spec.value_type_id, map->spec.shape.value_size);
  ASSERT_TRUE(fields) << fields.error().message;
  EXPECT_EQ(fields->size(), 7u);
  for (uint32_t sm = 0; sm < 2; sm++) std::memset(value_at(map, 1, sm), 0xff, 24 + 4);
  auto result = entries(*map, *btf, true);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->size(), 1u);
  const auto &v = (*result)[0].value;
  EXPECT_EQ(u64_at(v), 0xfffffffefffffffeu);  // two u32, each -1 + -1
  EXPECT_EQ(u64_at(v, 8), 0xfffffffffffffffeu);
  EXPECT_EQ(v[16], 0xfe);
}

TEST(Merge, PerSmMapsGiveOneEntryPerShard) {
  COMPILE(object, R"(
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
struct { __uint(type, BPF_MAP_TYPE_PERCPU_HASH); __uint(max_entries, 4); __type(key, u32); __type(value, u64); } m SEC(".maps");
SEC("gpu/entry/*") int f(void *ctx) { u32 k = 0; return bpf_map_lookup_elem(&m, &k) != 0; }
)");
  Snapshot snapshot = fake_snapshot(object, 4);
  MapData *map = find_map(&snapshot, "m");
  auto btf = Btf::parse(snapshot.btf);
  uint64_t slot = insert_key(map, uint32_t{8});
  add_u64(map, slot, 1, 0, 100), add_u64(map, slot, 3, 0, 300);
  auto result = entries(*map, *btf, true);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->size(), 2u);
  EXPECT_EQ((*result)[0].shard, 1);
  EXPECT_EQ(u64_at((*result)[1].value), 300u);
  EXPECT_EQ(entries(*map, *btf, false)->size(), 4u);
}

TEST(Merge, WhatCannotBeAddedIsAnError) {
  COMPILE(object, "kcount");
  Snapshot snapshot = fake_snapshot(object, 7);
  auto btf = Btf::parse(snapshot.btf);
  MapData good = *find_map(&snapshot, "launches");
  struct Row {
    const char *name, *message;
    void (*damage)(MapData *);
  };
  const Row rows[] = {
      {"no type", "no type information", [](MapData *m) { m->spec.value_type_id = 0; }},
      {"unknown type", "cannot be added", [](MapData *m) { m->spec.value_type_id = 0x7fffffff; }},
      {"short block", "bytes instead of", [](MapData *m) { m->block.pop_back(); }},
      {"long block", "bytes instead of", [](MapData *m) { m->block.push_back(0); }},
      {"no block", "bytes instead of", [](MapData *m) { m->block.clear(); }},
      {"too many", "damaged",
       [](MapData *m) { reinterpret_cast<HashHeader *>(m->block.data())->count = 2049; }},
      {"no shards", "shards", [](MapData *m) { m->shard_count = 0; }},
      {"ring", "ring buffer", [](MapData *m) { m->spec.shape.type = Type::ringbuf; }},
  };
  for (const Row &row : rows) {
    MapData map = good;
    row.damage(&map);
    auto result = entries(map, *btf, false);
    ASSERT_FALSE(result) << row.name;
    EXPECT_NE(result.error().message.find(row.message), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find("launches"), std::string::npos) << result.error().message;
  }
}

TEST(Merge, FullMapSaysWhatItDropped) {
  COMPILE(object, "kcount");
  Snapshot snapshot = fake_snapshot(object, 2);
  MapData *map = find_map(&snapshot, "launches");
  insert_key(map, uint32_t{1});
  reinterpret_cast<HashHeader *>(map->block.data())->dropped = 42;
  auto status = hash_status(*map);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->count, 1u);
  EXPECT_EQ(status->dropped, 42u);
}

TEST(Btf, AllProbesHaveTypesForAllMaps) {
  for (const char *probe : {"args", "blockdur", "diverge", "kcount", "launchlat", "memheat", "smload"}) {
    COMPILE(object, probe);
    auto btf = Btf::parse(object.btf);
    ASSERT_TRUE(btf) << probe << ": " << btf.error().message;
    for (const MapSpec &spec : object.maps) {
      if (spec.shape.type == Type::ringbuf) continue;
      if (spec.value_type_id == 0) continue;  // .rodata of a string only
      uint64_t size = btf->size_of(spec.value_type_id);
      EXPECT_TRUE(size == spec.shape.value_size || spec.name[0] == '.')
          << probe << " " << spec.name << " " << size;
    }
  }
}

TEST(Btf, NamesAndUnits) {
  COMPILE(object, "memheat");
  auto btf = Btf::parse(object.btf);
  ASSERT_TRUE(btf);
  Snapshot snapshot = fake_snapshot(object, 1);
  const MapSpec &heat = find_map(&snapshot, "heat")->spec;
  EXPECT_EQ(btf->c_name(heat.key_type_id), "gpu_addr_t");
  EXPECT_EQ(btf->c_name(heat.value_type_id), "struct heat");
  EXPECT_EQ(btf->typedef_among(heat.key_type_id, {"gpu_addr_t", "u64"}), "gpu_addr_t");
  EXPECT_EQ(btf->typedef_among(heat.key_type_id, {"gpu_sm_t"}), "");
  const Btf::Type &type = btf->type(btf->resolve(heat.value_type_id));
  ASSERT_EQ(type.members.size(), 3u);
  EXPECT_EQ(type.members[2].unit, "bytes");
  EXPECT_EQ(type.members[0].unit, "");
}

// Damaged BTF: an Error, or types that can be walked; ASan and UBSan watch.
TEST(Btf, DamageNeverCrashes) {
  COMPILE(object, "memheat");
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; i++) {
    auto bytes = object.btf;
    for (int n = 0; n < 1 + i % 8; n++) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    auto btf = Btf::parse(bytes);
    if (!btf) {
      refused++;
      continue;
    }
    for (uint32_t id = 0; id < 80; id++) {
      (void)btf->size_of(id), (void)btf->c_name(id), (void)btf->resolve(id);
      (void)sum_fields(*btf, id, 512);
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace egpu::map
