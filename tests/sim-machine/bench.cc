// Measures thread-instructions per second and core on a tiled matrix product and on n-body.
#include <chrono>
#include <cstdio>

#include "tests/sim-machine/run.h"

using namespace egpu::sim;

namespace {
constexpr const char *kSource = R"(
#define TILE 32
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
extern "C" __global__ void nbody(const float4 *p, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = p[i], acc = make_float4(0, 0, 0, 0);
  for (int j = 0; j < n; ++j) {
    float4 o = p[j];
    float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
    float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = o.w * r * r * r;
    acc.x += dx * s; acc.y += dy * s; acc.z += dz * s;
  }
  out[i] = acc;
}
extern "C" __global__ void collatz(unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = i + 1;
  unsigned s = 0;
  while (v != 1) { if (v & 1) v = 3 * v + 1; else v /= 2; ++s; }
  steps[i] = s;
}
)";

void measure(Machine &machine, std::shared_ptr<Module> module, const char *kernel,
             std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, const Parameters &parameters) {
  auto before = machine.steps();
  auto start = std::chrono::steady_clock::now();
  timespec cpu0{}, cpu1{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu0);
  Outcome out = launch(machine, module, kernel, grid, block, parameters);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu1);
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double cpu = static_cast<double>(cpu1.tv_sec - cpu0.tv_sec) +
               1e-9 * static_cast<double>(cpu1.tv_nsec - cpu0.tv_nsec);
  auto after = machine.steps();
  double threads = static_cast<double>(after.thread - before.thread),
         warps = static_cast<double>(after.warp - before.warp);
  std::printf(
      "%-8s %s %6.1f M thread-instructions, %5.2f s wall, %5.2f s CPU: %6.1f M per CPU second, %5.1f lanes "
      "active\n",
      kernel, out.ok ? "ok" : out.error.c_str(), threads / 1e6, wall, cpu, threads / cpu / 1e6,
      threads / warps);
}
}  // namespace

int main() {
  if (nvcc_path().empty()) {
    std::puts("nvcc is not installed");
    return 0;
  }
  auto machine = Machine::create(test_config(0));
  auto module = load_or_fail(*machine, compile(kSource, "sm_90"));
  if (!module) return 1;
  constexpr int n = 512;
  Buffer<float> a(*machine, n * n), b(*machine, n * n), c(*machine, n * n);
  measure(*machine, module, "matmul", {n / 32, n / 32, 1}, {32, 32, 1},
          Parameters().add(a.address()).add(b.address()).add(c.address()).add(n));
  measure(*machine, module, "nbody", {n / 64, 1, 1}, {64, 1, 1},
          Parameters().add(a.address()).add(c.address()).add(2048));
  measure(*machine, module, "collatz", {64, 1, 1}, {256, 1, 1}, Parameters().add(a.address()).add(16384));
}
