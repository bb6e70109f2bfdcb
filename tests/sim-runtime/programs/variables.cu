// __device__, __constant__ and __managed__ variables; symbols; two kernels of one name in namespaces.
#include "check.h"

__device__ int counter = 40;
__device__ float table[5];
__constant__ int weights[4] = {1, 2, 3, 4};
__managed__ int shared_count = 7;
__managed__ double shared_table[3] = {0.5, 1.5, 2.5};

namespace one {
__global__ void run(int *out) {
  counter += 2;
  for (int i = 0; i < 5; ++i) table[i] = 0.25f * i;
  shared_count += weights[3];
  shared_table[1] *= 2;
  out[0] = weights[0] + weights[1];
}
}  // namespace one
namespace two {
__global__ void run(int *out) { out[0] = -weights[2]; }
}  // namespace two

int main() {
  CHECK(shared_count == 7);  // before any other call
  shared_count = 8;
  DeviceArray<int> out(1);
  one::run<<<1, 1>>>(out.data);
  CUDA(cudaDeviceSynchronize());
  CHECK(out.read()[0] == 3);
  CHECK(shared_count == 12);
  CHECK(shared_table[0] == 0.5 && shared_table[1] == 3.0);
  int read = 0;
  CUDA(cudaMemcpyFromSymbol(&read, counter, sizeof read));
  CHECK(read == 42);
  float part[2];
  CUDA(cudaMemcpyFromSymbol(part, table, sizeof part, 3 * sizeof(float)));
  CHECK(part[0] == 0.75f && part[1] == 1.0f);
  record(std::vector<float>(part, part + 2));
  const int changed = 30;
  CUDA(cudaMemcpyToSymbol(weights, &changed, sizeof changed, 2 * sizeof(int)));
  two::run<<<1, 1>>>(out.data);
  CHECK(out.read()[0] == -30);
  void *address = nullptr;
  size_t size = 0;
  CUDA(cudaGetSymbolAddress(&address, table));
  CUDA(cudaGetSymbolSize(&size, table));
  CHECK(size == sizeof(float) * 5);
  CUDA(cudaMemset(address, 0, size));
  CUDA(cudaMemcpyFromSymbol(part, table, sizeof part));
  CHECK(part[0] == 0 && part[1] == 0);
  CUDA(cudaGetSymbolAddress(&address, shared_count));
  CHECK(address == &shared_count);
  CHECK(cudaMemcpyToSymbol(weights, &changed, sizeof changed, 16) == cudaErrorInvalidValue);
  CHECK(cudaGetSymbolSize(&size, &read) == cudaErrorInvalidSymbol);
  CHECK(cudaGetLastError() == cudaErrorInvalidSymbol);
  return verdict();
}
