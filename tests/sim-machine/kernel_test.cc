// Kernels that nvcc compiled, compared with the same computation on the host.
#include <cmath>
#include <numeric>
#include <thread>

#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

// One translation unit for all, since nvcc takes seconds to start.
constexpr const char *kSource = R"(
#include <cstdio>
#include <cassert>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void reduce(const int *in, int *out, int n) {
  __shared__ int part[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

#define TILE 16
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float sa[TILE][TILE], sb[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    sa[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    sb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum = fmaf(sa[threadIdx.y][k], sb[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * n + col] = sum;
}

extern "C" __global__ void collatz(unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = i + 1;
  unsigned s = 0;
  while (v != 1) {
    if (v & 1) v = 3 * v + 1; else v /= 2;
    ++s;
  }
  steps[i] = s;
}

__device__ int counter = 5;
__device__ int *pointer = &counter;
__constant__ float table[4] = {1, 2, 3, 4};
struct Pair { int a[3]; double d; char c; };
__device__ Pair pairs[2] = {{{1, 2, 3}, 4.5, 'x'}, {{7, 8, 9}, 0.25, 'y'}};
extern "C" __global__ void globals(double *out) {
  atomicAdd(pointer, (int)threadIdx.x);
  if (threadIdx.x == 0) {
    out[0] = table[1] + table[3];
    out[1] = pairs[1].a[2] + pairs[0].d + pairs[1].c;
  }
}

__device__ __noinline__ Pair recurse(int n, Pair p) {
  if (n <= 0) return p;
  p.a[n % 3] += n;
  Pair q = recurse(n - 1, p);
  q.d += 1;
  return q;
}
extern "C" __global__ void recursion(int *out, double *sum) {
  int i = threadIdx.x;
  Pair p = recurse(i % 7, pairs[i & 1]);
  out[i] = p.a[0] + 1000 * p.a[1] + 1000000 * p.a[2];
  sum[i] = p.d;
}

typedef float (*Unary)(float);
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float cube(float x) { return x * x * x; }
__device__ __noinline__ float minus(float x) { return -x; }
__device__ Unary functions[3] = {twice, cube, minus};
extern "C" __global__ void pointers(float *out) { out[threadIdx.x] = functions[threadIdx.x % 3](threadIdx.x); }

extern "C" __global__ void switches(const int *in, int *out) {
  int i = threadIdx.x, r;
  switch (in[i]) {
    case 0: r = 5 * i; break;
    case 1: r = i << 3; break;
    case 2: r = i * i; break;
    case 3: r = __popc(i); break;
    case 4: r = i - 77; break;
    case 5: r = __clz(i); break;
    case 6: r = i / 3; break;
    default: r = -1;
  }
  out[i] = r;
}

extern "C" __global__ void math(const float *in, float *out, double *dout) {
  int i = threadIdx.x;
  float x = in[i];
  out[7 * i] = sinf(x); out[7 * i + 1] = expf(x); out[7 * i + 2] = logf(fabsf(x) + 1);
  out[7 * i + 3] = powf(fabsf(x), 1.5f); out[7 * i + 4] = sqrtf(fabsf(x)); out[7 * i + 5] = x / 3.7f; out[7 * i + 6] = tanhf(x);
  dout[3 * i] = sin((double)x); dout[3 * i + 1] = pow(fabs((double)x), 0.3); dout[3 * i + 2] = exp((double)x) / 3;
}

extern "C" __global__ void halves(const float *in, float *out) {
  int i = threadIdx.x;
  __half h = __float2half(in[i]);
  h = __hfma(h, h, __float2half(0.5f));
  __nv_bfloat16 b = __float2bfloat16(in[i]);
  b = b * b;
  __half2 p = __hadd2(__halves2half2(h, h), __float2half2_rn(1.0f));
  out[3 * i] = __half2float(h); out[3 * i + 1] = __bfloat162float(b); out[3 * i + 2] = __high2float(p);
}

extern "C" __global__ void heap(int *out) {
  int *m = (int *)malloc(4 * sizeof(int));
  for (int k = 0; k < 4; ++k) m[k] = threadIdx.x + k;
  out[threadIdx.x] = m[0] + m[3];
  free(m);
}

extern "C" __global__ void spinlock(int *lock, int *value, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *(volatile int *)value = *(volatile int *)value + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

extern "C" __global__ void chain(volatile int *flags, int *order) {  // blocks wait for their successors
  if (blockIdx.x + 1 < gridDim.x) while (flags[blockIdx.x + 1] == 0) {}
  __threadfence();
  order[blockIdx.x] = atomicAdd(order + gridDim.x, 1);
  __threadfence();
  flags[blockIdx.x] = 1;
}

extern "C" __global__ void votes(unsigned *out) {
  int i = threadIdx.x;
  unsigned r = 0;
  if (i % 3 == 0) r = __activemask(); else r = __ballot_sync(__activemask(), i > 10);
  __syncwarp();
  out[i] = r; out[32 + i] = __activemask();
  out[64 + i] = __match_any_sync(~0u, i / 5);
  out[96 + i] = __any_sync(~0u, i == 31) + 2 * __all_sync(~0u, i < 31);
}

extern "C" __global__ void dynamic(int *out) {
  extern __shared__ int dyn[];
  __shared__ int fixed[3];
  if (threadIdx.x < 3) fixed[threadIdx.x] = threadIdx.x + 1;
  dyn[threadIdx.x] = threadIdx.x * 2;
  __syncthreads();
  out[threadIdx.x] = dyn[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x % 3];
}

extern "C" __global__ void early(int *out) {  // some leave before the barrier
  if (threadIdx.x >= 40) return;
  atomicAdd(out, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[1] = out[0];
  out[2] = __syncthreads_count(threadIdx.x < 7);
}

extern "C" __global__ void prints(int n) { if (threadIdx.x < 2) printf("t %d of %s: %5.2f %llx\n", threadIdx.x, "abc", n * 0.5, 1ull << 40); }
extern "C" __global__ void asserts(int n) { assert(n < 3); }
extern "C" __global__ void overrun(int *a) { a[threadIdx.x] = 1; }

extern "C" __global__ void histogram(const unsigned char *in, int n, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void grids(int *a, int n, int rounds) {  // each round reads what other blocks wrote
  auto grid = cooperative_groups::this_grid();
  int i = (int)grid.thread_rank();
  for (int r = 0; r < rounds; ++r) {
    int v = a[(i + 37) % n];
    grid.sync();
    a[i] = v + 1;
    grid.sync();
  }
}

// A block that knows its predecessors' sums by looking back, as scans do.
extern "C" __global__ void scan(const int *in, int *out, volatile int *state, volatile int *sums) {
  __shared__ int total, before;
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], lane = threadIdx.x % 32;
  for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
  if (threadIdx.x == 31) total = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    if (blockIdx.x) { while (state[blockIdx.x - 1] == 0) {} __threadfence(); sum = sums[blockIdx.x - 1]; }
    sums[blockIdx.x] = sum + total; __threadfence(); state[blockIdx.x] = 1; before = sum;
  }
  __syncthreads();
  out[i] = before + v;
}

// Threads of a tile reduce among themselves while the others are elsewhere.
extern "C" __global__ void tiles(int *out) {
  namespace cg = cooperative_groups;
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = threadIdx.x;
  if (tile.meta_group_rank() % 2) { for (int d = 4; d; d /= 2) v += tile.shfl_xor(v, d); }
  else { for (int d = 4; d; d /= 2) v = max(v, tile.shfl_xor(v, d)); }
  auto all = cg::coalesced_threads();
  out[threadIdx.x] = v * 100 + all.size();
}

extern "C" __global__ void small(float *a, short s, char c, double d, Pair p, int n) { a[0] = s + c + d + p.a[1] + p.d + n; }
)";

class Kernel : public testing::TestWithParam<std::tuple<std::string, uint64_t>> {
 protected:
  void SetUp() override {
    if (nvcc_path().empty()) GTEST_SKIP() << "nvcc is not installed";
    std::string ptx = compile_once(kSource, std::get<0>(GetParam()));
    ASSERT_FALSE(ptx.empty());
    module = load_or_fail(*machine, ptx);
    ASSERT_TRUE(module);
  }
  void run(const std::string &kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
           const Parameters &parameters, uint32_t dynamic_shared = 0) {
    Outcome out = launch(*machine, module, kernel, grid, block, parameters, dynamic_shared);
    ASSERT_TRUE(out.ok) << out.error;
  }
  std::unique_ptr<Machine> machine = Machine::create(test_config(2, std::get<1>(GetParam())));
  std::shared_ptr<Module> module;
};
INSTANTIATE_TEST_SUITE_P(ArchAndSeed, Kernel,
                         testing::Combine(testing::Values("sm_75", "sm_90"), testing::Values(0, 7)));

TEST_P(Kernel, Vecadd) {
  constexpr int n = 1009;
  Buffer<float> a(*machine, n), b(*machine, n), c(*machine, n);
  for (size_t i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i) * 0.5f;
    b[i] = static_cast<float>(i * i);
  }
  run("vecadd", {8, 1, 1}, {128, 1, 1},
      Parameters().add(a.address()).add(b.address()).add(c.address()).add(n));
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST_P(Kernel, Reduction) {
  constexpr int n = 100003;
  Buffer<int> in(*machine, n), out(*machine, 1);
  for (size_t i = 0; i < n; ++i) in[i] = static_cast<int>(i * 7 % 1000) - 300;
  run("reduce", {7, 1, 1}, {224, 1, 1}, Parameters().add(in.address()).add(out.address()).add(n));
  EXPECT_EQ(out[0], std::accumulate(in.data(), in.data() + n, 0));
}

TEST_P(Kernel, Matmul) {
  constexpr int n = 48;
  Buffer<float> a(*machine, n * n), b(*machine, n * n), c(*machine, n * n);
  for (size_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 17) - 3;
    b[i] = static_cast<float>(i % 13) * 0.25f;
  }
  run("matmul", {3, 3, 1}, {16, 16, 1},
      Parameters().add(a.address()).add(b.address()).add(c.address()).add(n));
  for (size_t r = 0; r < n; ++r)
    for (size_t k = 0; k < n; ++k) {
      float sum = 0;
      for (size_t t = 0; t < n; ++t) sum = std::fma(a[r * n + t], b[t * n + k], sum);
      ASSERT_EQ(c[r * n + k], sum) << r << "," << k;
    }
}

TEST_P(Kernel, DivergentLoop) {
  constexpr int n = 1000;
  Buffer<uint32_t> steps(*machine, n);
  run("collatz", {5, 1, 1}, {224, 1, 1}, Parameters().add(steps.address()).add(n));
  for (size_t i = 0; i < n; ++i) {
    uint32_t s = 0;
    for (uint64_t v = i + 1; v != 1; ++s) v = v & 1 ? 3 * v + 1 : v / 2;
    ASSERT_EQ(steps[i], s) << i;
  }
}

TEST_P(Kernel, Globals) {
  Buffer<double> out(*machine, 2);
  run("globals", {3, 1, 1}, {32, 1, 1}, Parameters().add(out.address()));
  EXPECT_EQ(out[0], 6.0);
  EXPECT_EQ(out[1], 9 + 4.5 + 'y');
  const GlobalInfo *counter = module->find_global("counter");
  ASSERT_TRUE(counter);
  EXPECT_EQ(counter->size_bytes, 4u);
  EXPECT_EQ(*reinterpret_cast<int *>(counter->address), 5 + 3 * 31 * 16);
}

TEST_P(Kernel, Recursion) {
  Buffer<int> out(*machine, 64);
  Buffer<double> sum(*machine, 64);
  run("recursion", {1, 1, 1}, {64, 1, 1}, Parameters().add(out.address()).add(sum.address()));
  for (int i = 0; i < 64; ++i) {
    int a[2][3] = {{1, 2, 3}, {7, 8, 9}}, *p = a[i & 1];
    for (int n = i % 7; n > 0; --n) p[n % 3] += n;
    ASSERT_EQ(out[static_cast<size_t>(i)], p[0] + 1000 * p[1] + 1000000 * p[2]) << i;
    ASSERT_EQ(sum[static_cast<size_t>(i)], (i & 1 ? 0.25 : 4.5) + i % 7) << i;
  }
}

TEST_P(Kernel, FunctionPointers) {
  Buffer<float> out(*machine, 100);
  run("pointers", {1, 1, 1}, {100, 1, 1}, Parameters().add(out.address()));
  for (size_t i = 0; i < 100; ++i) {
    float x = static_cast<float>(i);
    ASSERT_EQ(out[i], i % 3 == 0 ? x * 2 : i % 3 == 1 ? x * x * x : -x) << i;
  }
}

TEST_P(Kernel, Switch) {
  Buffer<int> in(*machine, 96), out(*machine, 96);
  for (int i = 0; i < 96; ++i) in[static_cast<size_t>(i)] = (i * 7) % 9;
  run("switches", {1, 1, 1}, {96, 1, 1}, Parameters().add(in.address()).add(out.address()));
  for (int i = 0; i < 96; ++i) {
    int expected[] = {5 * i,  i << 3,
                      i * i,  __builtin_popcount(static_cast<unsigned>(i)),
                      i - 77, i ? __builtin_clz(static_cast<unsigned>(i)) : 32,
                      i / 3,  -1,
                      -1};
    ASSERT_EQ(out[static_cast<size_t>(i)], expected[in[static_cast<size_t>(i)]]) << i;
  }
}

TEST_P(Kernel, Math) {
  Buffer<float> in(*machine, 64), out(*machine, 7 * 64);
  Buffer<double> dout(*machine, 3 * 64);
  for (int i = 0; i < 64; ++i) in[static_cast<size_t>(i)] = static_cast<float>(i - 31) * 1.37f;
  in[0] = 123456.0f;  // the slow path of sinf
  run("math", {1, 1, 1}, {64, 1, 1}, Parameters().add(in.address()).add(out.address()).add(dout.address()));
  for (size_t i = 0; i < 64; ++i) {
    double x = static_cast<double>(in[i]), a = std::fabs(x);
    double expected[] = {std::sin(x),      std::exp(x),  std::log(a + 1),
                         std::pow(a, 1.5), std::sqrt(a), x / static_cast<double>(3.7f),
                         std::tanh(x)};
    for (size_t k = 0; k < 7; ++k) {
      double got = static_cast<double>(out[7 * i + k]);
      if (std::fabs(expected[k]) > 3e38)
        EXPECT_TRUE(std::isinf(got)) << i << " " << k;
      else
        EXPECT_NEAR(got, expected[k], 4e-7 * std::max(1e-30, std::fabs(expected[k])) + (k == 0 ? 1e-7 : 0))
            << i << " " << k << " x=" << x;
    }
    double dexpected[] = {std::sin(x), std::pow(a, 0.3), std::exp(x) / 3};
    for (size_t k = 0; k < 3; ++k) {
      if (std::isinf(dexpected[k]))
        EXPECT_TRUE(std::isinf(dout[3 * i + k]));
      else
        EXPECT_NEAR(dout[3 * i + k], dexpected[k], 1e-15 * std::fabs(dexpected[k]) + 1e-300)
            << i << " " << k << " x=" << x;
    }
  }
}

TEST_P(Kernel, Halves) {
  Buffer<float> in(*machine, 32), out(*machine, 96);
  for (size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i) * 0.25f;
  run("halves", {1, 1, 1}, {32, 1, 1}, Parameters().add(in.address()).add(out.address()));
  for (size_t i = 0; i < 32; ++i) {  // small multiples of powers of two: all exact in f16
    float x = in[i];
    EXPECT_EQ(out[3 * i], x * x + 0.5f) << i;
    EXPECT_NEAR(out[3 * i + 1], x * x, x * x / 256) << i;
    EXPECT_EQ(out[3 * i + 2], x * x + 1.5f) << i;
  }
}

TEST_P(Kernel, Heap) {
  Buffer<int> out(*machine, 64);
  uint64_t before = machine->memory().used_bytes();
  run("heap", {1, 1, 1}, {64, 1, 1}, Parameters().add(out.address()));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], 2 * i + 3);
  EXPECT_EQ(machine->memory().used_bytes(), before);
}

