// How warps and blocks execute: lanes together and apart, barriers, calls, state spaces, atomics, traces.
#include <bit>

#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

TEST(Shuffle, Modes) {
  struct Row {
    const char *text;
    uint32_t (*expected)(uint32_t lane);
  };
  const Row rows[] = {
      {"shfl.sync.up.b32 %r, %t, 3, 0, -1;", [](uint32_t l) { return l >= 3 ? l - 3 : l; }},
      {"shfl.sync.down.b32 %r, %t, 5, 31, -1;", [](uint32_t l) { return l + 5 < 32 ? l + 5 : l; }},
      {"shfl.sync.bfly.b32 %r, %t, 9, 31, -1;", [](uint32_t l) { return l ^ 9; }},
      {"shfl.sync.idx.b32 %r, %t, 7, 31, -1;", [](uint32_t) { return 7u; }},
      // width 8: c = (32 - 8) << 8 | 31
      {"shfl.sync.idx.b32 %r, %t, 3, 6175, -1;", [](uint32_t l) { return (l & 24) + 3; }},
      {"shfl.sync.down.b32 %r, %t, 3, 6175, -1;", [](uint32_t l) { return (l & 7) + 3 < 8 ? l + 3 : l; }},
      {"{ .reg .pred p; shfl.sync.down.b32 %r|p, %t, 4, 31, -1; selp.u32 %r, 1, 0, p; }",
       [](uint32_t l) { return l < 28 ? 1u : 0u; }},
  };
  for (const Row &row : rows) {
    auto out = run_body(std::string(".reg .b32 %r;\n") + row.text + "\nst.global.u32 [%o], %r;", 32);
    ASSERT_EQ(out.size(), 32u);
    for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], row.expected(l)) << row.text << " lane " << l;
  }
}

TEST(Warp, MatchReduxElect) {
  auto out = run_body(
      ".reg .b32 %r, %s, %u; .reg .pred p;\n"
      "shr.u32 %r, %t, 2; match.any.sync.b32 %s, %r, -1;\n"  // groups of four
      "redux.sync.add.u32 %u, %t, %s;\n"                     // each group by itself
      "elect.sync _|p, -1;\n@p add.u32 %u, %u, 1000;\n"
      "st.global.u32 [%o], %u;",
      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], 4 * (l & ~3u) + 6 + (l == 0 ? 1000 : 0)) << l;
}

// Lanes 0 and 1 have the two values, the others the first.
TEST(Warp, ReduxOfReals) {
  constexpr uint32_t kNan = 0x7FFFFFFF, kMinusZero = 0x80000000, kOne = 0x3F800000, kMinusTwo = 0xC0000000;
  struct Row {
    const char *form;
    uint32_t first, second, expected;
  };
  const Row rows[] = {
      {"min", kOne, kMinusTwo, kMinusTwo},
      {"max", kOne, kMinusTwo, kOne},
      {"min.abs", kOne, kMinusTwo, kOne},
      {"max.abs", kOne, kMinusTwo, 0x40000000},
      {"min", 0, kMinusZero, kMinusZero},
      {"min", kMinusZero, 0, kMinusZero},
      {"max", kMinusZero, 0, 0},
      {"max", 0x7FC12345, kMinusTwo, kMinusTwo},
      {"max.NaN", kOne, 0xFFC00001, kNan},
      {"min.abs.NaN", kMinusTwo, kOne, kOne},
      {"max", 0x7FC12345, 0xFFC00001, kNan},
  };
  for (const Row &row : rows) {
    const std::vector<uint32_t> got =
        run_body(".reg .b32 %r; .reg .pred %p; setp.eq.u32 %p, %t, 1; selp.b32 %r, " +
                     std::to_string(row.second) + ", " + std::to_string(row.first) + ", %p; redux.sync." +
                     row.form + ".f32 %r, %r, -1; st.global.u32 [%o], %r;",
                 32);
    EXPECT_EQ(got, std::vector<uint32_t>(32, row.expected))
        << row.form << " " << row.first << " " << row.second;
  }
}

// Lanes that part must come to one shfl.sync together, wherever their instructions stand.
TEST(Warp, SyncAcrossDivergedPaths) {
  auto out = run_body(
      ".reg .b32 %r, %s; .reg .pred p;\n"
      "setp.lt.u32 p, %t, 10;\n@p bra A;\n"
      "shfl.sync.bfly.b32 %r, %t, 16, 31, -1;\nbra B;\n"
      "A: shfl.sync.bfly.b32 %r, %t, 16, 31, -1;\n"
      "B: st.global.u32 [%o], %r;",
      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l ^ 16) << l;
}

