#include "lib/loader/ptx/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char *kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string kernel(const std::string &body, const std::string &parameters = "") {
  return kHead + (".visible .entry k(" + parameters +
                  ")\n{\n\t.reg .pred %p<4>;\n\t.reg .b32 %r<9>;\n"
                  "\t.reg .b64 %rd<9>;\n" +
                  body + "}\n");
}

// Is `first` before `second`, both in the text?
bool in_order(const std::string &text, const std::string &first, const std::string &second) {
  size_t a = text.find(first);
  return a != std::string::npos && text.find(second, a) != std::string::npos;
}

struct SiteRow {
  const char *name, *event, *body;
  std::vector<const char *> where;
};

TEST(Sites, are_found) {
  const SiteRow rows[] = {
      {"entry", "thread/entry", "ret;\n", {"ptx:9"}},
      {"ret", "thread/exit", "@%p1 ret;\nret;\n", {"ptx:9", "ptx:10"}},
      {"exit", "thread/exit", "{ @!%p1 exit; }\nret.uni;\n", {"ptx:9", "ptx:10"}},
      {"trap is no exit", "thread/exit", "trap;\n", {}},
      {"end", "thread/exit", "mov.u32 %r1, 0;\n", {"ptx:10"}},
      {"end by a label", "thread/exit", "@%p1 bra L;\nret;\nL:\n", {"ptx:10", "ptx:12"}},
      {"debugger's labels", "thread/exit", "ret;\n$L__tmp1:\n$L__func_end0:\n", {"ptx:9"}},
      {"endless loop", "thread/exit", "L: bra L;\n", {}},
      {"empty body", "thread/exit", "", {"ptx:9"}},
      {"loads", "thread/ld.global", "ld.global.u32 %r1, [%rd1];\nld.u32 %r1, [%rd1];\nret;\n", {"ptx:9"}},
      {"parameters are no memory", "thread/ld", "ld.param.u32 %r1, [x];\nret;\n", {}},
      {"branches", "warp/bra", "L:\n@%p1 bra L;\nbra.uni L;\n", {"ptx:10", "ptx:11"}},
      {"lines of the source", "thread/exit", ".loc 1 7 3\nmov.u32 %r1, 0;\n.loc 1 8 1\nret;\n", {"a.cu:8"}},
      {"lines of the source, entry", "thread/entry", ".loc 1 7 3\nret;\n", {"a.cu:7"}},
  };
  for (const SiteRow &row : rows) {
    std::string text = kernel(row.body, ".param .u32 x") + ".file 1 \"/tmp/a.cu\"\n";
    auto p = plan(text, {empty_probe(row.event)}, 7);
    ASSERT_TRUE(p) << row.name << ": " << p.error().message;
    ASSERT_EQ(p->kernels.size(), 1u);
    EXPECT_EQ(p->kernels[0].refused, "") << row.name;
    std::vector<std::string> where;
    uint32_t id = 7;
    for (const Site &s : p->kernels[0].sites) {
      EXPECT_EQ(s.id, id++) << row.name;
      where.push_back(s.where);
    }
    EXPECT_EQ(where, std::vector<std::string>(row.where.begin(), row.where.end())) << row.name;
  }
}

TEST(Sites, ids_run_over_all_kernels_in_text_order) {
  std::string text =
      kHead + std::string(".entry a() { @%p exit; ret; }\n.entry b { ret; }\n.entry c() { ret; }\n");
  auto p = plan(
      text, {empty_probe("thread/exit/a"), empty_probe("thread/entry/?"), empty_probe("thread/exit/c")}, 40);
  ASSERT_TRUE(p) << p.error().message;
  std::vector<std::string> all;
  for (const KernelPlan &k : p->kernels)
    for (const Site &s : k.sites)
      all.push_back(k.name + std::to_string(s.id) + ":" + std::to_string(s.probe));
  EXPECT_THAT(all, ElementsAre("a40:1", "a41:0", "a42:0", "b43:1", "c44:1", "c45:2"));
}

struct RefusalRow {
  const char *name, *event, *text, *refused;
};

