// Clusters with distributed shared memory, mbarriers, the check of shared memory, traces as a file.
#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

// Blocks of a cluster read their neighbour's shared memory and count in that of rank 0.
constexpr const char *kNeighbours = R"(
.entry k(.param .u64 out) .explicitcluster .reqnctapercluster 2, 3, 1 {
  .shared .u32 value; .shared .u32 sum;
  .reg .b64 %o, %q, %g; .reg .b32 %r<12>, %t; .reg .pred p;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
  mov.u32 %r0, %ctaid.y; mad.lo.u32 %r0, %r0, %nctaid.x, %ctaid.x;  // block
  mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank;
  setp.ne.u32 p, %t, 0;
  @p bra A;
  st.shared.u32 [value], %r0; st.shared.u32 [sum], 0;
A:
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  add.u32 %r3, %r1, 1; rem.u32 %r3, %r3, %r2;
  mapa.shared::cluster.u32 %r4, value, %r3; ld.shared::cluster.u32 %r5, [%r4];
  mov.u64 %g, sum; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, 0; atom.add.u32 %r6, [%g], 1;
  getctarank.shared::cluster.u32 %r7, %r4;
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.u32 %r8, 0;
  setp.eq.u32 p, %r1, 0;
  @p ld.shared.u32 %r8, [sum];
  mad.lo.u32 %r9, %r0, %ntid.x, %t; mul.wide.u32 %q, %r9, 16; add.u64 %o, %o, %q;
  st.global.v4.u32 [%o], {%r5, %r7, %r8, %r1};
  ret;
})";

TEST(Cluster, DistributedSharedMemory) {
  for (uint64_t seed : {0, 5}) {
    auto machine = Machine::create(test_config(2, seed));
    auto module = load_or_fail(*machine, with_header(kNeighbours));
    ASSERT_TRUE(module);
    EXPECT_EQ(module->find_kernel("k")->cluster, (std::array<uint32_t, 3>{2, 3, 1}));
    constexpr uint32_t width = 6, height = 9, threads = 37;
    Buffer<uint32_t> out(*machine, width * height * threads * 4);
    Outcome outcome =
        launch(*machine, module, "k", {width, height, 1}, {threads, 1, 1}, Parameters().add(out.address()));
    ASSERT_TRUE(outcome.ok) << outcome.error;
    for (uint32_t y = 0; y < height; ++y)
      for (uint32_t x = 0; x < width; ++x)
        for (uint32_t t = 0; t < threads; ++t) {
          uint32_t rank = x % 2 + y % 3 * 2, next = (rank + 1) % 6;
          uint32_t block = (y / 3 * 3 + next / 2) * width + x / 2 * 2 + next % 2;
          const uint32_t *o = out.data() + 4 * ((y * width + x) * threads + t);
          ASSERT_EQ(o[0], block) << x << "," << y;
          ASSERT_EQ(o[1], next);
          ASSERT_EQ(o[2], rank == 0 ? 6 * threads : 0u);
          ASSERT_EQ(o[3], rank);
        }
  }
}

struct FaultRow {
  const char *body, *error;
  Fault::Kind kind;
};

Outcome run_rows(const FaultRow &row, bool check_shared) {
  DeviceConfig config = test_config(1);
  config.check_shared = check_shared;
  auto machine = Machine::create(config);
  auto module = load_or_fail(
      *machine, with_header(".entry k() { .shared .align 16 .b8 s[32]; .reg .b32 %r, %t; .reg .b64 %q; .reg "
                            ".pred %p; mov.u32 %t, %tid.x;\n" +
                            std::string(row.body) + "\nret; }"));
  if (!module) return {};
  Launch l;
  l.module = module;
  l.kernel = "k";
  l.grid = {2, 1, 1};
  l.block = {64, 1, 1};
  l.cluster = {2, 1, 1};
  Fault fault{};
  Result<Ok> result = machine->run(l, &fault);
  return {static_cast<bool>(result), result ? "" : result.error().message, fault};
}

