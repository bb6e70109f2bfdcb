// Tiled matrix product c = scale * (a x b) + bias, square matrices. The host side is matmul.h.
//
// `scale` is a __constant__ array that the host sets; `launches` and `row_sums` are __device__
// variables that the kernel updates and the host reads back: a patched module must use these
// very variables. `file_bias` has internal linkage.
constexpr int kTile = 16;

__constant__ float scale[4];
__device__ unsigned launches;
__device__ unsigned blocks_done[64];
static __constant__ float file_bias[2] = {0.5f, 0.25f};

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile + y, column = static_cast<int>(blockIdx.x) * kTile + x;
  float sum = 0;
  for (int t = 0; t < n; t += kTile) {
    tile_a[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0.0f;
    tile_b[y][x] = column < n && t + y < n ? b[(t + y) * n + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();
  }
  if (x == 0 && y == 0) {
    atomicAdd(&blocks_done[blockIdx.y % 64], 1u);
    if (blockIdx.x == 0 && blockIdx.y == 0) launches += 1;
  }
  if (row >= n || column >= n) return;
  c[row * n + column] = sum * scale[(row + column) & 3] + file_bias[row & 1];
}

#ifndef EXAMPLE_KERNELS_ONLY
#include "matmul.h"
#endif
