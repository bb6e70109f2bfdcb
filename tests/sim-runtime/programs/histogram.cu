// Histogram of bytes: shared and global atomics; a 2D copy of the input.
#include "check.h"

__global__ void count(const unsigned char *in, size_t pitch, int width, int height, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int y = blockIdx.x; y < height; y += gridDim.x)
    for (int x = threadIdx.x; x < width; x += blockDim.x) atomicAdd(&local[in[y * pitch + x]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
}

int main() {
  const int width = 211, height = 97;
  Sequence random;
  std::vector<unsigned char> in(width * height);
  std::vector<unsigned> expected(256);
  for (auto &value : in) ++expected[value = (random.next() >> 24) & (random.next() >> 24)];
  unsigned char *rows;
  size_t pitch;
  CUDA(cudaMallocPitch(&rows, &pitch, width, height));
  CHECK(pitch >= width);
  CUDA(cudaMemcpy2D(rows, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice));
  std::vector<unsigned char> back(in.size());
  CUDA(cudaMemcpy2D(back.data(), width, rows, pitch, width, height, cudaMemcpyDefault));
  CHECK(back == in);
  DeviceArray<unsigned> bins(256);
  CUDA(cudaMemset(bins.data, 0, 1024));
  count<<<5, 192>>>(rows, pitch, width, height, bins.data);
  CHECK(bins.read() == expected);
  record(bins.read());
  CUDA(cudaFree(rows));
  return verdict();
}