TEST(Divergence, LanesMeetAtTheJoin) {
  // A nested if in a loop; after it, and after the loop, all lanes are together.
  auto out = run_body(
      ".reg .b32 %r, %i, %m, %n; .reg .pred p, q;\nmov.u32 %i, 0; mov.u32 %n, 0;\n"
      "L: and.b32 %r, %t, 1; setp.eq.u32 p, %r, 0;\n@p bra A;\n"
      "add.u32 %n, %n, 100; bra B;\n"
      "A: setp.gt.u32 q, %t, 20;\n@q bra B;\nadd.u32 %n, %n, 1;\n"
      "B: activemask.b32 %m; popc.b32 %m, %m; setp.ne.u32 p, %m, 32;\n@p add.u32 %n, %n, 10000;\n"
      "add.u32 %i, %i, 1; setp.lt.u32 p, %i, 3;\n@p bra L;\nst.global.u32 [%o], %n;",
      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l & 1 ? 300u : l > 20 ? 0u : 3u) << l;
}

TEST(Divergence, LoopsOfDifferentLengthMeetBehind) {
  auto out = run_body(
      ".reg .b32 %i, %m; .reg .pred p;\nmov.u32 %i, 0;\n"
      "L: add.u32 %i, %i, 1; setp.lt.u32 p, %i, %t;\n@p bra L;\n"
      "activemask.b32 %m;\nst.global.u32 [%o], %m;",
      32);
  for (uint32_t mask : out) EXPECT_EQ(mask, ~0u);
}

TEST(Divergence, EarlyReturnInsideAnIfDoesNotMoveTheJoin) {
  auto out = run_body(
      ".reg .b32 %r, %m; .reg .pred p, q;\n"
      "setp.lt.u32 p, %t, 16;\n@!p bra J;\n"
      "setp.lt.u32 q, %t, 4;\n@q bra R;\nadd.u32 %t, %t, 0;\n"
      "J: activemask.b32 %m;\nst.global.u32 [%o], %m;\nR: ret;",
      32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l < 4 ? 0u : 0xFFFFFFF0u) << l;
}

TEST(Divergence, GuardedExit) {
  auto out = run_body(
      ".reg .b32 %m; .reg .pred p;\nsetp.gt.u32 p, %t, 4;\n@p exit;\nactivemask.b32 %m;\nst.global.u32 [%o], "
      "%m;",
      32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l > 4 ? 0u : 0x1Fu);
}

TEST(Scopes, ShadowedRegistersAndLabelsRepeat) {
  std::string block =
      "{ .reg .b32 %r<3>; .reg .pred p; mov.u32 %r1, 1000; setp.lt.u32 p, %t, 5;\n@p bra DONE;\nadd.u32 %r1, "
      "%r1, 1;\n"
      "DONE: add.u32 sum, sum, %r1;\n { .reg .b32 sum; mov.u32 sum, 77; add.u32 %r2, sum, %r1; }\n add.u32 "
      "sum, sum, %r2; }\n";
  auto out = run_body(".reg .b32 %r<5>, sum; mov.u32 sum, 0; mov.u32 %r1, 5;\n" + block + block +
                          "add.u32 sum, sum, %r1;\nst.global.u32 [%o], sum;",
                      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t r1 = l < 5 ? 1000 : 1001;
    EXPECT_EQ(out[l], 2 * (r1 + 77 + r1) + 5) << l;
  }
}

TEST(Scopes, RegisterMayHaveTheNameOfAVariable) {
  auto out = run_body(
      ".reg .b64 variable; .reg .b32 %r; mov.u64 variable, %o; mov.u32 %r, 9; st.global.u32 [variable], %r;",
      3, 0, ".global .u32 variable = 4;\n");
  EXPECT_EQ(out, (std::vector<uint32_t>{9, 9, 9}));
}

TEST(Barrier, ReductionsAndNumberedOnes) {
  auto out = run_body(
      ".reg .b32 %r, %s; .reg .pred p, q;\nsetp.lt.u32 p, %t, 50;\nbar.red.popc.u32 %r, 0, p;\n"
      "bar.red.and.pred q, 0, p;\n@q add.u32 %r, %r, 1000;\nbar.red.or.pred q, 0, !p;\n@q add.u32 %r, %r, "
      "2000;\n"
      "setp.lt.u32 p, %t, 64;\n@p bar.sync 3, 64;\nst.global.u32 [%o], %r;",
      96);
  for (uint32_t v : out) EXPECT_EQ(v, 2050u);
}