TEST_P(Kernel, SpinLockAmongLanesWarpsAndBlocks) {
  Buffer<int> lock(*machine, 1), value(*machine, 1);
  run("spinlock", {3, 1, 1}, {43, 1, 1}, Parameters().add(lock.address()).add(value.address()).add(5));
  EXPECT_EQ(value[0], 3 * 43 * 5);
}

TEST_P(Kernel, BlocksThatWaitForLaterOnes) {
  constexpr uint32_t n = 11;  // more than there are host threads
  Buffer<int> flags(*machine, n), order(*machine, n + 1);
  run("chain", {n, 1, 1}, {1, 1, 1}, Parameters().add(flags.address()).add(order.address()));
  for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(order[i], static_cast<int>(n - 1 - i));
}

TEST_P(Kernel, Votes) {
  Buffer<uint32_t> out(*machine, 128);
  run("votes", {1, 1, 1}, {32, 1, 1}, Parameters().add(out.address()));
  uint32_t third = 0x49249249, high = 0xFFFFF800;
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], i % 3 == 0 ? third : ~third & high) << i;
    EXPECT_EQ(out[32 + i], ~0u) << i;
    uint32_t group = i / 5, same = 0;
    for (uint32_t k = 0; k < 32; ++k) same |= k / 5 == group ? 1u << k : 0;
    EXPECT_EQ(out[64 + i], same) << i;
    EXPECT_EQ(out[96 + i], 1u) << i;
  }
}

