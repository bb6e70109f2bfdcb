// Bulk copies and reductions, asynchronous stores and reductions: from and to global memory, and among the
// blocks of a cluster, completed at mbarriers and in groups. vectors/ compares the simple ones with an H200.
#include <numeric>

#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

Outcome launch_clusters(Machine &machine, const std::string &body, uint32_t blocks, uint32_t cluster,
                        uint32_t threads, const Parameters &parameters) {
  Launch l;
  l.module = load_or_fail(machine, with_header(body));
  if (!l.module) return {};
  l.kernel = "k";
  l.grid = {blocks, 1, 1};
  l.block = {threads, 1, 1};
  l.cluster = {cluster, 1, 1};
  l.parameters = parameters.bytes();
  Fault fault{};
  Result<Ok> result = machine.run(l, &fault);
  return {static_cast<bool>(result), result ? "" : result.error().message, fault};
}

// Loads a tile, changes it, stores it, tile by tile through one barrier.
TEST(Bulk, TilesOfGlobalMemory) {
  constexpr uint32_t tile = 64, tiles = 5;
  auto machine = Machine::create(test_config(1, 3));
  Buffer<uint32_t> in(*machine, tile * tiles), out(*machine, tile * tiles);
  std::iota(in.data(), in.data() + in.size(), 1000);
  Outcome outcome = launch_clusters(*machine, R"(
.entry k(.param .u64 in, .param .u64 out) {
  .shared .align 128 .b8 tile[256]; .shared .b64 full;
  .reg .b64 %i, %o; .reg .b32 %t, %n, %a, %v, %parity; .reg .pred first, done, p;
  ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; setp.eq.u32 first, %t, 0;
  @first mbarrier.init.shared::cta.b64 [full], 1;
  bar.sync 0;
  mov.u32 %a, tile; mad.lo.u32 %a, %t, 4, %a; mov.u32 %n, 0;
TILE:
  @first mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;
  @first cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%i], 256, [full];
  and.b32 %parity, %n, 1;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [full], %parity;
  @!done bra WAIT;
  ld.shared.u32 %v, [%a]; mad.lo.u32 %v, %v, 3, %t; st.shared.u32 [%a], %v;
  fence.proxy.async.shared::cta; bar.sync 0;
  @first cp.async.bulk.global.shared::cta.bulk_group [%o], [tile], 256;
  @first cp.async.bulk.commit_group;
  @first cp.async.bulk.wait_group.read 0;
  bar.sync 0;
  add.u64 %i, %i, 256; add.u64 %o, %o, 256; add.u32 %n, %n, 1; setp.lt.u32 p, %n, 5;
  @p bra TILE;
  ret;
})",
                                    1, 1, tile, Parameters().add(in.address()).add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t i = 0; i < tile * tiles; ++i) ASSERT_EQ(out[i], 3 * (1000 + i) + i % tile) << i;
}

// Rank 1 sends 64 bytes to ranks 0, 1 and 3; each waits at its own barrier; rank 2 keeps its zeros.
TEST(Bulk, Multicast) {
  auto machine = Machine::create(test_config(1, 2));
  Buffer<uint32_t> in(*machine, 16), out(*machine, 4 * 16);
  std::iota(in.data(), in.data() + 16, 50);
  Outcome outcome = launch_clusters(*machine, R"(
.entry k(.param .u64 in, .param .u64 out) {
  .shared .align 128 .b8 pad[16]; .shared .align 128 .b8 box[64]; .shared .b64 full;
  .reg .b64 %i, %o, %q; .reg .b32 %t, %a, %v, %rank; .reg .b16 %mask; .reg .pred first, sends, done;
  ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 first, %t, 0; setp.eq.and.u32 sends, %rank, 1, first;
  @first mbarrier.init.shared::cta.b64 [full], 1;
  setp.ne.and.u32 first, %rank, 2, first;
  @first mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.b16 %mask, 11;
  @sends cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [box], [%i], 64, [full], %mask;
  setp.eq.u32 done, %rank, 2;
  @done bra READ;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
  @!done bra WAIT;
READ:
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a; ld.shared.u32 %v, [%a];
  mad.lo.u32 %t, %rank, 16, %t; mul.wide.u32 %q, %t, 4; add.u64 %o, %o, %q; st.global.u32 [%o], %v;
  ret;
})",
                                    4, 4, 16, Parameters().add(in.address()).add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i / 16 == 2 ? 0 : 50 + i % 16) << i;
}

