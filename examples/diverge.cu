// Collatz steps: how many until 1? Every lane loops its own number of times, so warps diverge
// at the loop's end and at the branch inside. The host side is diverge.h.
//
// `diverge` leaves by two returns in different places; `diverge_switch` takes one of five ways.
extern "C" __global__ void diverge(const unsigned *start, unsigned *steps, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned value = start[i], count = 0;
  if (value == 0) {
    steps[i] = 0xffffffffu;
    return;
  }
  while (value != 1) {
    if (value & 1) {
      value = 3 * value + 1;
      if (value % 5 == 0) count += 0x10000u;  // odd steps that led to a multiple of five
    } else {
      value /= 2;
    }
    ++count;
  }
  steps[i] = count;
}

__device__ __noinline__ unsigned mix(unsigned x, unsigned rounds) {
  for (unsigned k = 0; k < rounds; ++k) x = x * 1664525u + 1013904223u;
  return x;
}

extern "C" __global__ void diverge_switch(const unsigned *start, unsigned *out, int n) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const unsigned x = start[i];
    unsigned y = 0;
    switch (x % 5) {
      case 0: y = mix(x, 1); break;
      case 1: y = mix(x, x % 7) ^ x; break;
      case 2: y = x * x; break;
      case 3:
        for (unsigned k = x % 11; k-- > 0;) y += k * x;
        break;
      default: continue;
    }
    out[i] = y;
  }
}

#ifndef EXAMPLE_KERNELS_ONLY
#include "diverge.h"
#endif