TEST(Refusals, say_why) {
  const std::string head = kHead;
  const std::pair<RefusalRow, std::string> rows[] = {
      {{"event", "thread/mma.sync", "", "event mma.sync is not supported yet"}, kernel("ret;\n")},
      {{"grid", "grid/ld", "", "grid scope has only entry and exit"}, kernel("ret;\n")},
      {{"old", "thread/entry", "", "needs sm_70, the module is for sm_61"},
       ".version 6.0\n.target sm_61\n.address_size 64\n.entry k() { ret; }"},
      {{"narrow", "thread/entry", "", "needs .address_size 64"},
       ".version 6.0\n.target sm_75\n.entry k() { ret; }"},
      {{"name", "thread/entry", "", "names that begin with egpu_ are ours"},
       kernel(".reg .b32 egpu_x;\nmov.b32 egpu_x, 0;\nret;\n")},
      {{"pointer", "thread/entry", "", "line 9: calls a function through a pointer"},
       kernel("call %rd1, p;\nret;\n")},
      {{"elsewhere", "thread/entry", "", "calls f, which is not in this module"},
       head + ".extern .func f (.param .b32 x);\n.entry k() { .param .b32 a; call f, (a); ret; }"},
      {{"address", "thread/entry", "", "takes the address of function f"},
       head + ".func f () { ret; }\n.entry k() { .reg .b64 a; mov.u64 a, f; ret; }"},
      {{"table", "thread/entry", "", "variable t holds the address of function f"},
       head + ".func f () { ret; }\n.global .u64 u[2] = {f, 0};\n.global .u64 t = generic(u);\n"
              ".entry k() { .reg .b64 a; ld.global.u64 a, [t]; ret; }"},
      {{"table in a callee", "thread/entry", "", "variable t holds the address of function f"},
       head + ".func f () { ret; }\n.global .u64 t = f;\n.func g () { .reg .b64 a; ld.global.u64 a, [t]; "
              "ret; }\n"
              ".entry k() { call g; ret; }"},
      {{"texture", "thread/entry", "", "uses the texture or surface reference t"},
       head + ".global .texref t;\n.entry k() { .reg .f32 f<5>; tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [t, "
              "{f4}]; ret; }"},
      {{"space", "thread/entry", "", "isspacep.const sees the address space of constants"},
       kernel("isspacep.const %p1, %rd1;\nret;\n")},
      {{"bulk", "thread/st", "", "st.bulk.weak.shared::cta is not supported yet"},
       kernel("st.bulk.weak.shared::cta [%rd1], 16, 0;\nret;\n")},
      {{"shared memory", "block/exit", "", "exceed 48 KiB"},
       kernel(".shared .b8 s[49150];\nst.shared.u8 [s], %r1;\nret;\n")},
      {{"parameters", "grid/exit", "", "leave no room for the two that probes need"},
       ".version 7.0\n.target sm_75\n.address_size 64\n.entry k(.param .align 8 .b8 p[4088]) { ret; }"},
      {{"parameters fit", "grid/exit", "", ""},
       ".version 7.0\n.target sm_75\n.address_size 64\n.entry k(.param .align 8 .b8 p[4080]) { ret; }"},
      {{"big parameters", "grid/exit", "", ""},
       head.substr(0, 9) + "8.1" + head.substr(12) + ".entry k(.param .align 8 .b8 p[4088]) { ret; }"},
  };
  for (const auto &[row, text] : rows) {
    auto p = plan(text, {empty_probe(row.event)}, 0);
    ASSERT_TRUE(p) << row.name << ": " << p.error().message;
    ASSERT_EQ(p->kernels.size(), 1u) << row.name;
    if (*row.refused == '\0') {
      EXPECT_EQ(p->kernels[0].refused, "") << row.name;
      continue;
    }
    EXPECT_THAT(p->kernels[0].refused, HasSubstr(row.refused)) << row.name;
    EXPECT_EQ(patched(text, {empty_probe(row.event)}).text, "") << row.name;
  }
}

TEST(Refusals, leave_other_kernels_alone) {
  std::string text =
      kHead +
      std::string(".entry bad() { call p, q; ret; }\n.entry good() { ret; }\n.entry other() { ret; }");
  Patched out = patched(text, {empty_probe("thread/entry/*d")});
  EXPECT_NE(out.kernels[0].refused, "");
  EXPECT_EQ(out.kernels[1].refused, "");
  EXPECT_THAT(out.text, Not(HasSubstr("bad")));
  EXPECT_THAT(out.text, HasSubstr("good"));
  EXPECT_THAT(out.text, Not(HasSubstr("other")));
}

