// Matrix product on tensor cores: nvcuda::wmma, halves in, floats out, tiles in shared memory. With small
// integers all sums are exact, so every GPU gives the same bits; with other numbers they are as good as
// floats allow.
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

namespace wmma = nvcuda::wmma;

constexpr int kTile = 16, kWarps = 4;

// A block has kWarps tiles of c, side by side; a's tile is theirs together.
__global__ void multiply(const __half *a, const __half *b, float *c, int inner, int columns) {
  __shared__ __align__(32) __half tile_a[kTile * kTile], tile_b[kWarps][kTile * kTile];
  const int warp = threadIdx.y, thread = warp * 32 + threadIdx.x;
  const int row = blockIdx.y * kTile, column = (blockIdx.x * kWarps + warp) * kTile;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < inner; k += kTile) {
    for (int i = thread; i < kTile * kTile; i += 32 * kWarps)
      tile_a[i] = a[(row + i / kTile) * inner + k + i % kTile];
    for (int i = threadIdx.x; i < kTile * kTile; i += 32)
      tile_b[warp][i] = b[(k + i / kTile) * columns + column + i % kTile];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, __half, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, tile_a, kTile);
    wmma::load_matrix_sync(fb, tile_b[warp], kTile);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(c + row * columns + column, sum, columns, wmma::mem_row_major);
}

template <class Value>
void product(int rows, int inner, int columns, double tolerance, Value &&value) {
  std::vector<__half> a(rows * inner), b(inner * columns);
  for (__half &element : a) element = __float2half(value());
  for (__half &element : b) element = __float2half(value());
  DeviceArray<__half> da(a), db(b);
  DeviceArray<float> dc(rows * columns);
  multiply<<<dim3(columns / (kTile * kWarps), rows / kTile), dim3(32, kWarps)>>>(da.data, db.data, dc.data,
                                                                                 inner, columns);
  const std::vector<float> c = dc.read();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      for (int k = 0; k < inner; ++k)
        sum += double(__half2float(a[i * inner + k])) * __half2float(b[k * columns + j]);
      CHECK(std::fabs(c[i * columns + j] - sum) <= tolerance);
    }
}

int main() {
  Sequence random;
  product(48, 80, 128, 0, [&] { return float(static_cast<int>(random.next() >> 24) - 128); });
  product(32, 112, 64, 1e-4, [&] { return float(random.next() >> 8) / 16777216 - 0.5f; });
  return verdict();
}
