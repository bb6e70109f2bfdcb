// C to PTX through the whole library, assembled by ptxas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "clang.h"
#include "egpu/bpf2ptx.h"
#include "ptxas.h"

namespace egpu {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<CompiledObject> compile(const std::string &text, const CompileOptions &options = {}) {
  return compile_object("t", test::compile_text(text), options);
}

CompiledProgram only_program(const std::string &text) {
  auto object = compile(text);
  if (!object) {
    ADD_FAILURE() << object.error().message << "\n" << text;
    return {};
  }
  return object->programs.at(0);
}

size_t statements(const std::string &body) {
  size_t count = 0;
  for (size_t at = 0; at < body.size();) {
    size_t end = body.find('\n', at);
    std::string line = body.substr(at, end - at);
    if (line.ends_with(';') && line.find(".reg") == std::string::npos) ++count;
    at = end + 1;
  }
  return count;
}

void expect_assembles(const CompiledProgram &program) {
  if (test::find_ptxas().empty()) return;
  for (const char *arch : {"sm_75", "sm_90"}) {
    auto result = test::assemble(test::kernel_around(program.body, program.symbols, arch), arch);
    EXPECT_TRUE(result.ok) << program.name << " for " << arch << ":\n" << result.log << program.body;
  }
}

TEST(Compile, all_probes) {
  for (const char *name : test::kProbes) {
    auto object = compile_object(name, test::compile_file(test::probe_path(name)), {});
    ASSERT_TRUE(object) << object.error().message;
    for (const CompiledProgram &program : object->programs) {
      EXPECT_THAT(program.body, Not(HasSubstr("ret;"))) << name;
      EXPECT_THAT(program.body, Not(HasSubstr("//"))) << name;
      EXPECT_EQ(program.stack_bytes, 0u) << name;
      expect_assembles(program);
    }
  }
  if (test::find_ptxas().empty()) GTEST_SKIP() << "no ptxas: bodies were not assembled";
}

TEST(Compile, ir_and_architectures) {
  auto elf = test::compile_file(test::probe_path("blockdur"));
  for (const char *arch : {"sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    CompileOptions options;
    options.arch = arch;
    EXPECT_TRUE(compile_object("t", elf, options)) << arch;
  }
  for (const char *arch : {"sm_70", "sm_7", "sm_999", "90", "sm_9x", "", "compute_90"}) {
    CompileOptions options;
    options.arch = arch;
    auto object = compile_object("t", elf, options);
    ASSERT_FALSE(object) << arch;
    EXPECT_THAT(object.error().message, HasSubstr("--arch: not one of sm_75 to sm_120"));
  }
  CompileOptions ir;
  ir.emit_llvm = true;
  auto object = compile_object("t", elf, ir);
  ASSERT_TRUE(object);
  EXPECT_THAT(object->programs[0].body, HasSubstr("define void @prog()"));
}

// What a body adds to a kernel, seen by ptxas: a kernel that only reads the symbols needs the
// same registers give or take a few.
TEST(Compile, few_registers) {
  if (test::find_ptxas().empty()) GTEST_SKIP() << "no ptxas";
  struct Row {
    const char *probe;
    size_t program;
    int most;
  };
  for (const Row &row : {Row{"blockdur", 0, 12}, Row{"blockdur", 1, 20}, Row{"smload", 1, 24},
                         Row{"kcount", 0, 32}, Row{"memheat", 0, 40}}) {
    auto object = compile_object(row.probe, test::compile_file(test::probe_path(row.probe)), {});
    ASSERT_TRUE(object);
    const CompiledProgram &program = object->programs[row.program];
    auto result = test::assemble(test::kernel_around(program.body, program.symbols, "sm_90"), "sm_90");
    ASSERT_TRUE(result.ok) << result.log;
    EXPECT_LE(result.registers, row.most) << row.probe << " " << program.name;
    EXPECT_THAT(result.log, HasSubstr("0 bytes stack frame")) << row.probe;
  }
}

const char *const kCounter =
    "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, "
    "u64); } m "
    "SEC(\".maps\");\n"
    "u64 n;\n";

// The cost that the design promises: a counter in a global is an address and a `red`.
TEST(Compile, a_counter_is_small) {
  CompiledProgram global =
      only_program("u64 n;\nSEC(\"gpu/entry\") int f(void *c) { __sync_fetch_and_add(&n, 1); return 0; }\n");
  EXPECT_LE(statements(global.body), 8u) << global.body;
  EXPECT_THAT(global.body, HasSubstr("red.global.add.u64"));
  CompiledProgram array =
      only_program(std::string(kCounter) +
                   "SEC(\"gpu/entry\") int f(void *c) { u32 k = 0; u64 *v = "
                   "bpf_map_lookup_elem(&m, &k); if (v) __sync_fetch_and_add(v, 1); return 0; }\n");
  EXPECT_LE(statements(array.body), 8u) << array.body;
  EXPECT_THAT(array.body, Not(HasSubstr("bra"))) << "the NULL test of a constant key is decided\n"
                                                 << array.body;
}

TEST(Compile, an_empty_program_is_nothing) {
  EXPECT_EQ(statements(only_program("SEC(\"gpu/entry\") int f(void *c) { return 0; }\n").body), 0u);
}

TEST(Compile, symbols_are_those_used) {
  struct Row {
    const char *section, *context, *expression;
    std::set<std::string> symbols;
  };
  const Row table[] = {
      {"gpu/entry", "gpu_ctx", "c->kernel", {"egpu_kernel"}},
      {"gpu/entry", "gpu_ctx", "c->site", {"egpu_site"}},
      {"gpu/entry", "gpu_ctx", "c->launch_ns", {"egpu_launch_ns"}},
      {"gpu/entry", "gpu_ctx", "c->arg[3]", {"egpu_arg_3"}},
      {"gpu/entry", "gpu_ctx", "c->arg[11]", {"egpu_arg_11"}},
      {"gpu/entry", "gpu_ctx", "c->active_mask", {"egpu_active_mask"}},
      {"gpu/entry", "gpu_ctx", "c->sm_id + c->lane_id + c->grid_dim.z + c->thread_idx.y", {}},
      {"gpu/ld", "gpu_mem_ctx", "c->addr", {"egpu_addr"}},
      {"gpu/st.global", "gpu_mem_ctx", "c->size", {"egpu_size"}},
      {"gpu/bra", "gpu_branch_ctx", "c->taken_mask", {"egpu_taken_mask"}},
      {"gpu/entry", "gpu_ctx", "bpf_ktime_get_ns()", {"egpu_ktime_offset"}},
      {"gpu/st", "gpu_mem_ctx", "gpu_ballot(c->addr & 4)", {"egpu_addr"}},
      {"gpu/entry", "gpu_ctx", "bpf_get_prandom_u32() + gpu_clock() + bpf_get_smp_processor_id()", {}},
  };
  for (const Row &row : table) {
    std::string text = "u64 n;\nSEC(\"" + std::string(row.section) + "\") int f(struct " + row.context +
                       " *c) { __sync_fetch_and_add(&n, " + row.expression + "); return 0; }\n";
    CompiledProgram program = only_program(text);
    std::set<std::string> expected = row.symbols;
    expected.insert("egpu_shard_0");
    EXPECT_EQ(program.symbols, expected) << row.expression;
    EXPECT_FALSE(program.writes_cookie);
    expect_assembles(program);
  }
}

TEST(Compile, cookies) {
  auto object = compile(
      "u64 n;\n"
      "SEC(\"gpu/entry\") int a(void *c) { *gpu_cookie(c) = gpu_clock(); return 0; }\n"
      "SEC(\"gpu/exit\") int b(void *c) { __sync_fetch_and_add(&n, gpu_clock() - *gpu_cookie(c)); return 0; "
      "}\n"
      "SEC(\"gpu/exit\") int d(void *c) { *gpu_cookie(c) += 7; return 0; }\n");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_TRUE(object->programs[0].writes_cookie);
  EXPECT_FALSE(object->programs[1].writes_cookie);
  EXPECT_TRUE(object->programs[1].symbols.contains("egpu_cookie"));
  EXPECT_TRUE(object->programs[2].writes_cookie);
  for (const CompiledProgram &program : object->programs) expect_assembles(program);
}

// Over all programs of the object; `m` is the map at hand.
TEST(Compile, decides_sharding) {
  const std::string hash =
      "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, u32); __type(value, "
      "u64); } m "
      "SEC(\".maps\");\n";
  const std::string percpu =
      "struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 8); __type(key, u32); "
      "__type(value, "
      "u64); } m SEC(\".maps\");\n";
  struct Row {
    std::string map, body;
    bool sharded, summed;
  };
  const Row table[] = {
      {hash, "__sync_fetch_and_add(v, 1);", true, true},
      {hash, "__sync_fetch_and_add(v, 1); u64 z = 0; bpf_map_update_elem(&m, &k, &z, BPF_NOEXIST);", true,
       true},
      {hash, "__sync_fetch_and_add(v, 1); u64 z = 0; bpf_map_update_elem(&m, &k, &z, BPF_ANY);", false,
       false},
      {hash, "__sync_fetch_and_add(v, *v);", false, false},
      {hash, "*v = 1;", false, false},
      {hash, "__sync_fetch_and_or(v, 1);", false, false},
      {hash, "u64 old = __sync_fetch_and_add(v, 1); if (old == 7) n = 1;", false, false},
      {hash, "", false, false},
      {percpu, "(*v)++;", true, false},
      {percpu, "__sync_fetch_and_add(v, 1);", true, false},
  };
  for (const Row &row : table) {
    auto object = compile("u64 n;\n" + row.map +
                          "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) { u32 k = c->lane_id; u64 *v = "
                          "bpf_map_lookup_elem(&m, &k); if (!v) return 0; " +
                          row.body + " return 0; }\n");
    ASSERT_TRUE(object) << row.body << object.error().message;
    const MapSpec &m = object->maps[0];
    EXPECT_EQ(m.name, "m");
    EXPECT_EQ(m.sharded, row.sharded) << row.body;
    EXPECT_EQ(m.summed, row.summed) << row.body;
    for (const CompiledProgram &program : object->programs) expect_assembles(program);
  }
  auto two = compile(
      "u64 n;\nSEC(\"gpu/entry\") int a(void *c) { __sync_fetch_and_add(&n, 1); return 0; }\n"
      "SEC(\"gpu/entry\") int b(struct gpu_ctx *c) { n = c->sm_id; return 0; }\n");
  ASSERT_TRUE(two);
  EXPECT_FALSE(two->maps[0].sharded) << "one program adds, the other stores";
  EXPECT_FALSE(two->programs[0].symbols.contains("egpu_shard_0"));
}

// What each construct turns into: the statement that has to be there.
TEST(Compile, constructs_assemble) {
  struct Row {
    const char *name, *declarations, *body, *statement;
  };
  const char *const keys =
      "struct key { u32 a; unsigned char b[7]; } __attribute__((packed));\n"
      "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 64); __type(key, struct key); "
      "__type(value, "
      "__u8[13]); } h SEC(\".maps\");\n"
      "struct { __uint(type, BPF_MAP_TYPE_PERCPU_HASH); __uint(max_entries, 64); __type(key, u64[3]); "
      "__type(value, "
      "u64[40]); } big SEC(\".maps\");\n"
      "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 64); __type(key, u32); __type(value, "
      "u64); } "
      "a SEC(\".maps\");\n";
  const Row table[] = {
      {"udiv", "u64 x, y;", "x = c->launch_ns / c->arg[0];", "div.u64"},
      {"umod", "u64 x, y;", "x = c->launch_ns % c->arg[0];", "rem.u64"},
      {"mul", "u64 x;", "x = c->launch_ns * c->arg[0];", "mul.lo.s64"},
      {"swap", "u64 x;", "x = __builtin_bswap64(c->arg[0]);", "prmt"},
      {"rotate", "u64 x;", "x = (c->launch_ns << 13 | c->launch_ns >> 51) * c->arg[0];", "add.u64"},
      {"rotate by a register", "u64 x;",
       "x = c->launch_ns << (c->arg[0] & 63) | c->launch_ns >> (-c->arg[0] & 63);", "shr.b64"},
      {"or", "u64 x;", "__sync_fetch_and_or(&x, c->arg[0]);", "red.global.or.b64"},
      {"xor", "u32 x;", "__sync_fetch_and_xor(&x, c->lane_id);", "red.global.xor.b32"},
      {"and result", "u32 x, y;", "y = __sync_fetch_and_and(&x, c->lane_id);", "atom.global.and.b32"},
      {"exchange", "u64 x, y;", "y = __sync_lock_test_and_set(&x, 7);", "atom.global.exch.b64"},
      {"compare", "u64 x, y;", "y = __sync_val_compare_and_swap(&x, 7, 9);", "atom.global.cas.b64"},
      {"shared load", "u64 x;", "x = x + 1;", "ld.volatile.global.u64"},
      {"odd key", keys,
       "struct key k = {}; k.a = c->sm_id; k.b[3] = c->lane_id; __u8 v[13] = {1,2,3}; v[7] = c->lane_id; "
       "bpf_map_update_elem(&h, &k, v, BPF_ANY);",
       "atom.global.cas.b32"},
      {"odd look-up", keys,
       "struct key k = {}; k.a = c->sm_id; __u8 *v = bpf_map_lookup_elem(&h, &k); if (v) v[12] = 3;",
       "st.volatile.global.u8"},
      {"large value", keys,
       "u64 k[3] = {c->sm_id, 1, 2}; u64 v[40]; for (int i = 0; i < 40; i++) v[i] = i * c->lane_id; "
       "bpf_map_update_elem(&big, k, v, BPF_EXIST);",
       "egpu_shard_"},
      {"array update", keys, "u32 k = c->sm_id; u64 v = 7; bpf_map_update_elem(&a, &k, &v, BPF_ANY);",
       "st.global.u64"},
      {"update result",
       "u64 x;\nstruct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 4); __type(key, u32); "
       "__type(value, u64); } s SEC(\".maps\");",
       "u32 k = c->sm_id; u64 v = 7; x = bpf_map_update_elem(&s, &k, &v, c->lane_id & 3);", "st.release.gpu"},
      {"print", "", "bpf_printk(\"%d %llu %%\", c->lane_id, c->launch_ns);", "st.release.gpu.global.u64"},
  };
  for (const Row &row : table) {
    CompiledProgram program =
        only_program(std::string(row.declarations) + "\nSEC(\"gpu/entry\") int f(struct gpu_ctx *c) { " +
                     row.body + " return 0; }\n");
    EXPECT_THAT(program.body, HasSubstr(row.statement)) << row.name;
    expect_assembles(program);
  }
}

TEST(Compile, subprograms_are_put_in_place) {
  CompiledProgram program = only_program(
      "u64 n;\n"
      "static __attribute__((noinline)) void put(u64 *to, u64 v) { *to = v + 1; }\n"
      "static __attribute__((noinline)) u64 twice(u64 v) { u64 t; put(&t, v); return 2 * t; }\n"
      "SEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  __sync_fetch_and_add(&n, twice(c->lane_id) + twice(c->sm_id)); return 0; }\n");
  EXPECT_EQ(program.stack_bytes, 0u) << program.body;
  EXPECT_THAT(program.body, Not(HasSubstr("call")));
  expect_assembles(program);
}

TEST(Compile, a_lookup_table_on_the_stack) {
  CompiledProgram program = only_program(
      "u64 n;\nSEC(\"gpu/entry\") int f(struct gpu_ctx *c) {\n"
      "  u64 t[8]; for (int i = 0; i < 8; i++) t[i] = c->arg[0] + i * c->lane_id;\n"
      "  asm volatile(\"\" ::: \"memory\"); __sync_fetch_and_add(&n, t[c->lane_id & 7]); return 0; }\n");
  EXPECT_GE(program.stack_bytes, 64u);
  EXPECT_LE(program.stack_bytes, 72u);
  expect_assembles(program);
}

TEST(Compile, constants_are_folded) {
  const std::string text =
      "const volatile u32 shift = 3; u64 n;\nSEC(\"gpu/entry\") int f(struct gpu_ctx *c) { "
      "__sync_fetch_and_add(&n, "
      "c->arg[0] >> shift); return 0; }\n";
  CompileOptions options;
  options.constants["shift"] = "21";
  auto object = compile(text, options);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->programs[0].body, HasSubstr(", 21;"));
  for (size_t i = 0; i < object->maps.size(); ++i) {
    if (!object->maps[i].read_only) continue;
    EXPECT_FALSE(object->programs[0].symbols.contains("egpu_map_" + std::to_string(i)));
  }
}

TEST(Compile, names_the_line_of_what_it_refuses) {
  auto object = compile("SEC(\"gpu/entry\") int f(struct gpu_mem_ctx *c) {\n  return c->size;\n}\n");
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message, testing::MatchesRegex("[^\n]*:2:[0-9]+: error: (.|\n)*"));
  EXPECT_THAT(object.error().message, HasSubstr("\n  return c->size;\n"));
}

}  // namespace
}  // namespace egpu