TEST(Refusals, missing_address) {
  std::string text =
      kHead + std::string(".global .u32 x;\n.entry k() { .reg .b32 a; ld.global.u32 a, [x]; ret; }");
  std::vector<Probe> probes = {empty_probe("thread/entry")};
  auto p = plan(text, probes, 0);
  ASSERT_TRUE(p);
  EXPECT_THAT(p->globals, ElementsAre("x"));
  auto out = patch(*p, probes, {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->kernels[0].refused, "the driver does not give the address of its variable x");
  EXPECT_EQ(out->text, "");
}

TEST(Refusals, bad_bodies_are_errors) {
  for (const char *body : {"}", "{", "\"", "{ /*"}) {
    Probe p = empty_probe("thread/entry");
    p.body = body;
    auto out = plan(kernel("ret;\n"), {p}, 0);
    ASSERT_FALSE(out) << body;
    EXPECT_THAT(out.error().message, HasSubstr("body of empty: ")) << body;
  }
  std::vector<Probe> probes = {empty_probe("thread/entry")};
  probes[0].symbols = {"egpu_addr"};
  auto p = plan(kernel("ret;\n"), probes, 0);
  ASSERT_TRUE(p);
  auto out = patch(*p, probes, bindings_for(*p));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "empty: egpu_addr has no value at this event");
}

TEST(Patch, entry_runs_once_before_a_loop_to_the_first_block) {
  std::string text = kernel(
      "L:\n\t.reg .b32 late;\n\tmov.u32 late, %tid.x;\n\tsetp.eq.u32 %p1, late, 9;\n\t@%p1 bra L;\n\tret;\n");
  Patched out = patched(text, {counter_probe("thread/entry")});
  EXPECT_TRUE(in_order(out.text, "egpu site", "\nL:"));
  EXPECT_EQ(count(out.text, "red.global.add.u64"), 1u);
  expect_assembles(out.text);
}

TEST(Patch, predicated_exit_runs_the_body_under_the_predicate) {
  std::string text = kernel("\t@%p1 ret;\n\t@!%p2 exit;\n\tret;\n");
  Patched out = patched(text, {counter_probe("thread/exit")});
  EXPECT_TRUE(in_order(out.text, "@!%p1 bra egpu_past_100;", "egpu_past_100:\n@%p1 ret;"));
  EXPECT_TRUE(in_order(out.text, "@%p2 bra egpu_past_101;", "egpu_past_101:\n@!%p2 exit;"));
  EXPECT_EQ(count(out.text, "red.global.add.u64"), 3u);
  expect_assembles(out.text);
}

TEST(Patch, probes_of_one_site_run_in_probe_order) {
  std::vector<Probe> probes = {counter_probe("thread/entry"), empty_probe("warp/entry"),
                               counter_probe("grid/entry")};
  probes[1].body = "\t// second\n\tmembar.cta;\n";
  Patched out = patched(kernel("\tret;\n"), probes);
  EXPECT_TRUE(in_order(out.text, "egpu site 100", "egpu site 101"));
  EXPECT_TRUE(in_order(out.text, "egpu site 101", "membar.cta"));
  EXPECT_TRUE(in_order(out.text, "membar.cta", "egpu site 102"));
  expect_assembles(out.text);
}

struct ParameterRow {
  const char *before, *after;
};

TEST(Patch, launch_parameters_are_appended) {
  const std::string both = "\t.param .u64 egpu_param_launch_ns,\n\t.param .u64 egpu_param_launch_slot\n)";
  const ParameterRow rows[] = {{".entry k { ret; }", ".entry k(\n"},
                               {".entry k() { ret; }", ".entry k(\n"},
                               {".entry k(.param .u32 a) { ret; }", ".entry k(.param .u32 a,\n"}};
  for (const ParameterRow &row : rows) {
    Patched out = patched(std::string(kHead) + row.before, {full_probe("grid/entry")});
    EXPECT_THAT(out.text, HasSubstr(row.after + both)) << row.before;
    EXPECT_TRUE(out.kernels[0].adds_launch_parameters);
    expect_assembles(out.text);
    Patched none = patched(std::string(kHead) + row.before, {counter_probe("grid/entry")});
    EXPECT_FALSE(none.kernels[0].adds_launch_parameters);
    EXPECT_THAT(none.text, Not(HasSubstr("egpu_param")));
  }
}

