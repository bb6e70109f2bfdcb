// Memory-bound float4 add of 2^26 threads, and `loop`: 64 independent loads per thread. The two
// kernels of docs/facts.md, section 2. Prints "kernel,event_us_p50" of RUNS launches each.
// build: nvcc -O3 -gencode arch=compute_90,code=[sm_90,compute_90] -o vadd vadd.cu
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                             \
  do {                                                                          \
    cudaError_t error = (call);                                                 \
    if (error != cudaSuccess) {                                                 \
      fprintf(stderr, "vadd: %s: %s\n", #call, cudaGetErrorString(error));      \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

extern "C" __global__ void vadd(const float4 *a, const float4 *b, float4 *c) {
  size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

extern "C" __global__ void loop(const float *a, float *out, unsigned mask) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (unsigned k = 0; k < 64; k++) sum += a[(i + k * 32) & mask];
  out[i] = sum;
}

template <class Launch>
void measure(const char *name, int runs, Launch launch) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> us;
  for (int i = 0; i < runs + 3; i++) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 3) us.push_back(ms * 1000);
  }
  std::sort(us.begin(), us.end());
  printf("%s,%.2f\n", name, us[us.size() / 2]);
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? atoi(argv[1]) : 21;
  constexpr size_t kVaddThreads = size_t{1} << 26, kLoopThreads = size_t{1} << 22;
  float4 *a, *b, *c;
  CHECK(cudaMalloc(&a, kVaddThreads * sizeof *a));
  CHECK(cudaMalloc(&b, kVaddThreads * sizeof *b));
  CHECK(cudaMalloc(&c, kVaddThreads * sizeof *c));
  CHECK(cudaMemset(a, 1, kVaddThreads * sizeof *a));
  CHECK(cudaMemset(b, 2, kVaddThreads * sizeof *b));
  printf("kernel,event_us_p50\n");
  measure("vadd", runs, [&] { vadd<<<kVaddThreads / 256, 256>>>(a, b, c); });
  measure("loop", runs, [&] {
    loop<<<kLoopThreads / 256, 256>>>(reinterpret_cast<float *>(a), reinterpret_cast<float *>(c), (1u << 20) - 1);
  });
  return 0;
}
