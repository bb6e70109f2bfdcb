// Matrix product: tiles in shared memory, sizes that are no multiple of the tile, float and double.
#include "check.h"

constexpr int kTile = 16;

template <class T>
__global__ void multiply(const T *a, const T *b, T *c, int rows, int inner, int columns) {
  __shared__ T tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  T sum = 0;
  for (int t = 0; t < inner; t += kTile) {
    tile_a[y][x] = row < rows && t + x < inner ? a[row * inner + t + x] : T(0);
    tile_b[y][x] = column < columns && t + y < inner ? b[(t + y) * columns + column] : T(0);
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}

template <class T>
void product(double tolerance) {
  const int rows = 53, inner = 101, columns = 37;
  Sequence random;
  std::vector<T> a(rows * inner), b(inner * columns);
  for (T &value : a) value = static_cast<T>(random.next() >> 8) / 16777216 - T(0.5);
  for (T &value : b) value = static_cast<T>(random.next() >> 8) / 16777216 - T(0.5);
  DeviceArray<T> da(a), db(b), dc(rows * columns);
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  multiply<<<grid, dim3(kTile, kTile)>>>(da.data, db.data, dc.data, rows, inner, columns);
  const std::vector<T> c = dc.read();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      long double sum = 0;
      for (int k = 0; k < inner; ++k) sum += static_cast<long double>(a[i * inner + k]) * b[k * columns + j];
      CHECK(std::fabs(static_cast<double>(c[i * columns + j] - sum)) < tolerance);
    }
  record(c);
}

int main() {
  product<float>(1e-5);
  product<double>(1e-14);
  return verdict();
}