TEST(Cluster, Faults) {
  const FaultRow rows[] = {
      {"mapa.shared::cluster.u32 %r, s, 2; ld.shared::cluster.u32 %r, [%r];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:5: ld.shared::cluster.u32 of 4 bytes at shared address "
       "0x3000000: rank 2 of a cluster of 2",
       Fault::illegal_address},
      {"mapa.shared::cluster.u32 %r, s, 1; ld.shared::cluster.u32 %r, [%r+32];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:5: ld.shared::cluster.u32 of 4 bytes at shared address "
       "0x2000020: the block has 32 bytes",
       Fault::illegal_address},
      {"barrier.cluster.arrive; barrier.cluster.arrive;",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:5: arrives twice without a wait",
       Fault::illegal_instruction},
      {"setp.lt.u32 %p, %t, 32; @%p bar.sync 1, 64;",
       "kernel k, block (0,0,0): deadlock: rank 0 warp 0 lanes 0xffffffff at ptx:5 bar.sync; rank 1 warp 0 "
       "lanes 0xffffffff at ptx:5 bar.sync;",
       Fault::deadlock},
      {"mbarrier.init.shared.b64 [s], 1; mbarrier.arrive.shared.b64 _, [s], 2;",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:5: mbarrier: 2 arrivals, 1 are pending",
       Fault::illegal_instruction},
      {"mbarrier.init.shared.b64 [s], 1; mbarrier.arrive.noComplete.shared.b64 %q, [s], 1;",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:5: mbarrier: .noComplete, but the phase would be "
       "complete",
       Fault::illegal_instruction},
  };
  for (const FaultRow &row : rows) {
    Outcome out = run_rows(row, false);
    EXPECT_FALSE(out.ok) << row.body;
    EXPECT_EQ(out.fault.kind, row.kind) << row.body;
    EXPECT_EQ(out.error, row.error) << row.body;
  }
}

TEST(SharedMemory, ReadsOfWhatNobodyWrote) {
  const FaultRow rows[] = {
      {"st.shared.u16 [s], 1;\nld.shared.u32 %r, [s];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: ld.shared.u32 of 4 bytes at shared address 0x0: byte "
       "2 was never written",
       Fault::uninitialized_shared},
      {"mov.u64 %q, s; cvta.shared.u64 %q, %q;\natom.add.u32 %r, [%q+8], 1;",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: atom.add.u32 of 4 bytes at shared address 0x8: byte "
       "0 "
       "was never written",
       Fault::uninitialized_shared},
      {"st.shared.v4.u32 [s+16], {%t, %t, %t, %t}; atom.shared.add.u32 %r, [s+20], 1; ld.shared.u64 %q, "
       "[s+24];",
       "", Fault::illegal_address},
  };
  for (const FaultRow &row : rows) {
    Outcome out = run_rows(row, true);
    EXPECT_EQ(out.ok, row.error[0] == 0) << row.body;
    EXPECT_EQ(out.error, row.error) << row.body;
    EXPECT_EQ(out.ok || out.fault.kind == row.kind, true) << row.body;
    EXPECT_TRUE(run_rows(row, false).ok) << row.body;  // not asked for: zeros
  }
}

// Warp 0 fills, warp 1 reads, over several phases of two mbarriers; tokens, parities and bytes.
TEST(Mbarrier, PhasesBetweenWarps) {
  auto machine = Machine::create(test_config(1, 3));
  auto module = load_or_fail(*machine, with_header(R"(
.entry k(.param .u64 out) {
  .shared .u64 full; .shared .u64 empty; .shared .u32 box[32];
  .reg .b64 %o, %q, %s; .reg .b32 %i, %t, %l, %a, %v, %sum, %parity; .reg .pred p, done;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %l, %laneid;
  setp.ne.u32 p, %t, 0;
  @p bra START;
  mbarrier.init.shared::cta.b64 [full], 33; mbarrier.init.shared::cta.b64 [empty], 32;
START:
  bar.sync 0;
  mov.u32 %a, box; mad.lo.u32 %a, %l, 4, %a; mov.u32 %i, 0; mov.u32 %sum, 0;
  setp.ge.u32 p, %t, 32;
  @p bra READ;
FILL:
  mad.lo.u32 %v, %i, 100, %l; st.shared.u32 [%a], %v;
  setp.ne.u32 p, %l, 0;
  @p bra ARRIVE;
  mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 64;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full], 64;
ARRIVE:
  mbarrier.arrive.shared::cta.b64 %s, [full];
  and.b32 %parity, %i, 1;
W1: mbarrier.try_wait.parity.shared::cta.b64 done, [empty], %parity;
  @!done bra W1;
  add.u32 %i, %i, 1; setp.lt.u32 p, %i, 7;
  @p bra FILL;
  bra END;
READ:
  and.b32 %parity, %i, 1;
W2: mbarrier.test_wait.parity.shared::cta.b64 done, [full], %parity;
  @!done bra W2;
  ld.shared.u32 %v, [%a]; add.u32 %sum, %sum, %v;
  mbarrier.arrive.shared::cta.b64 %s, [empty];
W3: mbarrier.try_wait.shared::cta.b64 done, [empty], %s;
  @!done bra W3;
  add.u32 %i, %i, 1; setp.lt.u32 p, %i, 7;
  @p bra READ;
  mul.wide.u32 %q, %l, 4; add.u64 %o, %o, %q; st.global.u32 [%o], %sum;
END:
  ret;
})"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 32);
  Outcome outcome = launch(*machine, module, "k", {1, 1, 1}, {64, 1, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], 2100 + 7 * l) << l;
}

