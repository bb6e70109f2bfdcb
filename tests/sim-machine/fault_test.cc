// Modules that are refused and kernels that fault: what is said, and where.
#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

struct BadModule {
  const char *text, *error;
};
TEST(Load, Errors) {
  const BadModule rows[] = {
      {".entry k() { .reg .b32 %r; add.u32 %r, %r, %x; ret; }", "ptx line 4: unknown symbol '%x'"},
      {".entry k() {\n bra L;\n ret; }", "ptx line 5: unknown label 'L'"},
      {".entry k() { .reg .b64 %r; add.u32 %r, 1, 2; add.u32 %r, %r, %r }",
       "ptx line 4: expected ';', found '}'"},
      {".entry k() { .reg .b16 %r; .reg .b32 %s; add.u32 %s, %r, 1; ret; }",
       "ptx line 4: 'add.u32': operand '%r' is too narrow"},
      {".entry k() { call missing; ret; }", "ptx line 4: unresolved extern function 'missing'"},
      {".extern .global .u32 x;", "ptx line 4: unresolved extern variable 'x'"},
      {".global .u64 x = y;", "ptx line 4: unknown symbol 'y'"},
      {".entry k(.param .u32 a) { .reg .b64 %r; ld.param.u64 %r, [a]; ret; }",
       "ptx line 4: 'ld.param.u64': outside the parameters"},
      {".entry k() { .reg .b32 %r; vadd.u32.u32.u32 %r, %r.h2, %r; ret; }",
       "ptx line 4: 'vadd.u32.u32.u32': no such part of an operand"},
      {".entry k() { .reg .b32 %r; vadd2.u32.u32.u32 %r, %r.h41, %r, %r; ret; }",
       "ptx line 4: 'vadd2.u32.u32.u32': no such part of an operand"},
      {".entry k() { .reg .b32 %r; vset4.u32.u32.lt %r.b43, %r, %r, %r; ret; }",
       "ptx line 4: 'vset4.u32.u32.lt': no such part of an operand"},
      {".entry k() { .reg .b32 %r; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r], [%r], "
       "16; ret; }",
       "ptx line 4: 'cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes' lacks operands"},
      {".entry k() { .reg .b32 %r; /* ", "ptx line 4: unterminated comment"},
      {"garbage", "ptx line 4: expected a directive, found 'garbage'"},
  };
  auto machine = Machine::create(test_config(1));
  for (const BadModule &row : rows) {
    Result<std::shared_ptr<Module>> module = machine->load(with_header(row.text));
    ASSERT_FALSE(module) << row.text;
    EXPECT_EQ(module.error().message, row.error) << row.text;
  }
}

struct BadKernel {
  const char *body, *error;
  Fault::Kind kind;
};
TEST(Faults, Messages) {
  const BadKernel rows[] = {
      {"ld.global.u32 %r, [%q+16];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: ld.global.u32 of 4 bytes at global address 0x10: not "
       "allocated",
       Fault::illegal_address},
      {"ld.global.u32 %r, [%q+2];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: ld.global.u32 of 4 bytes at global address 0x2: not "
       "aligned to 4",
       Fault::misaligned_address},
      {"st.shared.v4.f32 [s+4], {%f,%f,%f,%f};",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: st.shared.v4.f32 of 16 bytes at shared address 0x4: "
       "not aligned to 16",
       Fault::misaligned_address},
      {"mad.lo.u32 %r, %t, 4, 0; st.shared.u32 [%r+16], %t;",
       "kernel k, block (0,0,0), thread (4,0,0), ptx:6: st.shared.u32 of 4 bytes at shared address 0x20: the "
       "block has 32 bytes",
       Fault::illegal_address},
      {"trap;", "kernel k, block (0,0,0), thread (0,0,0), ptx:6: trap", Fault::trap},
      {"setp.eq.u32 %p, %t, 33; @%p trap;", "kernel k, block (0,0,0), thread (33,0,0), ptx:6: trap",
       Fault::trap},
      {"wgmma.fence.sync.aligned;",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: not simulated: wgmma.fence.sync.aligned",
       Fault::not_simulated},
      {"setp.lt.u32 %p, %t, 32; @%p bar.sync 1, 64;",
       "kernel k, block (0,0,0): deadlock: warp 0 lanes 0xffffffff at ptx:6 bar.sync;", Fault::deadlock},
      {"bar.sync 16;", "kernel k, block (0,0,0), thread (0,0,0), ptx:6: barrier 16 of 16",
       Fault::illegal_instruction},
      {".loc 1 12 3\n ld.u32 %r, [%q];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:7 (x.cu:12): ld.u32 of 4 bytes at global address 0x0: "
       "not allocated",
       Fault::illegal_address},
      {"call f, ();", "kernel k, block (0,0,0), thread (0,0,0), function f, ptx:4: trap", Fault::trap},
  };
  for (const BadKernel &row : rows) {
    auto machine = Machine::create(test_config(1));
    std::string text =
        ".file 1 \"/src/x.cu\" .func f() { trap; ret; }\n.entry k() { .reg .b32 %r, %t; .reg .f32 %f; .reg "
        ".pred %p; .reg .b64 %q; .shared .align 16 .b8 s[32];\n";
    auto module = load_or_fail(*machine, with_header(text + row.body + "\nret; }"));
    ASSERT_TRUE(module) << row.body;
    std::string set = "mov.u32 %t, %tid.x; mov.u64 %q, 0;";
    module = load_or_fail(*machine,
                          with_header(text.substr(0, text.size() - 1) + set + "\n" + row.body + "\nret; }"));
    Outcome out = launch(*machine, module, "k", {1, 1, 1}, {64, 1, 1}, Parameters());
    EXPECT_FALSE(out.ok) << row.body;
    EXPECT_EQ(out.fault.kind, row.kind) << row.body;
    EXPECT_EQ(out.error, row.error) << row.body;
  }
}

TEST(Faults, UnknownInstructionIsAcceptedUntilExecuted) {
  auto out = run_body(
      ".reg .pred p; .reg .b32 %r; setp.gt.u32 p, %t, 100;\n@p tex.2d.v4.f32.f32 {%r,%r,%r,%r}, [%o, "
      "{%r,%r}];\n"
      "@p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%o], [%o, {%r, "
      "%r}], [%o];\n"
      "mov.u32 %r, 6; st.global.u32 [%o], %r;",
      3);
  EXPECT_EQ(out, (std::vector<uint32_t>{6, 6, 6}));
}

}  // namespace
}  // namespace egpu::sim
