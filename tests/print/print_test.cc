// Text and JSON of the probes' maps, from their real types.
#include "tools/print/print.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/map/fake_maps.h"
#include "tools/print/histogram.h"

namespace egpu::print {
namespace {

using map::add_u64;
using map::find_map;
using map::insert_key;
using nlohmann::json;

class PrintTest : public ::testing::Test {
 protected:
  // False: the test is to be skipped.
  void load(const std::string &source, uint32_t sm_count = 3) {
    if (!map::have_clang()) GTEST_SKIP() << "clang-19 is not installed";
    auto object = map::compile_for_test(source);
    ASSERT_TRUE(object) << object.error().message;
    snapshot = map::fake_snapshot(*object, sm_count);
    snapshot.kernels[1] = {"_Z6vecaddPfi", "vecadd(float*, int)"};
    snapshot.kernels[2] = {"_Z6reducePf", "reduce(float*)"};
    snapshot.sites[7] = {1, "vecadd.cu:12"};
  }
  std::string text() {
    auto result = text_of(snapshot, options);
    return result ? *result : "error: " + result.error().message;
  }
  std::vector<json> lines() {
    auto result = json_lines_of(snapshot, options);
    EXPECT_TRUE(result) << result.error().message;
    std::vector<json> out;
    std::istringstream in(*result);
    for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
    return out;
  }
  map::Snapshot snapshot;
  PrintOptions options;
};

#define LOAD(...)                                 \
  do {                                            \
    load(__VA_ARGS__);                            \
    if (IsSkipped() || HasFatalFailure()) return; \
  } while (false)

TEST_F(PrintTest, CountsByKernel) {
  LOAD("kcount");
  auto *map = find_map(&snapshot, "launches");
  add_u64(map, insert_key(map, uint32_t{2}), 0, 0, 7);
  add_u64(map, insert_key(map, uint32_t{1}), 1, 0, 20);
  add_u64(map, insert_key(map, uint32_t{1}), 2, 0, 3);
  add_u64(map, insert_key(map, uint32_t{77}), 2, 0, 7);
  EXPECT_EQ(text(),
            "launches, 3 entries\n"
            "  kernel               launches\n"
            "  vecadd(float*, int)        23\n"
            "  kernel#77                   7\n"
            "  reduce(float*)              7\n");
  auto out = lines();
  ASSERT_EQ(out.size(), 1u);
  {
    const json expected = json::parse(R"J({"map": "launches", "pid": 4711, "type": "hash", "entries": [
    {"key": {"kernel": "vecadd(float*, int)"
}
, "value" : 23
},
    {"key": {"kernel": "kernel#77"}, "value": 7},
    {"key": {"kernel": "reduce(float*)"}, "value": 7}], "dropped": 0
})J");
    EXPECT_EQ(out[0], expected);
  }
}

TEST_F(PrintTest, EmptyMaps) {
  LOAD("kcount");
  EXPECT_EQ(text(), "launches\n  (empty)\n");
  EXPECT_EQ(lines()[0]["entries"], json::array());
  LOAD("blockdur");
  EXPECT_EQ(text(), "duration (ns), 0 values\n  (empty)\n");
}

TEST_F(PrintTest, Histogram) {
  LOAD("blockdur");
  auto *map = find_map(&snapshot, "duration");
  add_u64(map, 0, 0, 8 * 10, 100), add_u64(map, 0, 2, 8 * 10, 60);
  add_u64(map, 0, 1, 8 * 12, 1);
  EXPECT_EQ(text(),
            "duration (ns), 161 values\n"
            "  [512, 1K)  160 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
            "  [1K, 2K)     0 |                                        |\n"
            "  [2K, 4K)     1 |@                                       |\n");
  {
    const json expected =
        json::parse(R"J([{"key": {"index": 0}, "value": {"unit": "ns", "count": 161, "slots": [
    {"low": 512, "high": 1023, "count": 160}, {"low": 1024, "high": 2047, "count": 0},
    {"low": 2048, "high": 4095, "count": 1}]}}])J");
    EXPECT_EQ(lines()[0]["entries"], expected);
  }
}

