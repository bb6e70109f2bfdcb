// Vector addition: launches of several shapes, streams and events, properties.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 10007;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = 0.5f * i, b[i] = 3.0f - i;
  DeviceArray<float> da(a), db(b), dc(n);
  cudaStream_t stream;
  cudaEvent_t start, end;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaStreamSynchronize(nullptr));
  CUDA(cudaEventRecord(start, stream));
  for (int block : {1, 33, 256, 1024}) {
    CUDA(cudaMemsetAsync(dc.data, 0xff, n * sizeof(float), stream));
    add<<<(n + block - 1) / block, block, 0, stream>>>(da.data, db.data, dc.data, n);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
    const std::vector<float> c = dc.read();
    for (int i = 0; i < n; ++i) CHECK(c[i] == a[i] + b[i]);
    record(c);
  }
  CUDA(cudaEventRecord(end, stream));
  CUDA(cudaEventSynchronize(end));
  float milliseconds = -1;
  CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds > 0);
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(end));
  CUDA(cudaStreamDestroy(stream));
  return verdict();
}
