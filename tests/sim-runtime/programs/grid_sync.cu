// A cooperative launch whose blocks wait for each other in every round.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

// Each round every element becomes the sum of itself and its left neighbour.
__global__ void rounds(unsigned *a, unsigned *b, int n, int count) {
  cg::grid_group grid = cg::this_grid();
  for (int r = 0; r < count; ++r) {
    for (int i = grid.thread_rank(); i < n; i += grid.num_threads()) b[i] = a[i] + a[i ? i - 1 : n - 1];
    grid.sync();
    unsigned *const other = a;
    a = b;
    b = other;
  }
}

int main() {
  const int n = 1009, count = 10;
  int blocks_per_sm = 0, sms = 0, can = 0;
  CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
  CHECK(can == 1);
  CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, rounds, 64, 0));
  CHECK(blocks_per_sm > 0);
  std::vector<unsigned> values(n), next(n);
  for (int i = 0; i < n; ++i) values[i] = i * i;
  DeviceArray<unsigned> a(values), b(n);
  unsigned *pa = a.data, *pb = b.data;
  int size = n, rounds_count = count;
  void *arguments[] = {&pa, &pb, &size, &rounds_count};
  CUDA(cudaLaunchCooperativeKernel(rounds, dim3(4), dim3(64), arguments, 0, nullptr));
  for (int r = 0; r < count; ++r) {
    for (int i = 0; i < n; ++i) next[i] = values[i] + values[i ? i - 1 : n - 1];
    values.swap(next);
  }
  CHECK(a.read() == values);

  // The same by cudaLaunchKernelEx with the cooperative attribute, from the state reached.
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(3);
  config.blockDim = dim3(96);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, rounds, pa, pb, n, 2));
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < n; ++i) next[i] = values[i] + values[i ? i - 1 : n - 1];
    values.swap(next);
  }
  CHECK(a.read() == values);

  record(a.read());

  // More blocks than fit at once.
  CHECK(cudaLaunchCooperativeKernel(rounds, dim3(sms * blocks_per_sm + 1), dim3(64), arguments, 0, nullptr) ==
        cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
  return verdict();
}
