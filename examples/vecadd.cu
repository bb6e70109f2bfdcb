// Vector addition: c = a + b, as a plain kernel and as a template in a namespace.
//
// The kernels only; the host side is vecadd.h. Threads beyond n leave early, so that the last
// block has a partial warp that exits before the others.
namespace ns {

template <typename T, int kWidth>
__global__ void vecadd(const T *a, const T *b, T *c, int n) {
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kWidth;
#pragma unroll
  for (int k = 0; k < kWidth; ++k)
    if (first + k < n) c[first + k] = a[first + k] + b[first + k];
}

template __global__ void vecadd<float, 4>(const float *, const float *, float *, int);

}  // namespace ns

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  c[i] = a[i] + b[i];
}

#ifndef EXAMPLE_KERNELS_ONLY
#include "vecadd.h"
#endif
