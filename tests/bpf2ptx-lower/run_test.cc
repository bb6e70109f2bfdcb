// What compiled programs compute, seen by running them on the simulated GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu.h"

namespace egpu {
namespace {

// Each test in both forms of a body: in the kernel, and as a function that the kernel calls.
class Run : public testing::TestWithParam<ptx::BodyForm> {
 protected:
  struct Gpu : test::Gpu {
    explicit Gpu(const std::string &text, const std::string &flags = "-O2 -g")
        : test::Gpu(text, flags, GetParam()) {}
  };
};
INSTANTIATE_TEST_SUITE_P(Forms, Run, testing::Values(ptx::BodyForm::in_line, ptx::BodyForm::called),
                         [](const auto &form) {
                           return std::string(form.param == ptx::BodyForm::called ? "called" : "in_line");
                         });

constexpr uint32_t kBlocks = 23, kThreads = 211, kAll = kBlocks * kThreads;

std::string hash_map(uint32_t entries) {
  return "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, " + std::to_string(entries) +
         "); __type(key, u32); __type(value, u64); } m SEC(\".maps\");\nstatic const u64 zero;\nu64 "
         "missed;\n";
}

const char *const kCountByKey =
    "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
    "  u32 key = c->kernel % 97; u64 *n = gpu_lookup_or_init(&m, &key, &zero);\n"
    "  if (n) __sync_fetch_and_add(n, 1); else __sync_fetch_and_add(&missed, 1);\n"
    "  return 0; }\n";

TEST_P(Run, hash_counts_are_exact) {
  Gpu gpu(hash_map(128) + kCountByKey);
  gpu.set("egpu_kernel", "%r1");
  gpu.run(kBlocks, kThreads);
  EXPECT_TRUE(gpu.map("m").summed);
  EXPECT_EQ(gpu.header("m").count, 97u);
  EXPECT_EQ(gpu.header("m").dropped, 0u);
  EXPECT_EQ(gpu.full_slots("m"), 97u);
  for (uint32_t key = 0; key < 97; ++key) {
    int64_t slot = gpu.find_slot("m", &key);
    ASSERT_GE(slot, 0) << key;
    EXPECT_EQ(gpu.sum("m", static_cast<uint64_t>(slot)), kAll / 97 + (key < kAll % 97)) << key;
  }
  EXPECT_EQ(gpu.sum(".bss", 0), 0u);
}

// All threads of the grid meet at one key.
TEST_P(Run, one_key_is_inserted_once) {
  Gpu gpu(hash_map(1) + kCountByKey);
  gpu.run(kBlocks, kThreads);
  EXPECT_EQ(gpu.header("m").count, 1u);
  EXPECT_EQ(gpu.header("m").dropped, 0u);
  uint32_t key = 17;
  int64_t slot = gpu.find_slot("m", &key);
  ASSERT_GE(slot, 0);
  EXPECT_EQ(gpu.sum("m", static_cast<uint64_t>(slot)), kAll);
}

TEST_P(Run, a_full_hash_loses_nothing) {
  Gpu gpu(hash_map(13) + kCountByKey);
  gpu.set("egpu_kernel", "%r1");
  gpu.run(kBlocks, kThreads);
  EXPECT_EQ(gpu.header("m").count, 13u);
  EXPECT_EQ(gpu.full_slots("m"), 13u);
  uint64_t counted = gpu.sum(".bss", 0);
  EXPECT_EQ(gpu.header("m").dropped, counted) << "every refused insert is one missed event";
  for (uint32_t key = 0; key < 97; ++key)
    if (int64_t slot = gpu.find_slot("m", &key); slot >= 0)
      counted += gpu.sum("m", static_cast<uint64_t>(slot));
  EXPECT_EQ(counted, kAll);
}

// Keys of 11 bytes, values of 13: nothing is read or written beyond them.
TEST_P(Run, odd_keys_and_values) {
  Gpu gpu(
      "struct key { u32 a; unsigned char b[7]; } __attribute__((packed));\n"
      "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 64); __type(key, struct key); "
      "__type(value, "
      "__u8[13]); } h SEC(\".maps\");\n"
      "u64 wrong;\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  struct key k = {}; k.a = c->lane_id; k.b[6] = 5; __u8 v[13] = {}; v[0] = 3; v[12] = c->lane_id;\n"
      "  bpf_map_update_elem(&h, &k, v, BPF_ANY);\n"
      "  __u8 *p = bpf_map_lookup_elem(&h, &k);\n"
      "  if (!p || p[0] != 3 || p[12] != c->lane_id || p[5] != 0) __sync_fetch_and_add(&wrong, 1);\n"
      "  k.b[6] = 6; if (bpf_map_lookup_elem(&h, &k)) __sync_fetch_and_add(&wrong, 1);\n"
      "  return 0; }\n");
  gpu.run(7, 64);
  EXPECT_EQ(gpu.sum(".bss", 0), 0u);
  EXPECT_EQ(gpu.full_slots("h"), 32u);
  uint8_t key[11] = {9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  int64_t slot = gpu.find_slot("h", key);
  ASSERT_GE(slot, 0);
  const uint8_t *value =
      gpu.block("h") + map::values_offset(gpu.map("h").shape) + static_cast<uint64_t>(slot) * 16;
  EXPECT_EQ(value[12], 9);
  EXPECT_EQ(value[13], 0);
}

TEST_P(Run, update_gives_the_kernels_codes) {
  Gpu gpu(
      "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 2); __type(key, u32); __type(value, "
      "u64); } h "
      "SEC(\".maps\");\n"
      "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 5); __type(key, u32); __type(value, "
      "u64); } a "
      "SEC(\".maps\");\n"
      "u64 r[16];\n"
      "#define PUT(i, map, key, v, flags) { u32 k = key; u64 x = v; r[i] = bpf_map_update_elem(&map, &k, &x, "
      "flags); }\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  PUT(0, h, 1, 11, BPF_EXIST) PUT(1, h, 1, 12, BPF_NOEXIST) PUT(2, h, 1, 13, BPF_NOEXIST)\n"
      "  PUT(3, h, 1, 14, BPF_EXIST) PUT(4, h, 2, 15, BPF_ANY) PUT(5, h, 3, 16, BPF_ANY) PUT(6, h, 2, 17, "
      "BPF_ANY)\n"
      "  PUT(7, a, 4, 21, BPF_ANY) PUT(8, a, 5, 22, BPF_ANY) PUT(9, a, 4, 23, BPF_NOEXIST) PUT(10, a, 3, 24, "
      "BPF_EXIST)\n"
      "  return 0; }\n");
  gpu.run(1, 1);
  const int64_t expected[] = {-2, 0, -17, 0, 0, -7, 0, 0, -7, -17, 0};
  for (uint64_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(static_cast<int64_t>(gpu.sum(".bss", 0, 8 * i)), expected[i]) << i;
  for (auto [key, value] : {std::pair{1u, 14u}, {2u, 17u}})
    EXPECT_EQ(gpu.sum("h", static_cast<uint64_t>(gpu.find_slot("h", &key))), value);
  EXPECT_EQ(gpu.header("h").dropped, 1u);
  EXPECT_EQ(gpu.sum("a", 4), 21u);
  EXPECT_EQ(gpu.sum("a", 3), 24u);
}

TEST_P(Run, arrays_and_percpu_arrays) {
  Gpu gpu(
      "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 97); __type(key, u32); __type(value, "
      "u64); } a "
      "SEC(\".maps\");\n"
      "struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 3); __type(key, u32); "
      "__type(value, "
      "u64[5]); } p SEC(\".maps\");\n"
      "u64 outside;\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u32 k = c->kernel % 101; u64 *v = bpf_map_lookup_elem(&a, &k);\n"
      "  if (v) __sync_fetch_and_add(v, 1); else { __sync_fetch_and_add(&outside, 1); asm volatile(\"\" ::: "
      "\"memory\"); }\n"
      "  k = 2; u64 *q = bpf_map_lookup_elem(&p, &k); if (q) __sync_fetch_and_add(&q[4], 1); return 0; }\n");
  gpu.set("egpu_kernel", "%r1");
  gpu.run(kBlocks, kThreads);
  uint64_t total = gpu.sum(".bss", 0);
  for (uint64_t i = 0; i < 97; ++i) {
    EXPECT_EQ(gpu.sum("a", i), kAll / 101 + (i < kAll % 101)) << i;
    total += gpu.sum("a", i);
  }
  EXPECT_EQ(total, kAll);
  EXPECT_TRUE(gpu.map("p").sharded);
  EXPECT_EQ(gpu.sum("p", 2, 32), kAll);
  EXPECT_EQ(gpu.sum("p", 1, 32), 0u);
}

TEST_P(Run, printk_records) {
  Gpu gpu(
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) { bpf_printk(\"t %d of %d %%\", c->kernel, 7); return 0; "
      "}\n");
  gpu.set("egpu_kernel", "%r1");
  gpu.run(kBlocks, kThreads);
  map::PrintkHeader header;
  std::memcpy(&header, gpu.block("printk"), sizeof header);
  uint32_t capacity = gpu.map("printk").shape.max_entries;
  EXPECT_EQ(header.head, capacity);
  EXPECT_EQ(header.dropped, kAll - capacity);
  std::set<uint64_t> threads;
  for (uint64_t i = 0; i < capacity; ++i) {
    map::PrintkRecord record;
    std::memcpy(&record, gpu.block("printk") + sizeof header + i * sizeof record, sizeof record);
    EXPECT_EQ(record.sequence, i + 1);
    EXPECT_EQ(record.argument_count, 2u);
    EXPECT_EQ(record.arguments[0], record.kernel);
    EXPECT_EQ(record.arguments[1], 7u);
    EXPECT_EQ(record.site, 29u);
    const MapSpec &text = gpu.object().maps[record.map];
    EXPECT_STREQ(reinterpret_cast<const char *>(text.initial.data() + record.offset), "t %d of %d %%");
    threads.insert(record.arguments[0]);
  }
  EXPECT_EQ(threads.size(), capacity) << "each record is another thread's";
}

TEST_P(Run, context_fields) {
  Gpu gpu(
      "u64 wrong, lanes;\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 bad = c->grid_dim.x != 3 || c->grid_dim.y != 1 || c->block_dim.x != 45 || c->block_dim.z != 1;\n"
      "  bad |= c->block_idx.x * 45 + c->thread_idx.x != c->kernel || c->thread_idx.y || c->block_idx.z;\n"
      "  bad |= c->site != 29 || c->launch_ns != 1000003 || c->arg[2] != 0x123456789abcULL || c->sm_id >= "
      "4;\n"
      "  bad |= c->lane_id != (c->thread_idx.x & 31) || bpf_get_smp_processor_id() != c->sm_id;\n"
      "  __sync_fetch_and_add(&wrong, bad); __sync_fetch_and_add(&lanes, c->lane_id); return 0; }\n");
  gpu.set("egpu_kernel", "%r1");
  gpu.set("egpu_arg_2", "0x123456789abc");
  gpu.run(3, 45);
  EXPECT_EQ(gpu.sum(".bss", 0, 0), 0u);
  EXPECT_EQ(gpu.sum(".bss", 0, 8), 3u * (31 * 32 / 2 + 12 * 13 / 2));
}

TEST_P(Run, cookies_clocks_and_slots) {
  Gpu gpu(
      "u64 wrong, sampled;\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 *k = gpu_cookie(c), before = gpu_clock(), at = bpf_ktime_get_ns(); *k = c->kernel + 3ULL;\n"
      "  u64 bad = *k != c->kernel + 3ULL; bad |= gpu_clock() < before || bpf_ktime_get_ns() < at;\n"
      "  bad |= gpu_log2_slot(c->arg[0]) != 0 || gpu_log2_slot(c->arg[1]) != 1 || gpu_log2_slot(c->arg[2]) "
      "!= 3;\n"
      "  bad |= gpu_log2_slot(c->arg[3]) != 63 || gpu_log2_slot(c->arg[3] >> 1) != 63 || "
      "gpu_log2_slot(c->arg[3] >> 2) != "
      "62;\n"
      "  __sync_fetch_and_add(&wrong, bad); __sync_fetch_and_add(&sampled, !(bpf_get_prandom_u32() & 7)); "
      "return 0; }\n");
  gpu.set("egpu_kernel", "%r1");
  gpu.set("egpu_arg_1", "1");
  gpu.set("egpu_arg_2", "7");
  gpu.set("egpu_arg_3", "0xffffffffffffffff");
  gpu.run(kBlocks, kThreads);
  EXPECT_EQ(gpu.sum(".bss", 0, 0), 0u);
  uint64_t sampled = gpu.sum(".bss", 0, 8);  // an eighth of 4853 is 606, its deviation 23
  EXPECT_GT(sampled, 606u - 120);
  EXPECT_LT(sampled, 606u + 120);
}

// 45 threads: a whole warp and one of 13 lanes.
TEST_P(Run, ballots) {
  Gpu gpu(
      "u64 met, wrong;\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 all = c->thread_idx.x < 32 ? 0xffffffff : 0x1fff, low = c->lane_id, more = 0;\n"
      "  u64 bad = (gpu_ballot(1) != all) | gpu_ballot(0) | (gpu_ballot(1ULL << 63) != all);\n"
      "  bad |= gpu_ballot(c->lane_id & 1) != (all & 0xaaaaaaaa);\n"
      "  if (low > 5) more = low * 3;\n"
      "  bad |= gpu_ballot(more) != (all & ~63ULL);\n"
      "  if (c->block_idx.x == 2) __sync_fetch_and_add(&met, gpu_ballot(low == 12) >> 12);\n"
      "  __sync_fetch_and_add(&wrong, bad); return 0; }\n");
  gpu.run(3, 45);
  EXPECT_EQ(gpu.sum(".bss", 0, 0), 45u);
  EXPECT_EQ(gpu.sum(".bss", 0, 8), 0u);
}

// RFC 9669, 4.1 and 4.2: each instruction on values that the compiler does not know.
TEST_P(Run, arithmetic) {
  struct Row {
    const char *insn;  // %[x] op= %[y], as llvm-mc writes it
    uint64_t x, y, expected;
  };
  constexpr uint64_t kMin64 = uint64_t{1} << 63, kMin32 = uint64_t{1} << 31, kMinus1 = ~uint64_t{0};
  const Row rows[] = {
      {"%0 += %1", kMinus1, 2, 1},
      {"%w0 += %w1", 0xffffffff, 2, 1},
      {"%0 -= %1", 1, 2, kMinus1},
      {"%w0 -= %w1", 1, 2, 0xffffffff},
      {"%0 *= %1", 0x100000001, 0x100000001, 0x200000001},
      {"%w0 *= %w1", 0x10001, 0x10001, 0x20001},
      {"%0 /= %1", 97, 7, 13},
      {"%0 /= %1", kMinus1, 2, kMin64 - 1},
      {"%0 /= %1", 97, 0, 0},
      {"%w0 /= %w1", 0x500000061, 7, 13},
      {"%w0 /= %w1", 97, 0x100000000, 0},
      {"%0 %%= %1", 97, 7, 6},
      {"%0 %%= %1", 97, 0, 97},
      {"%w0 %%= %w1", 0x500000061, 0, 97},
      {"%0 s/= %1", static_cast<uint64_t>(-97), 7, static_cast<uint64_t>(-13)},
      {"%0 s/= %1", kMin64, kMinus1, kMin64},
      {"%0 s/= %1", 97, 0, 0},
      {"%0 s%%= %1", static_cast<uint64_t>(-97), 7, static_cast<uint64_t>(-6)},
      {"%0 s%%= %1", kMin64, kMinus1, 0},
      {"%0 s%%= %1", static_cast<uint64_t>(-97), 0, static_cast<uint64_t>(-97)},
      {"%w0 s/= %w1", kMin32, 0xffffffff, kMin32},
      {"%w0 s%%= %w1", kMin32, 0xffffffff, 0},
      {"%w0 s/= %w1", 0xffffff9f, 7, 0xfffffff3},
      {"%0 |= %1", 0xf0, 0x0f, 0xff},
      {"%0 &= %1", 0xf3, 0x3f, 0x33},
      {"%0 ^= %1", 0xff, 0x0f, 0xf0},
      {"%0 <<= %1", 1, 65, 2},
      {"%w0 <<= %w1", 1, 33, 2},
      {"%0 >>= %1", kMin64, 127, 1},
      {"%w0 >>= %w1", kMin32, 63, 1},
      {"%0 s>>= %1", kMin64, 63, kMinus1},
      {"%w0 s>>= %w1", kMin32, 31, 0xffffffff},
      {"%0 = -%0", 5, 0, static_cast<uint64_t>(-5)},
      {"%w0 = -%w0", 5, 0, 0xfffffffb},
      {"%0 = %1", 0, kMinus1, kMinus1},
      {"%w0 = %w1", 0, kMinus1, 0xffffffff},
      {"%0 = (s8)%1", 0, 0x80, static_cast<uint64_t>(-128)},
      {"%0 = (s16)%1", 0, 0x8000, static_cast<uint64_t>(-32768)},
      {"%0 = (s32)%1", 0, kMin32, static_cast<uint64_t>(-2147483648LL)},
      {"%w0 = (s8)%w1", 0, 0x80, 0xffffff80},
      {"%0 = bswap16 %0", 0x1122334455667788, 0, 0x8877},
      {"%0 = bswap32 %0", 0x1122334455667788, 0, 0x88776655},
      {"%0 = bswap64 %0", 0x1122334455667788, 0, 0x8877665544332211},
      {"%0 = be16 %0", 0x1122334455667788, 0, 0x8877},
      {"%0 = le16 %0", 0x1122334455667788, 0, 0x7788},
      {"%0 = be64 %0", 0x1122334455667788, 0, 0x8877665544332211},
      {"%0 += -3", 1, 0, static_cast<uint64_t>(-2)},
      {"%0 /= -1", kMinus1, 0, 1},
      {"%w0 &= -16", 0xffffffff, 0, 0xfffffff0},
  };
  std::string x = "u64 r[64]; u64 x[64] = {", y = "u64 y[64] = {", body;
  for (size_t i = 0; i < std::size(rows); ++i) {
    x += std::to_string(rows[i].x) + "ull,";
    y += std::to_string(rows[i].y) + "ull,";
    // The operands in fixed registers: %w0 has no constraint of its own.
    std::string insn = rows[i].insn, text;
    for (size_t c = 0; c < insn.size(); ++c) {
      if (insn.compare(c, 2, "%w") == 0)
        text += insn[c + 2] == '0' ? "w1" : "w2", c += 2;
      else if (insn.compare(c, 2, "%%") == 0)
        text += "%%", c += 1;
      else if (insn[c] == '%')
        text += insn[c + 1] == '0' ? "r1" : "r2", c += 1;
      else
        text += insn[c];
    }
    std::string at = std::to_string(i);
    body += "  { register u64 a asm(\"r1\") = x[" + at + "]; register u64 b asm(\"r2\") = y[" + at +
            "]; asm volatile(\"" + text + "\" : \"+r\"(a) : \"r\"(b)); r[" + at + "] = a; }\n";
  }
  Gpu gpu(x + "}; " + y + "};\nSEC(\"gpu/entry\") int f(void *c) {\n" + body + "  return 0; }\n",
          "-O2 -g -mcpu=v4");
  gpu.run(1, 1);
  for (size_t i = 0; i < std::size(rows); ++i)
    EXPECT_EQ(gpu.sum(".bss", 0, 8 * i), rows[i].expected)
        << rows[i].insn << " with " << std::hex << rows[i].x << ", " << rows[i].y;
}

TEST_P(Run, atomics_give_old_values) {
  Gpu gpu(
      "u64 r[8]; u64 v = 0xf0; u32 w = 0xf0; u64 sum;\n"
      "SEC(\"gpu/entry\") int f(void *c) {\n"
      "  r[0] = __sync_fetch_and_add(&v, 0x10); r[1] = __sync_fetch_and_or(&v, 3); r[2] = "
      "__sync_fetch_and_and(&v, "
      "0x103);\n"
      "  r[3] = __sync_fetch_and_xor(&w, 0xff); r[4] = __sync_lock_test_and_set(&v, 7);\n"
      "  r[5] = __sync_val_compare_and_swap(&v, 8, 9); r[6] = __sync_val_compare_and_swap(&v, 7, 9); r[7] = "
      "v + w;\n"
      "  return 0; }\n"
      "SEC(\"gpu/entry\") int g(void *c) {\n"
      "  u64 s = 5; __sync_fetch_and_add(&s, 2); u64 o = __sync_val_compare_and_swap(&s, 7, 11);\n"
      "  o += 100 * __sync_lock_test_and_set(&s, 13); r[0] = o + 10000 * s; return 0; }\n");
  gpu.run(1, 1);
  const uint64_t expected[] = {0xf0, 0x100, 0x103, 0xf0, 0x103, 7, 7, 9 + 0x0f};
  uint64_t offset = 0;
  for (uint64_t value : expected) {
    EXPECT_EQ(gpu.sum(".bss", 0, offset), value) << offset;
    offset += 8;
  }
  gpu.run(1, 1, 1);
  EXPECT_EQ(gpu.sum(".bss", 0, 0), 7u + 1100 + 130000);
}

TEST_P(Run, loops_calls_and_stack) {
  Gpu gpu(
      "u64 r[4];\n"
      "static __attribute__((noinline)) void fill(u64 *t, u64 v) { for (int i = 0; i < 8; i++) t[i] = v * i; "
      "}\n"
      "static __attribute__((noinline)) u64 square_sum(u64 n) { u64 t[8], s = 0; fill(t, n);\n"
      "  for (int i = 0; i < 8; i++) s += t[i] * t[i]; return s; }\n"
      "static long step(u32 i, void *p) { *(u64 *)p += i; return i == 9; }\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  r[0] = square_sum(3) + square_sum(c->arg[0]);\n"
      "  u64 t[8]; fill(t, 5); asm volatile(\"\" ::: \"memory\"); r[1] = t[c->arg[0] & 7];\n"
      "  u64 s = 0; r[2] = bpf_loop(23, step, &s, 0); r[3] = s; return 0; }\n");
  gpu.set("egpu_arg_0", "2");
  gpu.run(1, 1);
  EXPECT_EQ(gpu.sum(".bss", 0, 0), 140u * 9 + 140u * 4);
  EXPECT_EQ(gpu.sum(".bss", 0, 8), 10u);
  EXPECT_EQ(gpu.sum(".bss", 0, 16), 10u);
  EXPECT_EQ(gpu.sum(".bss", 0, 24), 45u);
}

// What one instruction accesses is told by the address: clang merges the tails of branches.
TEST_P(Run, one_atomic_on_two_maps) {
  Gpu gpu(
      "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 3); __type(key, u32); __type(value, "
      "u64); } odd SEC(\".maps\");\n"
      "u64 even = 1000; u64 seen;\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u32 key = 2; u64 *n = bpf_map_lookup_elem(&odd, &key); if (!n) return 0;\n"
      "  if (!(c->kernel & 1)) n = &even;\n"
      "  asm volatile(\"\" : \"+r\"(n)); __sync_fetch_and_add(n, 1); return 0; }\n"
      "SEC(\"gpu/entry\") int g(struct gpu_ctx *c) { seen = even; return 0; }\n");
  gpu.set("egpu_kernel", "%r1");
  gpu.run(kBlocks, kThreads);
  EXPECT_TRUE(gpu.map("odd").sharded);
  EXPECT_FALSE(gpu.map(".data").sharded) << "program g reads it";
  EXPECT_EQ(gpu.sum("odd", 2), kAll / 2);
  EXPECT_EQ(gpu.sum(".data", 0), 1000u + kAll - kAll / 2);
}

TEST_P(Run, one_helper_call_on_two_maps) {
  Gpu gpu(hash_map(8) +
          "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 5); __type(key, u32); "
          "__type(value, u64); } a SEC(\".maps\");\n"
          "u32 other_key = 3; u64 sum;\n"
          "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
          "  u32 key = 1; void *map = &m; u32 *k = &key; u64 v = 5 + c->kernel;\n"
          "  if (c->kernel & 1) map = &a;\n"
          "  if (c->kernel & 2) k = &other_key;\n"
          "  asm volatile(\"\" : \"+r\"(map), \"+r\"(k));\n"
          "  bpf_map_update_elem(map, k, &v, BPF_ANY);\n"
          "  u64 *n = bpf_map_lookup_elem(map, k); if (n) __sync_fetch_and_add(&sum, *n); return 0; }\n");
  gpu.set("egpu_kernel", "%r1");
  gpu.run(1, 1);
  for (const char *kernel : {"1", "2", "3"}) {
    gpu.set("egpu_kernel", kernel);
    gpu.run(1, 1);
  }
  for (uint32_t key : {1u, 3u}) {
    int64_t slot = gpu.find_slot("m", &key);
    ASSERT_GE(slot, 0) << key;
    EXPECT_EQ(gpu.sum("m", static_cast<uint64_t>(slot)), key == 1 ? 5u : 7u);
  }
  EXPECT_EQ(gpu.sum("a", 1), 6u);
  EXPECT_EQ(gpu.sum("a", 3), 8u);
  EXPECT_EQ(gpu.sum(".bss", 0), 5u + 6 + 7 + 8);
}

TEST_P(Run, one_instruction_on_the_stack_or_a_map) {
  Gpu gpu(
      "u64 shared[2] = {100, 100}; u64 r[4];\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 own[2] = {1, 2}; u64 *p = own; u32 i = c->site & 1;\n"
      "  if (c->kernel & 1) p = shared;\n"
      "  asm volatile(\"\" : \"+r\"(p)); p += i;\n"
      "  *p += 7; r[0] = __sync_fetch_and_add(p, 3); r[1] = *p; r[2] = own[i]; return 0; }\n");
  struct Row {
    const char *kernel, *site;
    uint64_t before, own, first, second;
  } rows[] = {{"0", "1", 9, 12, 100, 100}, {"1", "0", 107, 1, 110, 100}, {"1", "1", 107, 2, 110, 110}};
  for (const Row &row : rows) {
    SCOPED_TRACE(std::string(row.kernel) + " " + row.site);
    gpu.set("egpu_kernel", row.kernel);
    gpu.set("egpu_site", row.site);
    gpu.run(1, 1);
    EXPECT_EQ(gpu.sum(".bss", 0, 0), row.before);
    EXPECT_EQ(gpu.sum(".bss", 0, 8), row.before + 3);
    EXPECT_EQ(gpu.sum(".bss", 0, 16), row.own);
    EXPECT_EQ(gpu.sum(".data", 0, 0), row.first);
    EXPECT_EQ(gpu.sum(".data", 0, 8), row.second);
  }
}

TEST_P(Run, one_load_of_two_context_fields) {
  Gpu gpu(
      "u64 r;\nSEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u32 *p = &c->kernel; if (c->grid_dim.x == 2) p = &c->site;\n"
      "  asm volatile(\"\" : \"+r\"(p)); r = *p; return 0; }\n");
  gpu.run(1, 1);
  EXPECT_EQ(gpu.sum(".bss", 0), 17u);
  gpu.run(2, 1);
  EXPECT_EQ(gpu.sum(".bss", 0), 29u);
}

TEST_P(Run, one_print_of_two_formats) {
  Gpu gpu(
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  static const char a[] = \"a %d\", b[] = \"long %d %d\";\n"
      "  const char *text = a; u64 size = sizeof a; if (c->kernel) text = b, size = sizeof b;\n"
      "  asm volatile(\"\" : \"+r\"(text), \"+r\"(size));\n"
      "  if (c->kernel) asm volatile(\"if %0 == 11 goto +0\" :: \"r\"(size));\n"
      "  bpf_trace_printk(text, size, c->kernel, 5); return 0; }\n");
  for (const char *kernel : {"0", "3"}) {
    gpu.set("egpu_kernel", kernel);
    gpu.run(1, 1);
  }
  uint32_t counts[2], offsets[2];
  for (size_t i = 0; i < 2; ++i) {
    map::PrintkRecord record;
    std::memcpy(&record, gpu.block("printk") + sizeof(map::PrintkHeader) + i * sizeof record, sizeof record);
    counts[i] = record.argument_count;
    offsets[i] = record.offset;
  }
  EXPECT_THAT(counts, testing::ElementsAre(1, 2));
  EXPECT_NE(offsets[0], offsets[1]);
}

TEST_P(Run, one_loop_of_two_callbacks) {
  Gpu gpu(
      "u64 r;\n"
      "static long add(u32 i, void *p) { *(u64 *)p += i; return 0; }\n"
      "static long twice(u32 i, void *p) { *(u64 *)p += 2 * i; return i == 3; }\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 s = 0; void *step = add; if (c->kernel) step = twice;\n"
      "  asm volatile(\"\" : \"+r\"(step)); bpf_loop(7, step, &s, 0); r = s; return 0; }\n");
  gpu.run(1, 1);
  EXPECT_EQ(gpu.sum(".bss", 0), 12u);
  gpu.set("egpu_kernel", "0");
  gpu.run(1, 1);
  EXPECT_EQ(gpu.sum(".bss", 0), 21u);
}

// Each call has a frame of its own, whatever its depth and whoever calls.
TEST_P(Run, functions_with_a_stack_at_several_depths) {
  Gpu gpu(
      "u64 r[4];\n"
      "#define FUNCTION static __attribute__((noinline)) u64\n"
      "FUNCTION own(u64 v) { volatile u64 t[3]; for (int i = 0; i < 3; i++) t[i] = v + i; return t[v & 1]; "
      "}\n"
      "FUNCTION fill(u64 *t, u64 v) { for (int i = 0; i < 3; i++) t[i] = v * i; return own(v); }\n"
      "FUNCTION mid(u64 v) { u64 t[3]; u64 s = fill(t, v); asm volatile(\"\" ::: \"memory\");\n"
      "  return s + 10 * t[2]; }\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 t[3]; r[0] = own(c->kernel); r[1] = fill(t, c->kernel); asm volatile(\"\" ::: \"memory\");\n"
      "  r[2] = t[1] + t[2]; r[3] = mid(c->kernel); return 0; }\n");
  gpu.run(1, 1);
  EXPECT_EQ(gpu.sum(".bss", 0, 0), 18u);
  EXPECT_EQ(gpu.sum(".bss", 0, 8), 18u);
  EXPECT_EQ(gpu.sum(".bss", 0, 16), 17u * 3);
  EXPECT_EQ(gpu.sum(".bss", 0, 24), 18u + 10 * 34);
}

// Initial contents of .data count once, whatever the number of shards.
TEST_P(Run, summed_globals_begin_with_their_value) {
  Gpu gpu("u64 n = 1000;\nSEC(\"gpu/entry\") int f(void *c) { __sync_fetch_and_add(&n, 1); return 0; }\n");
  EXPECT_TRUE(gpu.map(".data").summed);
  gpu.run(kBlocks, kThreads);
  EXPECT_EQ(gpu.sum(".data", 0), 1000u + kAll);
}

}  // namespace
}  // namespace egpu