TEST_F(PrintTest, HistogramsByKernel) {
  LOAD("launchlat");
  auto *map = find_map(&snapshot, "latency");
  add_u64(map, insert_key(map, uint32_t{2}), 0, 0, 1);
  add_u64(map, insert_key(map, uint32_t{1}), 0, 8, 2);
  EXPECT_EQ(text(),
            "latency[vecadd(float*, int)] (ns), 2 values\n"
            "  [1]  2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
            "latency[reduce(float*)] (ns), 1 value\n"
            "  [0]  1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
}

TEST_F(PrintTest, StructsBySm) {
  LOAD("smload");
  auto *map = find_map(&snapshot, "sms");
  add_u64(map, 10, 0, 0, 5), add_u64(map, 10, 0, 8, 12345);
  add_u64(map, 2, 1, 0, 3), add_u64(map, 2, 2, 8, 99);
  EXPECT_EQ(text(),
            "sms, 2 entries\n"
            "  sm  blocks  busy_ns\n"
            "   2       3       99\n"
            "  10       5    12345\n");
  options.order = Order::by_value;
  {
    const json expected = json::parse(R"J([{"key": {"sm": 10}, "value": {"blocks": 5, "busy_ns": 12345}},
                                                   {"key": {"sm": 2}, "value": {"blocks": 3, "busy_ns": 99}}])J");
    EXPECT_EQ(lines()[0]["entries"], expected);
  }
}

TEST_F(PrintTest, AddressesAndGlobals) {
  LOAD("memheat");
  auto *heat = find_map(&snapshot, "heat");
  uint64_t slot = insert_key(heat, uint64_t{0x7f1200000000});
  add_u64(heat, slot, 0, 0, 1), add_u64(heat, slot, 0, 8, 2), add_u64(heat, slot, 0, 16, 48);
  add_u64(find_map(&snapshot, ".bss"), 0, 2, 0, 3);
  EXPECT_EQ(text(),
            "heat, 1 entry\n"
            "         address  loads  stores  bytes\n"
            "  0x7f1200000000      1       2     48\n"
            "\n"
            "dropped = 3\n");
  auto out = lines();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["entries"][0]["key"]["address"], "0x7f1200000000");
  {
    const json expected = json::parse(R"J({"loads": 1, "stores": 2, "bytes": 48})J");
    EXPECT_EQ(out[0]["entries"][0]["value"], expected);
  }
  {
    const json expected = json::parse(R"J({"dropped": 3})J");
    EXPECT_EQ(out[1]["entries"][0]["value"], expected);
  }
  options.all = true;
  EXPECT_NE(text().find("page_shift = 16\nsample_mask = 63\n"), std::string::npos) << text();
}

TEST_F(PrintTest, SitesAndFullMaps) {
  LOAD("diverge");
  auto *map = find_map(&snapshot, "branches");
  add_u64(map, insert_key(map, uint32_t{7}), 0, 0, 14), add_u64(map, insert_key(map, uint32_t{8}), 0, 0, 5);
  reinterpret_cast<map::HashHeader *>(map->block.data())->dropped = 6;
  options.show_pid = options.show_age = true;
  snapshot.time_ns = 1'000'000'000, options.now_ns = 1'012'000'000;
  EXPECT_EQ(text(),
            "4711:branches, 2 entries, 12 ms old\n"
            "  site          executed  divergent\n"
            "  vecadd.cu:12        14          0\n"
            "  site#8               5          0\n"
            "  (the map was full: 6 inserts refused)\n");
  EXPECT_EQ(lines()[0]["dropped"], 6);
  EXPECT_EQ(lines()[0]["age_ms"], 12);
}

constexpr const char *kMixed = R"(
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>
enum mode { MODE_FAST = 1, MODE_SLOW = 2 };
struct key { gpu_kernel_t kernel; gpu_sm_t sm; };
struct value { s32 delta; enum mode mode; char name[8]; u32 list[2]; bool on; u16 low : 4, high : 12; struct gpu_dim3 at; u64 spent __unit("ns"); void *p; };
struct both { u64 count; struct gpu_hist sizes __unit("bytes"); };
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, struct key); __type(value, struct value); } mixed SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct both); } both SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } total __unit("ns") SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } each SEC(".maps");
u64 waited __unit("ns"); u32 seen[2];
SEC("gpu/entry/*") int f(void *ctx) { u32 k = 0; struct key key = {}; waited++, seen[1]++;
  return bpf_map_lookup_elem(&mixed, &key) || bpf_map_lookup_elem(&both, &k) || bpf_map_lookup_elem(&total, &k) || bpf_map_lookup_elem(&each, &k); }
)";