TEST(Patch, variables_of_the_original_are_read_by_address) {
  std::string text = kHead + std::string(R"(
.const .align 4 .f32 c[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .global .align 4 .u32 g;
.global .attribute(.managed) .align 4 .u32 m;
.global .align 1 .b8 $str$1[3] = {37, 100};
.global .u32 unused;
.shared .align 4 .b8 s[64];
.shared .align 4 .b8 other[64];
.func (.param .b32 r) f () { .reg .b32 a; ld.const.b32 a, [c+4]; st.param.b32 [r], a; ret; }
.entry k() {
	.reg .b32 a<4>; .reg .b64 d<9>; .param .b32 r;
	mov.u64 d1, c;
	ld.const.v2.f32 {a1, a2}, [d1+8];
	mov.u64 d2, g+16;
	cvta.const.u64 d3, c+-4;
	cvta.to.const.u64 d3, d3;
	st.global.u32 [g+4], a1;
	atom.global.add.u32 a3, [m], 1;
	cvta.global.u64 d4, $str$1;
	st.shared.u32 [s], a1;
	call (r), f;
	ret;
}
)");
  std::vector<Probe> probes = {empty_probe("thread/entry")};
  auto p = plan(text, probes, 0);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_THAT(p->globals, ElementsAre("c", "g", "m"));
  Patched out = patched(text, probes);
  for (const char *gone : {".const", ".global .align 4 .u32 g;", ".managed", "unused", "other"})
    EXPECT_THAT(out.text, Not(HasSubstr(gone)));
  for (const char *there :
       {"ld.global.nc.v2.f32 {a1, a2}, [d1+8];", "add.s64 d2, g, 16;", "add.s64 d3, c, -4;",
        "cvta.to.global.u64 d3, d3;", "st.global.u32 [g+4], a1;", ".b8 $str$1[3] = {37, 100};",
        ".shared .align 16 .b8 s[64];", "mov.b64 g, 0x7f0000000200;"})
    EXPECT_THAT(out.text, HasSubstr(there));
  EXPECT_EQ(count(out.text, ".reg .b64 c;"), 2u);  // in the kernel and in the function
  expect_assembles(out.text);
}

TEST(Patch, functions_with_sites_are_copied_for_each_kernel) {
  std::string text = kHead + std::string(R"(
.func leaf (.param .b32 x);
.func plain () { ret; }
.func middle () { .param .b32 a; call leaf, (a); call plain; ret; }
.func leaf (.param .b32 x) { .reg .pred p; @p exit; ret; }
.alias also, middle;
.entry a() { call middle; ret; }
.entry b() { call also; ret; }
.entry c() { call plain; ret; }
)");
  Patched out = patched(text, {full_probe("block/exit"), full_probe("block/entry")});
  for (const KernelPlan &k : out.kernels) EXPECT_EQ(k.refused, "");
  EXPECT_EQ(out.kernels[0].sites.size(), 3u);
  EXPECT_EQ(out.kernels[2].sites.size(), 2u);
  EXPECT_EQ(count(out.text, ".func plain"), 1u);
  EXPECT_EQ(count(out.text, ".func egpu_0_leaf (.param .b32 x);"), 1u);
  for (const char *call :
       {"call egpu_0_leaf, (a)", "call egpu_1_leaf, (a)", "call egpu_0_middle", "call egpu_1_middle"})
    EXPECT_EQ(count(out.text, call), 1u) << call;
  EXPECT_THAT(out.text, Not(HasSubstr("also")));
  expect_assembles(out.text);
}

TEST(Patch, memory_events_give_generic_address_and_size) {
  std::string text = kHead + std::string(R"(
.shared .align 4 .b8 s[64];
.entry k() {
	.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>; .local .align 8 .b8 l[16];
	ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16];
	@!%p1 st.shared.u16 [%r1+-2], %r2;
	ld.shared.u32 %r1, [s+8];
	ld.local.u64 %rd2, [l+8];
	ld.u8 %r1, [%rd1];
	ret;
})");
  Probe loads = full_probe("thread/ld"), stores = full_probe("warp/st", 1);
  Patched out = patched(text, {loads, stores});
  ASSERT_EQ(out.kernels[0].refused, "");
  EXPECT_EQ(out.kernels[0].sites.size(), 5u);
  for (const char *there :
       {"mov.u64 egpu_addr, %rd1;\n\tadd.s64 egpu_addr, egpu_addr, 16;", "mov.b32 egpu_size, 16;",
        "@%p1 bra egpu_past_101;", "add.s32 egpu_x, %r1, -2;", "mov.b32 egpu_size, 2;",
        "mov.u64 egpu_addr, s;\n\tadd.s64 egpu_addr, egpu_addr, 8;\n\tcvta.shared.u64 egpu_addr, egpu_addr;",
        "cvta.local.u64 egpu_addr, egpu_addr;", "mov.b32 egpu_size, 1;"})
    EXPECT_THAT(out.text, HasSubstr(there));
  EXPECT_TRUE(in_order(out.text, "egpu_past_101:\n@!%p1 st.shared.u16", "ret;"));
  expect_assembles(out.text);
}