TEST_P(Kernel, DynamicShared) {
  Buffer<int> out(*machine, 100);
  run("dynamic", {2, 1, 1}, {100, 1, 1}, Parameters().add(out.address()), 400);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], (99 - i) * 2 + i % 3 + 1);
  EXPECT_EQ(module->find_kernel("dynamic")->static_shared_bytes, 12u);
}

TEST_P(Kernel, BarrierAfterEarlyExit) {
  Buffer<int> out(*machine, 3);
  run("early", {1, 1, 1}, {100, 1, 1}, Parameters().add(out.address()));
  EXPECT_EQ(out[0], 40);
  EXPECT_EQ(out[1], 40);
  EXPECT_EQ(out[2], 7);
}

TEST_P(Kernel, Printf) {
  testing::internal::CaptureStdout();
  run("prints", {1, 1, 1}, {32, 1, 1}, Parameters().add(3));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "t 0 of abc:  1.50 10000000000\nt 1 of abc:  1.50 10000000000\n");
}

TEST_P(Kernel, Assertion) {
  Outcome out = launch(*machine, module, "asserts", {1, 1, 1}, {1, 1, 1}, Parameters().add(3));
  EXPECT_FALSE(out.ok);
  EXPECT_EQ(out.fault.kind, Fault::assertion);
  EXPECT_THAT(out.error, testing::HasSubstr("Assertion `n < 3` failed."));
}

