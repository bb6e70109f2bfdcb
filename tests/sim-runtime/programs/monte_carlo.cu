// Monte Carlo: pi by counting, the same count on the host; several streams.
#include "check.h"

__host__ __device__ inline unsigned hash(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}
__host__ __device__ inline bool inside(unsigned i) {
  const unsigned long long x = hash(2 * i) >> 8, y = hash(2 * i + 1) >> 8;
  return x * x + y * y < (1ull << 48);
}

__global__ void throw_darts(unsigned first, unsigned n, unsigned *hits) {
  unsigned mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += inside(first + i);
  const unsigned warp = __reduce_add_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, warp);
}

int main() {
  const unsigned n = 30011, parts = 3;
  DeviceArray<unsigned> hits(parts);
  CUDA(cudaMemset(hits.data, 0, parts * 4));
  cudaStream_t streams[parts];
  for (unsigned p = 0; p < parts; ++p) {
    CUDA(cudaStreamCreateWithFlags(&streams[p], cudaStreamNonBlocking));
    throw_darts<<<3, 64, 0, streams[p]>>>(p * n, n, hits.data + p);
  }
  CUDA(cudaDeviceSynchronize());
  const auto counted = hits.read();
  unsigned all = 0;
  for (unsigned p = 0; p < parts; ++p) {
    unsigned expected = 0;
    for (unsigned i = 0; i < n; ++i) expected += inside(p * n + i);
    CHECK(counted[p] == expected);
    all += counted[p];
    CUDA(cudaStreamDestroy(streams[p]));
  }
  record(counted);
  CHECK(std::fabs(4.0 * all / (parts * n) - 3.14159) < 0.03);
  return verdict();
}