TEST(Patch, branches_give_the_taken_mask) {
  Patched out = patched(kernel("L:\n\t@%p1 bra L;\n\t@!%p2 bra L;\n\tbra.uni M;\nM:\n\tret;\n"),
                        {full_probe("warp/bra", 1)});
  EXPECT_THAT(out.text, HasSubstr("vote.sync.ballot.b32 egpu_taken_mask, %p1, egpu_active_mask;"));
  EXPECT_THAT(out.text, HasSubstr("vote.sync.ballot.b32 egpu_taken_mask, !%p2, egpu_active_mask;"));
  EXPECT_THAT(out.text, HasSubstr("mov.b32 egpu_taken_mask, egpu_active_mask;"));
  EXPECT_THAT(out.text, Not(HasSubstr("egpu_past")));  // every lane reaches a branch
  expect_assembles(out.text);
}

struct CookieRow {
  const char *name;
  std::vector<const char *> events;
  uint32_t shared_bytes;
  const char *holds;
};

TEST(Patch, cookies_lie_where_their_scope_needs_them) {
  const CookieRow rows[] = {
      {"thread", {"thread/entry", "thread/exit"}, 0, "mov.b64 egpu_cookie_thread_0, egpu_cookie;"},
      {"entry only", {"block/entry"}, 0, "mov.b64 egpu_cookie_block_0, egpu_cookie;"},
      {"grid entry only", {"grid/entry"}, 0, "mov.b64 egpu_cookie_grid_0, egpu_cookie;"},
      {"warp", {"warp/entry", "warp/exit"}, 2 * 8 + 8, "bar.warp.sync egpu_a;"},
      {"block", {"block/entry", "block/exit"}, 16, "barrier.sync 0;"},
      {"grid", {"grid/entry", "grid/exit"}, 8, "st.global.u64 [egpu_slot+8], egpu_cookie;"},
  };
  for (const CookieRow &row : rows) {
    std::vector<Probe> probes;
    for (const char *e : row.events) probes.push_back(full_probe(e));
    Patched out = patched(std::string(kHead) + ".entry k() .maxntid 33 { ret; }", probes);
    EXPECT_EQ(out.kernels[0].shared_bytes, row.shared_bytes) << row.name;
    EXPECT_THAT(out.text, HasSubstr(row.holds)) << row.name;
    expect_assembles(out.text);
  }
}

TEST(Patch, grid_cookies_of_two_objects_are_refused) {
  Patched out = patched(kernel("ret;\n"), {full_probe("grid/exit"), full_probe("grid/exit", 1)});
  EXPECT_EQ(out.kernels[0].refused, "programs of two objects use the cookie of the grid");
}

// Relocatable code (cuLink*) knows nothing of a shared array's address but its alignment.
TEST(Patch, shared_arrays_are_aligned_for_wide_loads) {
  std::string text = kHead + std::string(
                                 ".shared .b32 m[8];\n.entry k() {\n"
                                 ".shared .align 4 .b8 a[64];\n.shared .align 4 .b8 b[8];\n"
                                 ".reg .b32 r; mov.u32 r, a; mov.u32 r, b; mov.u32 r, m; ret; }");
  Patched out = patched(text, {empty_probe("thread/entry")});
  for (const char *line :
       {".shared .align 16 .b32 m[8];", ".shared .align 16 .b8 a[64];", ".shared .align 4 .b8 b[8];"})
    EXPECT_THAT(out.text, HasSubstr(line));
  expect_assembles(out.text);
}

