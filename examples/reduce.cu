// Sum of an array: each block sums a stretch in shared memory and stores one value.
// The host side is reduce.h.
//
// `reduce` has its size of shared memory from the launch, and threads that leave early: after
// the last barrier all but the first warp return, and then all but thread 0. `reduce_static`
// has a static array and whole warps that leave before they ever load anything.
extern "C" __global__ void reduce(const unsigned *values, unsigned *sums, int n) {
  extern __shared__ unsigned partial[];
  const int thread = static_cast<int>(threadIdx.x);
  unsigned sum = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x) + thread; i < n; i += static_cast<int>(gridDim.x * blockDim.x))
    sum += values[i];
  partial[thread] = sum;
  __syncthreads();
  for (int step = static_cast<int>(blockDim.x) / 2; step >= 32; step /= 2) {
    if (thread < step) partial[thread] += partial[thread + step];
    __syncthreads();
  }
  if (thread >= 32) return;
  sum = partial[thread];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (thread != 0) return;
  sums[blockIdx.x] = sum;
}

extern "C" __global__ void reduce_static(const unsigned *values, unsigned *sums, int n) {
  __shared__ unsigned partial[64];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= 64) return;  // the warps beyond the second do nothing
  const int i = static_cast<int>(blockIdx.x) * 64 + thread;
  partial[thread] = i < n ? values[i] : 0;
  asm volatile("bar.sync 1, 64;" ::: "memory");  // of the two warps that stayed
  if (thread != 0) return;
  unsigned sum = 0;
  for (int k = 0; k < 64; ++k) sum += partial[k];
  atomicAdd(&sums[0], sum);
}

#ifndef EXAMPLE_KERNELS_ONLY
#include "reduce.h"
#endif
