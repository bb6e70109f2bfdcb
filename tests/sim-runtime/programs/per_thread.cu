// Built with --default-stream per-thread: two host threads, each with its own default stream.
#include <thread>

#include "check.h"

__global__ void wait_for(volatile int *flag) {
  while (!*flag) {
  }
}
__global__ void raise(volatile int *flag) { *flag = 1; }

int main() {
  int *flag;
  CUDA(cudaMallocManaged(&flag, 4));
  // Nothing can be loaded while a kernel spins: launch both once before.
  raise<<<1, 1>>>(flag);
  wait_for<<<1, 1>>>(flag);
  CUDA(cudaDeviceSynchronize());
  *flag = 0;
  // On one common default stream this would never end.
  std::thread waiter([&] {
    wait_for<<<1, 1>>>(flag);
    CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  });
  std::thread raiser([&] {
    raise<<<1, 1>>>(flag);
    int seen = 0;
    CUDA(cudaMemcpy(&seen, flag, 4, cudaMemcpyDefault));
    CHECK(seen == 1);
  });
  waiter.join();
  raiser.join();
  CUDA(cudaFree(flag));
  return verdict();
}