TEST_F(PrintTest, EveryKindOfValue) {
  LOAD(kMixed, 1);
  auto *mixed = find_map(&snapshot, "mixed");
  struct {
    uint32_t kernel, sm;
  } key = {1, 5};
  struct {
    int32_t delta;
    uint32_t mode;
    char name[8];
    uint32_t list[2];
    bool on;
    uint8_t pad;
    uint16_t bits;
    uint32_t x, y, z;

    uint64_t spent, p;
  } value = {-3, 2, "ab\033c", {4, 5}, true, 7, 291, 1, 2, 3, 900, 0xabc};
  ASSERT_EQ(mixed->spec.shape.value_size, sizeof value);
  std::memcpy(value_at(mixed, insert_key(mixed, key)), &value, sizeof value);
  auto *both = find_map(&snapshot, "both");
  add_u64(both, 0, 0, 0, 2), add_u64(both, 0, 0, 16, 2);
  add_u64(find_map(&snapshot, "total"), 0, 0, 0, 42);
  add_u64(find_map(&snapshot, ".bss"), 0, 0, 0, 11);
  std::string out = text();
  EXPECT_NE(
      out.find(
          "  kernel               sm  delta  mode       name     list    on    low  high  at.x  at.y  at.z  "
          "spent (ns)      p\n"
          "  vecadd(float*, int)   5     -3  MODE_SLOW  ab\\x1bc  [4, 5]  true    7   291     1     2     3  "
          "       900  0xabc\n"),
      std::string::npos)
      << out;
  EXPECT_NE(out.find("both\n  count = 2\n  sizes (bytes)\n    [1]  2 |@"), std::string::npos) << out;
  EXPECT_NE(out.find("total = 42 ns\n"), std::string::npos) << out;
  EXPECT_NE(out.find("waited = 11 ns\n"), std::string::npos) << out;
  EXPECT_NE(out.find("seen = [0, 0]\n"), std::string::npos) << out;
  auto all = lines();
  {
    const json expected = json::parse(R"J({"kernel": "vecadd(float*, int)", "sm": 5
})J");
    EXPECT_EQ(all[0]["entries"][0]["key"], expected);
  }
  {
    const json expected =
        json::parse(R"J({"delta": -3, "mode": "MODE_SLOW", "name": "ab\u001bc", "list": [4, 5], "on": true,
                            "low": 7, "high": 291, "at": {"x": 1, "y": 2, "z": 3}, "spent_ns": 900, "p": "0xabc"})J");
    EXPECT_EQ(all[0]["entries"][0]["value"], expected);
  }
  EXPECT_EQ(all[2]["entries"][0]["value_ns"], 42);
}

TEST_F(PrintTest, PerSmMapsHaveASmColumn) {
  LOAD(kMixed, 4);
  auto *mixed = find_map(&snapshot, "mixed");  // cannot be summed, so no compiler would shard it
  mixed->shard_count = 1, mixed->block.resize(map::block_bytes(mixed->spec.shape, 1));
  auto *each = find_map(&snapshot, "each");
  add_u64(each, 0, 2, 0, 6);
  std::string out = text();
  EXPECT_NE(out.find("each, 1 entry\n  index  sm  each\n      0   2     6\n"), std::string::npos) << out;
}

TEST_F(PrintTest, NamesThatAreNoUtf8) {
  LOAD("kcount");
  snapshot.kernels[1].printable = "bad\xff\xfename\n";
  auto *map = find_map(&snapshot, "launches");
  insert_key(map, uint32_t{1});
  EXPECT_NE(text().find("name\\x0a"), std::string::npos);
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(PrintTest, MapsThatCannotBeReadAreErrors) {
  LOAD("kcount");
  find_map(&snapshot, "launches")->block.resize(10);
  EXPECT_NE(text().find("error: map launches: has 10 bytes instead of"), std::string::npos) << text();
  snapshot.btf.resize(10);
  EXPECT_NE(text().find("BTF"), std::string::npos);
}

TEST(Histogram, Intervals) {
  std::vector<uint64_t> slots(64);
  EXPECT_TRUE(intervals(slots).empty());
  slots[0] = 1, slots[63] = 2;
  auto all = intervals(slots);
  ASSERT_EQ(all.size(), 64u);
  EXPECT_EQ(all[0].high, 0u);
  EXPECT_EQ(all[1].low, 1u);
  EXPECT_EQ(all[1].high, 1u);
  EXPECT_EQ(all[63].low, uint64_t{1} << 62);
  EXPECT_EQ(all[63].high, UINT64_MAX);
  slots.assign(64, 0), slots[63] = UINT64_MAX;
  EXPECT_NE(histogram_text(slots, "").find("[4E, ...)  18446744073709551615 |@@@@"), std::string::npos)
      << histogram_text(slots, "");
}

TEST(Names, Units) {
  EXPECT_EQ(with_unit("busy_ns", "ns"), "busy_ns");
  EXPECT_EQ(with_unit("busy", "ns"), "busy_ns");
  EXPECT_EQ(with_unit("bytes", "bytes"), "bytes");
  EXPECT_EQ(with_unit("x", ""), "x");
  EXPECT_EQ(duration_text(12'000'000), "12 ms");
  EXPECT_EQ(duration_text(3'400'000'000), "3.4 s");
}

}  // namespace
}  // namespace egpu::print