// The block's counter is ready, and its cookie written, before any thread can leave.
TEST(Patch, entry_programs_run_before_the_barrier) {
  Patched out = patched(kernel("ret;\n"), {full_probe("block/entry"), full_probe("block/exit")});
  EXPECT_LT(out.text.find("egpu site"), out.text.find("barrier.sync 0;"));
  EXPECT_EQ(count(out.text, "fence"), 0u);
}

TEST(Patch, dynamic_shared_memory_keeps_its_alignment) {
  std::string text =
      kHead +
      std::string(".extern .shared .align 16 .b8 d[];\n.entry k() { .reg .b32 a; mov.u32 a, d; ret; }");
  Patched out = patched(text, {full_probe("block/exit")});
  EXPECT_EQ(out.kernels[0].shared_bytes, 1024u);
  EXPECT_THAT(out.text, HasSubstr(".shared .align 1024 .b8 egpu_shared_0[1024];"));
  expect_assembles(out.text);
}

struct ArgumentRow {
  const char *parameter;
  std::vector<const char *> loads;
};

TEST(Patch, arguments_are_zero_extended) {
  const ArgumentRow rows[] = {
      {".param .u64 p", {"ld.param.u64 egpu_arg_0, [p+0];"}},
      {".param .s16 p", {"ld.param.u16 egpu_arg_0, [p+0];"}},
      {".param .align 4 .b8 p[12]", {"ld.param.u32 egpu_arg_0, [p+0];", "ld.param.u32 egpu_x, [p+4];"}},
      {".param .align 2 .b8 p[3]", {"ld.param.u16 egpu_arg_0, [p+0];", "ld.param.u8 egpu_x, [p+2];"}},
      {".param .align 8 .b8 p[6]", {"ld.param.u32 egpu_arg_0, [p+0];", "ld.param.u16 egpu_x, [p+4];"}},
  };
  for (const ArgumentRow &row : rows) {
    Patched out = patched(kernel("ret;\n", row.parameter), {full_probe("thread/entry")});
    for (const char *load : row.loads) EXPECT_THAT(out.text, HasSubstr(load)) << row.parameter;
    EXPECT_EQ(count(out.text, "ld.param") - 1, row.loads.size()) << row.parameter;  // and launch_ns
    EXPECT_THAT(out.text, HasSubstr("mov.b64 egpu_arg_9, 0;"));
    expect_assembles(out.text);
  }
}

TEST(Patch, header_is_kept) {
  std::string text =
      ".version 6.0\n.target sm_90a, debug, texmode_unified\n.address_size 64\n.entry k() { ret; }\n"
      ".section .debug_info { .b64 k }\n";
  Patched out = patched(text, {empty_probe("thread/entry")});
  EXPECT_THAT(
      out.text,
      HasSubstr(".version 6.3 // patched by eGPU\n.target sm_90a, texmode_unified\n.address_size 64\n"));
  EXPECT_THAT(out.text, Not(HasSubstr("debug")));
}

TEST(Patch, many_sites) {
  std::string body;
  for (int i = 0; i < 211; ++i) body += "\tst.global.u32 [%rd1+" + std::to_string(4 * i) + "], %r1;\n";
  Patched out = patched(kernel(body + "\tret;\n"), {counter_probe("thread/st")});
  EXPECT_EQ(out.kernels[0].sites.size(), 211u);
  EXPECT_EQ(count(out.text, "red.global.add.u64"), 211u);
  expect_assembles(out.text);
}

TEST(Patch, labels_of_bodies_are_unique) {
  Patched out = patched(kernel("$L__BB0_1:\n\t@%p1 bra $L__BB0_1;\n\t@%p2 ret;\n\tret;\n"),
                        {full_probe("thread/exit")});
  EXPECT_EQ(count(out.text, "$L__BB0_1:"), 1u);
  EXPECT_EQ(count(out.text, "egpu_label_100_0:"), 1u);
  EXPECT_EQ(count(out.text, "egpu_label_101_0:"), 1u);
  expect_assembles(out.text);
}

}  // namespace
}  // namespace egpu::ptx::test
