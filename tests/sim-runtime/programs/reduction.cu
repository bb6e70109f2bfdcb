// Sum by shared memory and shuffles, static and dynamic shared memory.
#include "check.h"

__global__ void sum_shuffle(const int *in, int n, unsigned long long *out) {
  __shared__ int partial[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__global__ void sum_tree(const int *in, int n, unsigned long long *out) {
  extern __shared__ int values[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, values[0]);
}

int main() {
  const int n = 50021;
  Sequence random;
  std::vector<int> in(n);
  unsigned long long expected = 0;
  for (int &value : in) expected += value = random.next() % 1000;
  DeviceArray<int> din(in);
  DeviceArray<unsigned long long> out(2);
  CUDA(cudaMemset(out.data, 0, 16));
  sum_shuffle<<<7, 256>>>(din.data, n, out.data);
  CUDA(cudaFuncSetAttribute(sum_tree, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  sum_tree<<<(n + 511) / 512, 512, 60 * 1024>>>(din.data, n, out.data + 1);
  const auto sums = out.read();
  CHECK(sums[0] == expected);
  CHECK(sums[1] == expected);
  record(sums);
  return verdict();
}
