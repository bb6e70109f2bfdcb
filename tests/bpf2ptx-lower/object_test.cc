#include "lib/bpf2ptx/object/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "clang.h"

namespace egpu::bpf {
namespace {

using testing::HasSubstr;
using Constants = std::map<std::string, std::string>;

const char *const kMap =
    "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, u32); __type(value, u64); "
    "} m "
    "SEC(\".maps\");\n";

TEST(Object, reads_every_probe) {
  for (const char *name : test::kProbes) {
    auto object = read_object(name, test::compile_file(test::probe_path(name)), {});
    ASSERT_TRUE(object) << object.error().message;
    for (const Program &program : object->programs) {
      EXPECT_FALSE(program.insns.empty());
      for (const Insn &insn : program.insns) {
        ASSERT_GE(insn.source, 0) << name;
        const SourceLine &line = program.lines[static_cast<size_t>(insn.source)];
        EXPECT_THAT(line.file, HasSubstr(".bpf.")) << name;
        EXPECT_GT(line.line, 0u);
        EXPECT_FALSE(line.text.empty());
      }
    }
  }
}

TEST(Object, describes_maps) {
  auto object = read_object("memheat", test::compile_file(test::probe_path("memheat")), {});
  ASSERT_TRUE(object) << object.error().message;
  ASSERT_EQ(object->maps.size(), 3u);
  const MapSpec &heat = object->maps[0];
  EXPECT_EQ(heat.name, "heat");
  EXPECT_EQ(heat.shape.type, map::Type::hash);
  EXPECT_EQ(heat.shape.key_size, 8u);
  EXPECT_EQ(heat.shape.value_size, 24u);
  EXPECT_EQ(heat.shape.max_entries, 65536u);
  EXPECT_NE(heat.key_type_id, 0u);
  std::map<std::string, const MapSpec *> by_name;
  for (const MapSpec &map : object->maps) by_name[map.name] = &map;
  ASSERT_TRUE(by_name.contains(".bss") && by_name.contains(".rodata"));
  EXPECT_FALSE(by_name[".bss"]->internal);
  EXPECT_EQ(by_name[".bss"]->shape.value_size, 8u);
  EXPECT_TRUE(by_name[".bss"]->initial.empty());
  EXPECT_TRUE(by_name[".rodata"]->read_only && by_name[".rodata"]->internal);
  EXPECT_EQ(by_name[".rodata"]->shape.value_size, 32u);
  EXPECT_EQ(object->programs.size(), 2u);
  auto timed = read_object("blockdur", test::compile_file(test::probe_path("blockdur")), {});
  ASSERT_TRUE(timed);
  EXPECT_EQ(timed->maps[0].unit, "ns");
}

TEST(Object, adds_the_printk_ring) {
  auto object = read_object("args", test::compile_file(test::probe_path("args")), {});
  ASSERT_TRUE(object) << object.error().message;
  ASSERT_EQ(object->maps.back().name, "printk");
  EXPECT_TRUE(object->maps.back().internal);
  EXPECT_EQ(object->maps.back().shape.type, map::Type::ringbuf);
}

uint64_t rodata(const Object &object, size_t offset, size_t bytes) {
  for (const MapSpec &map : object.maps) {
    uint64_t value = 0;
    if (map.name == ".rodata") return std::memcpy(&value, map.initial.data() + offset, bytes), value;
  }
  return ~uint64_t{0};
}

TEST(Object, sets_constants) {
  struct Row {
    const char *declaration, *value;
    size_t bytes;
    uint64_t expected;
  };
  const Row table[] = {
      {"const volatile u32 c = 7;", "23", 4, 23},
      {"const volatile u32 c = 7;", "0x10", 4, 16},
      {"const volatile u32 c = 7;", "010", 4, 8},
      {"const volatile u32 c;", "4294967295", 4, 4294967295u},
      {"const volatile u8 c = 7;", "255", 1, 255},
      {"const volatile s32 c = 7;", "-2", 4, 0xfffffffeu},
      {"const volatile s64 c = 7;", "-9223372036854775808", 8, uint64_t{1} << 63},
      {"const volatile u64 c = 7;", "18446744073709551615", 8, ~uint64_t{0}},
      {"const volatile bool c = 0;", "true", 1, 1},
      {"enum e { red, green = 5 }; const volatile enum e c;", "green", 4, 5},
      {"static const volatile u16 c = 7;", "300", 2, 300},
  };
  for (const Row &row : table) {
    auto elf = test::compile_text(std::string(row.declaration) +
                                  "\nSEC(\"gpu/entry\") int f(void *x) { return c; }\n");
    auto object = read_object("t", elf, {{"c", row.value}});
    ASSERT_TRUE(object) << row.declaration << ": " << object.error().message;
    EXPECT_EQ(rodata(*object, 0, row.bytes), row.expected) << row.declaration;
  }
}

TEST(Object, refuses_constants) {
  const std::string text =
      "const volatile u8 small = 1; const volatile bool flag; const volatile __s8 sign; u64 counter; u64 "
      "started = 5;\n"
      "SEC(\"gpu/entry\") int f(void *x) { counter++; started++; return small + flag + sign; }\n";
  auto elf = test::compile_text(text);
  struct Row {
    const char *name, *value, *message;
  };
  const Row table[] = {
      {"small", "256", "t: -s small: '256' does not fit: the variable holds 0 to 255"},
      {"small", "-1", "does not fit"},
      {"small", "99999999999999999999", "does not fit"},
      {"sign", "128", "the variable holds -128 to 127"},
      {"sign", "-129", "does not fit"},
      {"flag", "2", "does not fit"},
      {"flag", "maybe", "not an integer: 'maybe'"},
      {"small", "", "not an integer"},
      {"small", "1x", "not an integer"},
      {"smal", "1", "no such variable; did you mean 'small'?"},
      {"zzz", "1", "the object has flag, sign, small"},
      {"counter", "1", "cannot be set, because it is in .bss"},
      {"started", "1", "cannot be set, because it is in .data"},
  };
  for (const Row &row : table) {
    auto object = read_object("t", elf, {{row.name, row.value}});
    ASSERT_FALSE(object) << row.name << "=" << row.value;
    EXPECT_THAT(object.error().message, HasSubstr(row.message));
  }
}

// Lines follow subprograms: a static one in .text, a global one, and one that calls another.
TEST(Object, lines_follow_subprograms) {
  auto elf = test::compile_text(
      "static __attribute__((noinline)) u64 twice(u64 v) {\n"
      "  return v * 2;\n"
      "}\n"
      "__attribute__((noinline)) u64 plus(u64 v) {\n"
      "  return twice(v) + 13;\n"
      "}\n"
      "SEC(\"gpu/entry\") int first(struct gpu_ctx *c) {\n"
      "  return twice(c->sm_id);\n"
      "}\n"
      "SEC(\"gpu/entry\") int second(struct gpu_ctx *c) {\n"
      "  return plus(c->sm_id) + twice(c->lane_id);\n"
      "}\n");
  auto object = read_object("t", elf, {});
  ASSERT_TRUE(object) << object.error().message;
  ASSERT_EQ(object->programs.size(), 2u);
  const Program &second = object->programs[1];
  EXPECT_EQ(second.name, "second");
  ASSERT_EQ(second.subprogram_names.size(), 3u);
  std::map<std::string, std::pair<uint32_t, uint32_t>> ranges = {
      {"twice", {1, 3}}, {"plus", {4, 6}}, {"second", {10, 12}}};
  for (size_t s = 0; s < 3; ++s) {
    auto begin = static_cast<size_t>(second.subprogram_starts[s]);
    size_t end = s + 1 < 3 ? static_cast<size_t>(second.subprogram_starts[s + 1]) : second.insns.size();
    auto [low, high] = ranges.at(second.subprogram_names[s]);
    for (size_t i = begin; i < end; ++i) {
      ASSERT_GE(second.insns[i].source, 0);
      uint32_t line = second.lines[static_cast<size_t>(second.insns[i].source)].line;
      EXPECT_TRUE(line >= low && line <= high) << second.subprogram_names[s] << " line " << line;
    }
  }
}

TEST(Object, refuses) {
  struct Row {
    std::string text, flags, message;
  };
  const std::string program = "SEC(\"gpu/entry\") int f(void *x) { return 0; }\n";
  const Row table[] = {
      {program, "-O2", "t: no BTF type information; compile with -g"},
      {"int x = 3;\n", "-O2 -g", "t: no program"},
      {"SEC(\"tp/x/y\") int f(void *x) { return 0; }\n", "-O2 -g", "t: SEC(\"tp/x/y\") is not a probe"},
      {"int f(void *x) { return 0; }\n", "-O2 -g", "t: SEC(\".text\") is not a probe"},
      {"extern int missing;\nSEC(\"gpu/entry\") int f(void *x) { return missing; }\n", "-O2 -g", "missing"},
      {"struct { __uint(type, 27); __uint(max_entries, 4096); } r SEC(\".maps\");\n" + program, "-O2 -g",
       "t: map 'r': map type RINGBUF is not supported yet"},
      {"struct { __uint(type, 2); __uint(max_entries, 4); __type(key, u64); __type(value, u64); } r "
       "SEC(\".maps\");\n" +
           program,
       "-O2 -g", "the key of an array must have 4 bytes"},
      {"struct { __uint(type, 1); __type(key, u64); __type(value, u64); } r SEC(\".maps\");\n" + program,
       "-O2 -g", "max_entries is 0"},
      {"struct { __uint(type, 1); __uint(max_entries, 4); __uint(map_flags, 1024); __type(key, u64); "
       "__type(value, "
       "u64); } r SEC(\".maps\");\n" +
           program,
       "-O2 -g", "BPF_F_MMAPABLE is not supported yet"},
  };
  for (const Row &row : table) {
    auto elf = test::compile_text(row.text, row.flags);
    ASSERT_FALSE(elf.empty()) << row.text;
    auto object = read_object("t", elf, {});
    ASSERT_FALSE(object) << row.text;
    EXPECT_THAT(object.error().message, HasSubstr(row.message));
  }
}

TEST(Object, refuses_what_is_not_an_object) {
  EXPECT_THAT(read_object("t", {}, {}).error().message,
              HasSubstr("t: not a usable BPF object: no ELF header"));
  auto host = test::read_bytes("/proc/self/exe");
  EXPECT_THAT(read_object("t", host, {}).error().message, HasSubstr("another machine"));
}

// Every truncation is an error; any changed byte gives an error or an object, never a crash.
TEST(Object, survives_damage) {
  auto elf = test::compile_text(std::string(kMap) +
                                "const volatile u32 c = 1;\n"
                                "static __attribute__((noinline)) u64 twice(u64 v) { return v * c; }\n"
                                "SEC(\"gpu/entry\") int f(struct gpu_ctx *x) { u32 k = x->sm_id; u64 *v = "
                                "bpf_map_lookup_elem(&m, &k); if (v) *v += twice(k); return 0; }\n");
  ASSERT_TRUE(read_object("t", elf, {}));
  for (size_t size = 0; size < elf.size(); size += 61) {
    std::vector<uint8_t> cut(elf.begin(), elf.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_object("t", cut, {})) << size;
  }
  uint32_t random = 23;
  for (int round = 0; round < 4000; ++round) {
    std::vector<uint8_t> damaged = elf;
    for (int i = 0; i < 3; ++i) {
      random = random * 1664525 + 1013904223;
      size_t at = (random >> 8) % damaged.size();
      random = random * 1664525 + 1013904223;
      damaged[at] = static_cast<uint8_t>(random >> 24);
    }
    (void)!read_object("t", damaged, {});
  }
}

}  // namespace
}  // namespace egpu::bpf