TEST_P(Kernel, Overrun) {
  Buffer<int> a(*machine, 70);
  Outcome out = launch(*machine, module, "overrun", {1, 1, 1}, {96, 1, 1}, Parameters().add(a.address()));
  EXPECT_FALSE(out.ok);
  EXPECT_EQ(out.fault.kind, Fault::illegal_address);
  EXPECT_THAT(out.error, testing::HasSubstr("kernel overrun, block (0,0,0), thread (70,0,0), ptx:"));
  EXPECT_THAT(out.error, testing::HasSubstr("st.global.u32 of 4 bytes at global address"));
}

TEST_P(Kernel, Histogram) {
  constexpr int n = 20011;
  Buffer<uint8_t> in(*machine, n);
  Buffer<uint32_t> bins(*machine, 256);
  std::vector<uint32_t> expected(256);
  for (size_t i = 0; i < n; ++i) ++expected[in[i] = static_cast<uint8_t>(i * i % 251)];
  run("histogram", {13, 1, 1}, {96, 1, 1}, Parameters().add(in.address()).add(n).add(bins.address()));
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(bins[i], expected[i]) << i;
}

TEST_P(Kernel, GridSync) {
  constexpr uint32_t blocks = 13, threads = 40, n = blocks * threads;
  Buffer<int> a(*machine, n);
  std::iota(a.data(), a.data() + n, 0);
  Outcome out = launch(*machine, module, "grids", {blocks, 1, 1}, {threads, 1, 1},
                       Parameters().add(a.address()).add(int{n}).add(5), 0, true);
  ASSERT_TRUE(out.ok) << out.error;
  for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(a[i], static_cast<int>((i + 5 * 37) % n) + 5) << i;
}