// What nvcc makes of cooperative groups' clusters and of cuda::barrier.
constexpr const char *kSource = R"(
#include <cooperative_groups.h>
#include <cuda/barrier>
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster(int *out) {
  namespace cg = cooperative_groups;
  __shared__ int value, sum;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) { value = blockIdx.x * 10; sum = 0; }
  c.sync();
  int *other = c.map_shared_rank(&value, (c.block_rank() + 1) % c.num_blocks());
  int v = *other;
  atomicAdd(c.map_shared_rank(&sum, 0), 1);
  c.sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = v + (c.block_rank() == 0 ? sum : 0) + 1000 * c.query_shared_rank(other);
}
extern "C" __global__ void barriers(const int *in, int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int data[64];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(data + threadIdx.x, in + threadIdx.x, sizeof(int), bar);
  bar.arrive_and_wait();
  int v = data[(threadIdx.x + 1) % 64];
  auto token = bar.arrive();
  bar.wait(std::move(token));
  data[threadIdx.x] = v * 2;
  bar.arrive_and_wait();
  out[threadIdx.x] = data[(threadIdx.x + 3) % 64];
})";

TEST(Nvcc, ClusterAndBarrier) {
  if (nvcc_path().empty()) GTEST_SKIP() << "nvcc is not installed";
  auto machine = Machine::create(test_config(2, 3));
  auto module = load_or_fail(*machine, compile_once(kSource, "sm_90"));
  ASSERT_TRUE(module);
  Buffer<int> out(*machine, 12 * 23), in(*machine, 64);
  Outcome outcome =
      launch(*machine, module, "cluster", {12, 1, 1}, {23, 1, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (int b = 0; b < 12; ++b)
    for (int t = 0; t < 23; ++t)
      EXPECT_EQ(out[static_cast<size_t>(b * 23 + t)],
                10 * (b / 4 * 4 + (b + 1) % 4) + (b % 4 ? 0 : 92) + 1000 * ((b + 1) % 4));
  for (int i = 0; i < 64; ++i) in[static_cast<size_t>(i)] = i * i;
  outcome = launch(*machine, module, "barriers", {1, 1, 1}, {64, 1, 1},
                   Parameters().add(in.address()).add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], 2 * ((i + 4) % 64) * ((i + 4) % 64));
}

TEST(Families, HintsHaveNoEffect) {
  auto machine = Machine::create(test_config(1));
  auto module = load_or_fail(*machine, with_header(R"(
.entry k(.param .u64 out) { .reg .b64 %o, %p; .reg .b32 %r;
  ld.param.u64 %o, [out];
  createpolicy.fractional.L2::evict_last.b64 %p, 1.0;
  prefetch.global.L2 [%o]; applypriority.global.L2::evict_normal [%o], 128; griddepcontrol.wait;
  ld.global.L2::cache_hint.u32 %r, [%o], %p; add.u32 %r, %r, 1; setmaxnreg.inc.sync.aligned.u32 240;
  st.global.L2::cache_hint.u32 [%o], %r, %p; griddepcontrol.launch_dependents; nanosleep.u32 20;
  ret; })"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 1);
  out[0] = 41;
  Outcome outcome = launch(*machine, module, "k", {1, 1, 1}, {1, 1, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  EXPECT_EQ(out[0], 42u);
}

TEST(Trace, LinesOfAFile) {
  std::string path = testing::TempDir() + "egpu-sim-trace-" + std::to_string(getpid());
  {
    DeviceConfig config = test_config(1);
    auto trace = open_trace_file(path);
    ASSERT_TRUE(trace) << trace.error().message;
    config.trace = *trace;
    auto machine = Machine::create(config);
    auto module = load_or_fail(
        *machine, with_header(".entry k() { .shared .u32 s[4]; .reg .b32 %t; .reg .pred p; mov.u32 "
                              "%t, %tid.x;\nsetp.lt.u32 p, %t, 2;\n@p st.shared.u32 [s+8], "
                              "%t;\nret; }"));
    ASSERT_TRUE(module);
    ASSERT_TRUE(launch(*machine, module, "k", {1, 2, 1}, {3, 1, 1}, Parameters()).ok);
  }
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}}, block[2];
  for (int i = 0; i < 2; ++i) {
    std::string head = "k 0," + std::to_string(i) + ",0 0 ";
    block[i] = head + "4 0x7 mov.u32\n" + head + "5 0x7 setp.lt.u32\n" + head +
               "6 0x3 st.shared.u32 0x8,0x8\n" + head + "7 0x7 ret\n";
  }
  EXPECT_EQ(text, block[0] + block[1]);
  std::remove(path.c_str());
  EXPECT_EQ(open_trace_file("/nowhere/x").error().message, "/nowhere/x: No such file or directory");
}

}  // namespace
}  // namespace egpu::sim
