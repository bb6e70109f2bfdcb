#include "lib/loader/ptx/module.h"

#include <gtest/gtest.h>

#include "lib/loader/ptx/access.h"

namespace egpu::ptx {
namespace {

constexpr const char *kHead = ".version 6.3\n.target sm_75\n.address_size 64\n";

std::string layout(const std::string &parameters) {
  std::string text = kHead + (".entry k(" + parameters + ") { ret; }");
  auto m = parse(text);
  if (!m) return m.error().message;
  const Function &f = m->functions.at(0);
  std::string out;
  for (const Parameter &p : f.parameters)
    out += std::to_string(p.bytes) + "@" + std::to_string(p.offset) + " ";
  return out + "= " + std::to_string(f.parameter_bytes);
}

TEST(Module, parameter_layout) {
  // cuda-formats.md, section 4: (float*, short, char, double).
  EXPECT_EQ(layout(".param .u64 a, .param .u16 b, .param .u8 c, .param .f64 d"), "8@0 2@8 1@10 8@16 = 24");
  EXPECT_EQ(layout(""), "= 0");
  EXPECT_EQ(layout(".param .u64 .ptr .align 1 x, .param .u32 y"), "8@0 4@8 = 12");
  EXPECT_EQ(layout(".param .u8 x, .param .align 8 .b8 y[32], .param .u8 z"), "1@0 32@8 1@40 = 41");
  EXPECT_EQ(layout(".param .u8 x, .param .align 2 .b8 y[3], .param .u64 .ptr .global .align 16 z"),
            "1@0 3@2 8@8 = 16");
  EXPECT_EQ(layout(".param .align 16 .b32 m[2][3]"), "24@0 = 24");
  EXPECT_EQ(layout(".param .v4 .f32 v"), "16@0 = 16");
}

TEST(Module, header) {
  std::string text =
      std::string(".version 8.7 .target sm_90a, debug .address_size 64 .file 1 \"d/a.cu\", 1, 2\n") +
      ".visible .entry k .maxntid 8, 4, 2 .minnctapersm 2 .pragma \"x\"; { ret; }\n"
      ".func (.param .b32 r) f (.param .b32 p);\n.alias g, f;\n";
  auto m = parse(text);
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->ptx_major, 8u);
  EXPECT_EQ(m->ptx_minor, 7u);
  EXPECT_EQ(m->target, "sm_90a");
  EXPECT_EQ(m->sm, 90u);
  EXPECT_EQ(m->address_size, 64u);
  EXPECT_EQ(m->files.at(1), "d/a.cu");
  ASSERT_EQ(m->functions.size(), 2u);
  EXPECT_TRUE(m->functions[0].entry);
  EXPECT_EQ(m->functions[0].threads, 64u);
  EXPECT_EQ(m->functions[0].parameters_close, 0u);
  EXPECT_FALSE(m->functions[1].has_body);
  EXPECT_EQ(m->functions[1].name, "f");
  EXPECT_EQ(m->aliases.at("g"), "f");
}

TEST(Module, variables) {
  std::string text = kHead + std::string(
                                 ".global .attribute(.managed) .align 4 .u32 m;\n"
                                 ".const .align 16 .b8 c[3][4];\n"
                                 ".global .u64 a = generic(m), b[2] = {m, 0}, d;\n"
                                 ".extern .shared .align 16 .b8 s[];\n"
                                 ".global .texref t;\n");
  auto m = parse(text);
  ASSERT_TRUE(m) << m.error().message;
  ASSERT_EQ(m->variables.size(), 7u);
  EXPECT_TRUE(m->variables[0].managed);
  EXPECT_EQ(m->variables[0].space, ".global");
  EXPECT_EQ(m->variables[1].bytes, 12u);
  EXPECT_EQ(m->variables[1].alignment, 16u);
  EXPECT_EQ(m->slice(m->variables[2].initialiser), "generic(m)");
  EXPECT_EQ(m->slice(m->variables[3].initialiser), "{m, 0}");
  EXPECT_EQ(m->variables[3].bytes, 16u);
  EXPECT_EQ(m->variables[4].name, "d");
  EXPECT_TRUE(m->variables[5].is_extern);
  EXPECT_EQ(m->variables[5].bytes, 0u);
  EXPECT_EQ(m->variables[6].type, ".texref");
}

TEST(Module, statements) {
  std::string text = kHead + std::string(
                                 ".entry k() {\n"
                                 ".reg .b32 %r<3>; L: { @!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+-4]; }\n"
                                 ".loc 1 2 3, function_name $L__i+16, inlined_at 1 4 5\n"
                                 "t: .branchtargets L, M; call (r), f, (a, b); M: }\n");
  auto m = parse(text);
  ASSERT_TRUE(m) << m.error().message;
  std::string kinds;
  for (const Statement &s : m->functions.at(0).body) {
    kinds += "il.{}"[s.kind == StatementKind::instruction ? 0
                     : s.kind == StatementKind::label     ? 1
                     : s.kind == StatementKind::directive ? 2
                     : s.kind == StatementKind::open      ? 3
                                                          : 4];
    kinds += std::to_string(s.depth);
  }
  EXPECT_EQ(kinds, ".0l0{0i1}0.0l0.0i0l0");
  const Statement &load = m->functions[0].body[3];
  EXPECT_EQ(load.predicate, "%p1");
  EXPECT_TRUE(load.negated);
  EXPECT_EQ(m->word(load.mnemonic), "ld.global.v2.u32");
  EXPECT_EQ(m->word(callee_token(*m, m->functions[0].body[8])), "f");
}

TEST(Module, errors) {
  struct Row {
    const char *text, *message;
  };
  const Row rows[] = {
      {".entry k() {\n ret;", "line 1: '{' of k is never closed"},
      {".entry k() {\n ret; }\n}", "line 3: unexpected '}'"},
      {".entry k(\n.param .u32 a { ret; }", "line 1: '(' is never closed"},
      {".entry k() { mov.u32 {a, b), c; }", "line 1: ')' where '}' is expected"},
      {".entry\n", "line 1: .entry without a name"},
      {".func ( .reg .b32 r ) ;", "line 1: .func without a name"},
      {".entry k()", "line 1: function k has no body and no ';'"},
      {".global .u32 x", "line 1: the statement that begins with '.global' does not end"},
      {".entry k() { @ ; }", "line 1: '@' without a predicate register"},
      {".entry k() { ret }", "line 1: unexpected '}'"},
      {"/* x", "line 1: unterminated comment"},
  };
  for (const Row &row : rows) {
    auto m = parse(row.text);
    ASSERT_FALSE(m) << row.text;
    EXPECT_EQ(m.error().message, row.message) << row.text;
  }
}

struct AccessRow {
  const char *statement;
  Space space;
  const char *base;
  int64_t offset;
  uint32_t bytes;
  bool narrow, readable;
};

TEST(Module, accesses) {
  const AccessRow rows[] = {
      {"ld.global.f32 %f1, [%rd1];", Space::global, "%rd1", 0, 4, false, true},
      {"ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];", Space::global, "%rd1", 16, 16, false, true},
      {"st.shared.u8 [%r1+-3], %rs1;", Space::shared, "%r1", -3, 1, true, true},
      {"st.shared::cta.b64 [%r1 - 0x10 + 4], %rd1;", Space::shared, "%r1", -12, 8, true, true},
      {"ld.const.b32 %r1, [table+8];", Space::constant, "table", 8, 4, false, true},
      {"ld.local.v2.b64 {%rd1, %rd2}, [%SP+0];", Space::local, "%SP", 0, 16, false, true},
      {"ld.u16 %rs1, [1024];", Space::generic, "", 1024, 2, false, true},
      {"atom.global.cas.b128 %q, [%rd2+8], %a, %b;", Space::global, "%rd2", 8, 16, false, true},
      {"red.global.add.noftz.f16x2 [%rd2], %r1;", Space::global, "%rd2", 0, 4, false, true},
      {"ld.acquire.sys.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;", Space::global, "%rd1", 0, 4, false,
       true},
      {"st.bulk.weak.shared::cta [%r1], 16, 0;", Space::shared, "", 0, 0, false, false},
      {"ld.global.f32 %f1, [%rd1+%r1];", Space::global, "", 0, 0, false, false},
      {"ld.global.f32 %f1, %rd1;", Space::global, "", 0, 0, false, false},
      {"ld.global %f1, [%rd1];", Space::global, "", 0, 0, false, false},
  };
  for (const AccessRow &row : rows) {
    std::string text =
        kHead + (std::string(".entry k() { .reg .b32 %r<4>; .reg .b64 %rd<3>, %SP; ") + row.statement + " }");
    auto m = parse(text);
    ASSERT_TRUE(m) << m.error().message;
    Names names(*m, m->functions.at(0));
    for (const Statement &s : m->functions[0].body) names.step(s);
    Access a = read_access(*m, names, m->functions[0].body.back());
    EXPECT_EQ(a.problem.empty(), row.readable) << row.statement << a.problem;
    if (!row.readable) continue;
    EXPECT_EQ(a.space, row.space) << row.statement;
    EXPECT_EQ(a.base, row.base) << row.statement;
    EXPECT_EQ(a.offset, row.offset) << row.statement;
    EXPECT_EQ(a.bytes, row.bytes) << row.statement;
    EXPECT_EQ(a.base_is_32_bit, row.narrow) << row.statement;
  }
}

}  // namespace
}  // namespace egpu::ptx