TEST(Barrier, ProducerConsumer) {
  // Warp 0 arrives, warp 1 waits.
  auto out = run_body(
      ".shared .u32 box;\n.reg .b32 %r; .reg .pred p;\nsetp.lt.u32 p, %t, 32;\n@!p bra W;\n"
      "mov.u32 %r, 41; st.shared.u32 [box], %r; bar.arrive 1, 64;\nbra E;\n"
      "W: bar.sync 1, 64; ld.shared.u32 %r, [box]; add.u32 %r, %r, 1;\nE: st.global.u32 [%o], %r;",
      64, 5);
  for (uint32_t l = 0; l < 64; ++l) EXPECT_EQ(out[l], l < 32 ? 41u : 42u);
}

TEST(Spaces, GenericAddressesRoundTrip) {
  auto out = run_body(
      ".shared .align 4 .u32 s[64]; .local .align 4 .u32 l[4];\n.reg .b64 %a, %b, %c, %d; .reg .b32 %r, %x, "
      "%y; .reg .pred p;\n"
      "mov.u64 %a, s; cvta.shared.u64 %b, %a; mul.wide.u32 %c, %t, 4; add.u64 %b, %b, %c;\nst.u32 [%b], %t;\n"
      "cvta.to.shared.u64 %a, %b; ld.shared.u32 %x, [%a];\n"
      "cvta.local.u64 %d, 0; mov.u64 %d, l; cvta.local.u64 %d, %d; add.u32 %r, %t, 7; st.u32 [%d+8], %r; "
      "ld.local.u32 %y, [l+8];\n"
      "add.u32 %r, %x, %y;\n"
      "isspacep.shared p, %b;\n@p add.u32 %r, %r, 1000;\nisspacep.local p, %d;\n@p add.u32 %r, %r, "
      "2000;\nisspacep.global p, %o;\n@p add.u32 %r, %r, 4000;\n"
      "isspacep.global p, %b;\n@p add.u32 %r, %r, 100000;\nst.u32 [%o], %r;",
      64);
  for (uint32_t l = 0; l < 64; ++l) EXPECT_EQ(out[l], 2 * l + 7 + 7000) << l;
}

TEST(Branch, Indexed) {
  auto out = run_body(
      ".reg .b32 %r;\nrem.u32 %r, %t, 3;\nT: .branchtargets A, B, C;\nbrx.idx %r, T;\n"
      "A: mov.u32 %r, 10; bra E;\nB: mov.u32 %r, 20; bra E;\nC: mov.u32 %r, 30;\nE: activemask.b32 %t; "
      "popc.b32 %t, %t; add.u32 %r, %r, %t;\nst.global.u32 [%o], %r;",
      32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], 10 * (l % 3) + 10 + 32) << l;
}