// Each block of 3 writes to the next one's memory: a bulk copy, vectors of st.async, sums of red.async; and
// all add to rank 0's by a bulk reduction. A block's barrier completes when all its bytes are there.
TEST(Bulk, BetweenBlocks) {
  constexpr uint32_t clusters = 2, size = 3, threads = 32;
  auto machine = Machine::create(test_config(2, 7));
  Buffer<uint32_t> out(*machine, clusters * size * threads * 4);
  Outcome outcome = launch_clusters(*machine, R"(
.entry k(.param .u64 out) {
  .shared .align 16 .b32 own[32]; .shared .align 16 .b32 copied[32]; .shared .align 16 .b32 stored[64];
  .shared .align 16 .b32 counted[32]; .shared .align 16 .b32 sum[32]; .shared .b64 full;
  .reg .b64 %o, %q; .reg .b32 %t, %a, %b, %bar, %sums, %v, %w, %rank, %next, %bytes, %id, %r<4>; .reg .pred first, p, done;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank; mov.u32 %id, %ctaid.x;
  setp.eq.u32 first, %t, 0;
  // own + 100 * block, copied, stored, counted, and at rank 0 three sums
  setp.eq.u32 p, %rank, 0; selp.u32 %bytes, 896, 512, p;
  @first mbarrier.init.shared::cta.b64 [full], 1;
  @first mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], %bytes;
  mad.lo.u32 %v, %id, 100, %t; mov.u32 %a, own; mad.lo.u32 %a, %t, 4, %a; st.shared.u32 [%a], %v;
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive; barrier.cluster.wait;
  add.u32 %next, %rank, 1; rem.u32 %next, %next, 3;
  mapa.shared::cluster.u32 %bar, full, %next;
  mapa.shared::cluster.u32 %a, copied, %next;
  @first cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%a], [own], 128, [%bar];
  mapa.shared::cluster.u32 %a, stored, %next; mad.lo.u32 %a, %t, 8, %a; add.u32 %w, %v, 7;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%a], {%v, %w}, [%bar];
  mapa.shared::cluster.u32 %a, counted, %next;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%a+4], %v, [%bar];
  mapa.shared::cluster.u32 %a, sum, 0; mapa.shared::cluster.u32 %bar, full, 0;
  @first cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%a], [own], 128, [%bar];
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [full], 0;
  @!done bra WAIT;
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.u32 %a, copied; mad.lo.u32 %a, %t, 4, %a; ld.shared.u32 %r0, [%a];
  mov.u32 %a, stored; mad.lo.u32 %a, %t, 8, %a; ld.shared.u32 %r1, [%a+4];
  ld.shared.u32 %r2, [counted+4];
  mov.u32 %a, sum; mad.lo.u32 %a, %t, 4, %a; ld.shared.u32 %r3, [%a];
  mad.lo.u32 %t, %id, 32, %t; mul.wide.u32 %q, %t, 16; add.u64 %o, %o, %q; st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};
  ret;
})",
                                    clusters * size, size, threads, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t block = 0; block < clusters * size; ++block)
    for (uint32_t t = 0; t < threads; ++t) {
      const uint32_t first = block / size * size, from = first + (block + size - 1) % size;
      const uint32_t *o = out.data() + 4 * (block * threads + t);
      EXPECT_EQ(o[0], 100 * from + t) << block;
      EXPECT_EQ(o[1], 100 * from + t + 7) << block;
      EXPECT_EQ(o[2], 32 * 100 * from + 31 * 16) << block;
      EXPECT_EQ(o[3], block % size ? 0 : 100 * (3 * first + 3) + 3 * t) << block;
    }
}

