// Vector addition that takes a while: each thread adds b to a and then walks `rounds` steps of
// x = 1023 - x, which floats do exactly. The host side is vecadd_loop.h.
extern "C" __global__ void vecadd_loop(const float *a, const float *b, float *c, int n, int rounds) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float x = a[i] + b[i];
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) x = 1023.0f - x;
  c[i] = x;
}

#ifndef EXAMPLE_KERNELS_ONLY
#include "vecadd_loop.h"
#endif
