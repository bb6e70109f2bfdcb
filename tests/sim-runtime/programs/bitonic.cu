// Bitonic sort of a power of two, one launch per step: many small launches.
#include <algorithm>

#include "check.h"

__global__ void step(unsigned *values, unsigned distance, unsigned run) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
  if (other <= i) return;
  const bool is_up = (i & run) == 0;
  const unsigned a = values[i], b = values[other];
  if ((a > b) == is_up) values[i] = b, values[other] = a;
}

int main() {
  const unsigned n = 4096;
  Sequence random;
  std::vector<unsigned> values(n);
  for (unsigned &value : values) value = random.next();
  DeviceArray<unsigned> sorted(values);
  for (unsigned run = 2; run <= n; run *= 2)
    for (unsigned distance = run / 2; distance; distance /= 2)
      step<<<n / 128, 128>>>(sorted.data, distance, run);
  std::sort(values.begin(), values.end());
  CHECK(sorted.read() == values);
  record(sorted.read());
  return verdict();
}