// Blocks add to the same place; a byte mask and zeros, which an H200 has not.
TEST(Bulk, ReductionMaskZeros) {
  constexpr uint32_t blocks = 23;
  auto machine = Machine::create(test_config(2));
  Buffer<uint32_t> sums(*machine, 8);
  Buffer<uint8_t> bytes(*machine, 32);
  std::fill(bytes.data(), bytes.data() + 32, 0xAA);
  Outcome outcome = launch_clusters(*machine, R"(
.entry k(.param .u64 sums, .param .u64 bytes) {
  .shared .align 16 .b32 s[8];
  .reg .b64 %o, %b, %q; .reg .b32 %t, %a, %v; .reg .b16 %mask; .reg .pred first, p;
  ld.param.u64 %o, [sums]; ld.param.u64 %b, [bytes]; mov.u32 %t, %tid.x; setp.eq.u32 first, %t, 0;
  mov.u32 %v, %ctaid.x; mad.lo.u32 %v, %t, 1000, %v; mov.u32 %a, s; mad.lo.u32 %a, %t, 4, %a; st.shared.u32 [%a], %v;
  fence.proxy.async; bar.sync 0;
  @first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%o], [s], 32;
  mov.u32 %a, s; cvt.u64.u32 %q, %a; cvta.shared.u64 %q, %q;
  bar.sync 0;
  @first st.bulk.weak [%q+8], 16, 0;
  bar.sync 0;
  mov.u32 %v, %ctaid.x; setp.eq.and.u32 p, %v, 0, first; mov.b16 %mask, 0x00F1;
  @p cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%b], [s], 32, %mask;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  ret;
})",
                                    blocks, 1, 8, Parameters().add(sums.address()).add(bytes.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(sums[i], blocks * (1000 * i) + blocks * (blocks - 1) / 2) << i;
  const uint32_t words[8] = {0, 1000, 0, 0, 0, 0, 6000, 7000};  // of block 0, four of them zeroed
  for (uint32_t i = 0; i < 32; ++i) {
    const bool is_chosen = 0x00F1 >> i % 16 & 1;
    EXPECT_EQ(bytes[i], is_chosen ? words[i / 4] >> 8 * (i % 4) & 0xFF : 0xAAu) << i;
  }
}

TEST(Bulk, Faults) {
  const struct {
    const char *body, *error;
    Fault::Kind kind;
  } rows[] = {
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%g], 12, [bar];",
       "size 12 is no multiple of 16", Fault::illegal_instruction},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%g+8], 16, [bar];",
       "not aligned to 16", Fault::misaligned_address},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%g], 48, [bar];",
       "runs past the end of the allocation of 32 bytes", Fault::illegal_address},
      {"cp.async.bulk.global.shared::cta.bulk_group [%g], [s+64], 16;", "the block has 72 bytes",
       Fault::illegal_address},
      {"mov.b16 %m, 4; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
       "[s], [%g], 16, [bar], %m;",
       "rank 2 of a cluster of 2", Fault::illegal_address},
      {"mapa.shared::cluster.u32 %r, bar, 3; "
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [s], %r, [%r];",
       "rank 3 of a cluster of 2", Fault::illegal_address},
      {"mov.u64 %g, s; st.bulk.weak.shared::cta [%g], 12, 0;", "size 12 is no multiple of 8",
       Fault::illegal_instruction},
  };
  for (const auto &row : rows) {
    auto machine = Machine::create(test_config(1));
    Buffer<uint8_t> memory(*machine, 32);
    const Outcome out = launch_clusters(
        *machine,
        ".entry k(.param .u64 g) { .shared .align 16 .b8 s[64]; .shared .b64 bar; .reg .b32 %r; .reg .b64 "
        "%g; .reg .b16 %m; ld.param.u64 %g, [g]; mbarrier.init.shared.b64 [bar], 1;\n" +
            std::string(row.body) + "\nret; }",
        2, 2, 1, Parameters().add(memory.address()));
    EXPECT_EQ(out.fault.kind, row.kind) << row.body;
    EXPECT_THAT(out.error, testing::HasSubstr(row.error)) << row.body;
    EXPECT_THAT(out.error, testing::HasSubstr("thread (0,0,0), ptx:5: ")) << row.body;
  }
}

}  // namespace
}  // namespace egpu::sim