TEST(Special, Registers) {
  auto machine = Machine::create(test_config(2));
  auto module = load_or_fail(*machine, with_header(R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %o, %q; .reg .b32 %r<20>; .reg .pred p;
  ld.param.u64 %o, [out];
  mov.u32 %r0, %ctaid.y; mad.lo.u32 %r0, %r0, %nctaid.x, %ctaid.x;
  mad.lo.u32 %r1, %tid.y, %ntid.x, %tid.x;
  mov.u32 %r3, %ntid.x; mul.lo.u32 %r3, %r3, %ntid.y; mad.lo.u32 %r2, %r0, %r3, %r1;
  mul.wide.u32 %q, %r2, 16; add.u64 %o, %o, %q;
  st.global.u32 [%o], %smid; 
  mov.u32 %r4, %laneid; mov.u32 %r5, %warpid; mov.u32 %r6, %lanemask_lt;
  st.global.v2.u32 [%o+8], {%r4, %r5};
  st.global.u32 [%o+4], %r6;
  ret;
})"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 4 * 6 * 50);
  Outcome outcome = launch(*machine, module, "k", {3, 2, 1}, {10, 5, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t b = 0; b < 6; ++b)
    for (uint32_t t = 0; t < 50; ++t) {
      uint32_t *o = out.data() + 4 * (b * 50 + t);
      EXPECT_LT(o[0], machine->config().sm_count);
      EXPECT_EQ(o[1], (1u << (t % 32)) - 1);
      EXPECT_EQ(o[2], t % 32);
      EXPECT_EQ(o[3], t / 32);
    }
}

TEST(Atomic, AllOperationsExactOverBlocks) {
  auto machine = Machine::create(test_config(3));
  auto module = load_or_fail(*machine, with_header(R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %o; .reg .b32 %t, %r, %g; .reg .f32 %f; .reg .f64 %d; .reg .b64 %q; .reg .b32 %h;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x; mov.u32 %g, %ctaid.x; mad.lo.u32 %g, %g, %ntid.x, %t;
  red.global.add.u32 [%o], 3;
  atom.global.max.s32 %r, [%o+4], %g;
  red.global.min.u32 [%o+8], %g;
  atom.global.inc.u32 %r, [%o+12], 6;
  red.global.or.b32 [%o+16], %g;
  red.global.and.b32 [%o+20], 0xFFFFFFF0;
  red.global.xor.b32 [%o+24], 5;
  atom.global.dec.u32 %r, [%o+28], 10;
  mov.f32 %f, 0f3F000000; red.global.add.f32 [%o+32], %f;
  mov.f64 %d, 0d3FD0000000000000; red.global.add.f64 [%o+40], %d;
  mov.u64 %q, 1; atom.add.u64 %q, [%o+48], %q;
  mov.b32 %h, 0x3C003C00; red.global.add.noftz.f16x2 [%o+56], %h;
  ret;
})"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 16);
  out[2] = ~0u;
  out[5] = 0xFF;
  constexpr uint32_t blocks = 29, threads = 37, n = blocks * threads;
  Outcome outcome =
      launch(*machine, module, "k", {blocks, 1, 1}, {threads, 1, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  EXPECT_EQ(out[0], 3 * n);
  EXPECT_EQ(out[1], n - 1);
  EXPECT_EQ(out[2], 0u);
  EXPECT_EQ(out[3], n % 7);
  EXPECT_EQ(out[4], 2047u);
  EXPECT_EQ(out[5], 0xF0u);
  EXPECT_EQ(out[6], n % 2 ? 5u : 0u);
  EXPECT_EQ(out[7], (11 - n % 11) % 11);
  EXPECT_EQ(std::bit_cast<float>(out[8]), 0.5f * n);
  EXPECT_EQ(*reinterpret_cast<double *>(&out[10]), 0.25 * n);
  EXPECT_EQ(*reinterpret_cast<uint64_t *>(&out[12]), n);
  EXPECT_EQ(out[14], 0x64316431u);  // 1073 in f16: exact up to 2048
}

TEST(Calls, RegisterParametersAndGuards) {
  auto out = run_body(
      ".reg .b32 %r; .reg .pred p; mov.u32 %r, 1; setp.lt.u32 p, %t, 7;\n@p call (%r), twice, "
      "(%t);\nst.global.u32 [%o], %r;",
      32, 0, ".func (.reg .b32 x) twice(.reg .b32 y) { add.u32 x, y, y; ret; }\n");
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l < 7 ? 2 * l : 1u);
}

TEST(Calls, DivergentReturnMeetsBehindTheCall) {
  auto out = run_body(
      "{ .param .b32 a; .param .b32 r; .reg .b32 %r, %m; st.param.b32 [a], %t; call.uni (r), f, (a); "
      "ld.param.b32 %r, [r];\n"
      "activemask.b32 %m; popc.b32 %m, %m; add.u32 %r, %r, %m; st.global.u32 [%o], %r; }",
      32, 0,
      ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; .reg .pred p; ld.param.b32 %x, [a]; "
      "setp.lt.u32 p, %x, 5;\n@p bra S;\n"
      "mul.lo.u32 %x, %x, 3; st.param.b32 [r], %x; ret;\nS: st.param.b32 [r], 100; ret; }\n");
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], (l < 5 ? 100 : 3 * l) + 32) << l;
}

TEST(Trace, StepsOfAMemoryAccess) {
  struct Recorder : Trace {
    void step(const TraceStep &s) override {
      texts.emplace_back(s.text, s.text_size);
      masks.push_back(s.mask);
      if (s.addresses && texts.back() == "st.global.u32") second = s.addresses[1];
    }
    std::vector<std::string> texts;
    std::vector<uint32_t> masks;
    uint64_t second = 0;
  } recorder;
  auto machine = Machine::create(test_config(1));
  auto module =
      load_or_fail(*machine, with_header(".entry k(.param .u64 o) { .reg .b64 %o, %q; .reg .b32 %t; .reg "
                                         ".pred p;\nld.param.u64 %o, [o]; mov.u32 %t, %tid.x;"
                                         "mul.wide.u32 %q, %t, 4; add.u64 %o, %o, %q; setp.lt.u32 p, %t, "
                                         "3;\n@p st.global.u32 [%o], %t;\nret; }"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 4);
  Launch l;
  l.module = module;
  l.kernel = "k";
  l.block = {4, 1, 1};
  l.parameters = Parameters().add(out.address()).bytes();
  l.trace = &recorder;
  Fault fault{};
  ASSERT_TRUE(machine->run(l, &fault));
  EXPECT_EQ(recorder.texts, (std::vector<std::string>{"ld.param.u64", "mov.u32", "mul.wide.u32", "add.u64",
                                                      "setp.lt.u32", "st.global.u32", "ret"}));
  EXPECT_EQ(recorder.masks, (std::vector<uint32_t>{15, 15, 15, 15, 15, 7, 15}));
  EXPECT_EQ(recorder.second, out.address() + 4);
}

}  // namespace
}  // namespace egpu::sim