TEST_P(Kernel, DecoupledScan) {
  constexpr uint32_t blocks = 101, n = blocks * 32;
  Buffer<int> in(*machine, n), out(*machine, n), state(*machine, blocks), sums(*machine, blocks);
  for (uint32_t i = 0; i < n; ++i) in[i] = static_cast<int>(i % 11) - 2;
  run("scan", {blocks, 1, 1}, {32, 1, 1},
      Parameters().add(in.address()).add(out.address()).add(state.address()).add(sums.address()));
  for (uint32_t i = 0, sum = 0; i < n; ++i)
    ASSERT_EQ(out[i], static_cast<int>(sum += static_cast<uint32_t>(in[i]))) << i;
}

TEST_P(Kernel, Tiles) {
  Buffer<int> out(*machine, 64);
  run("tiles", {1, 1, 1}, {64, 1, 1}, Parameters().add(out.address()));
  for (int i = 0; i < 64; ++i) {
    int first = i & ~7, value = first / 8 % 2 ? 8 * first + 28 : first + 7;
    EXPECT_EQ(out[static_cast<size_t>(i)], value * 100 + 32) << i;
  }
}

TEST_P(Kernel, LaunchesAtOnce) {
  constexpr int n = 5003;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Buffer<int> in(*machine, n), out(*machine, 1);
      for (int round = 0; round < 5; ++round) {
        std::iota(in.data(), in.data() + n, t * 1000 + round);
        out[0] = 0;
        Outcome outcome = launch(*machine, module, "reduce", {5, 1, 1}, {96, 1, 1},
                                 Parameters().add(in.address()).add(out.address()).add(n));
        EXPECT_TRUE(outcome.ok) << outcome.error;
        EXPECT_EQ(out[0], std::accumulate(in.data(), in.data() + n, 0));
      }
    });
  for (std::thread &thread : threads) thread.join();
}

TEST_P(Kernel, ParameterLayout) {
  const KernelInfo *info = module->find_kernel("small");
  ASSERT_TRUE(info);
  uint32_t offsets[] = {0, 8, 10, 16, 24, 56}, sizes[] = {8, 2, 1, 8, 32, 4};
  ASSERT_EQ(info->parameters.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(info->parameters[i].offset, offsets[i]) << i;
    EXPECT_EQ(info->parameters[i].size_bytes, sizes[i]) << i;
  }
  EXPECT_EQ(info->parameter_bytes, 60u);
  struct Pair {
    int a[3];
    double d;
    char c;
  } p{{1, 20, 3}, 0.5, 'c'};
  Buffer<float> a(*machine, 1);
  run("small", {1, 1, 1}, {1, 1, 1},
      Parameters().add(a.address()).add(short{-7}).add(char{3}).add(2.0).add(p, 8).add(100));
  EXPECT_EQ(a[0], -7 + 3 + 2 + 20 + 0.5f + 100);
}

}  // namespace
}  // namespace egpu::sim
