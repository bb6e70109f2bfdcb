// Memory of all kinds, pointer and function attributes, properties.
#include <cstring>

#include "check.h"

__global__ void increment(int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++x[i];
}

int main() {
  const int n = 1000;
  int *device, *managed, *pinned, *mapped;
  CUDA(cudaMalloc(&device, n * 4));
  CUDA(cudaMallocManaged(&managed, n * 4));
  CUDA(cudaMallocHost(&pinned, n * 4));
  std::vector<int> plain(n, 3);
  CUDA(cudaHostRegister(plain.data(), n * 4, cudaHostRegisterDefault));
  CUDA(cudaHostGetDevicePointer(&mapped, plain.data(), 0));
  increment<<<8, 128>>>(mapped, n);
  CUDA(cudaDeviceSynchronize());
  for (int value : plain) CHECK(value == 4);

  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, device + 3));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device + 3 &&
        attributes.device == 0);
  CUDA(cudaPointerGetAttributes(&attributes, managed));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == managed);
  CUDA(cudaPointerGetAttributes(&attributes, pinned));
  CHECK(attributes.type == cudaMemoryTypeHost);
  CUDA(cudaPointerGetAttributes(&attributes, &attributes));
  CHECK(attributes.type == cudaMemoryTypeUnregistered && attributes.devicePointer == nullptr);
  CUDA(cudaHostUnregister(plain.data()));

  for (int i = 0; i < n; ++i) managed[i] = i, pinned[i] = -i;
  increment<<<8, 128>>>(managed, n);
  CUDA(cudaMemcpyAsync(device, pinned, n * 4, cudaMemcpyHostToDevice));
  increment<<<8, 128>>>(device, n);
  CUDA(cudaMemcpy(pinned, device, n * 4, cudaMemcpyDefault));
  for (int i = 0; i < n; ++i) CHECK(managed[i] == i + 1 && pinned[i] == 1 - i);
  std::vector<int> other(n);
  CUDA(cudaMemcpy(other.data(), plain.data(), n * 4, cudaMemcpyHostToHost));
  CHECK(other == plain);
  CUDA(cudaMemcpy(device, managed, n * 4, cudaMemcpyDeviceToDevice));
  CUDA(cudaMemcpy(other.data(), device, n * 4, cudaMemcpyDeviceToHost));
  CHECK(other[n - 1] == n);

  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  int *ordered;
  CUDA(cudaMallocAsync(&ordered, n * 4, stream));
  CUDA(cudaMemsetAsync(ordered, 0, n * 4, stream));
  increment<<<8, 128, 0, stream>>>(ordered, n);
  CUDA(cudaMemcpyAsync(other.data(), ordered, n * 4, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaFreeAsync(ordered, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int value : other) CHECK(value == 1);
  CUDA(cudaStreamDestroy(stream));

  cudaPitchedPtr box;
  CUDA(cudaMalloc3D(&box, make_cudaExtent(12, 3, 2)));
  CUDA(cudaMemset3D(box, 7, make_cudaExtent(12, 3, 2)));
  std::vector<char> cells(12 * 3 * 2);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = box;
  copy.dstPtr = make_cudaPitchedPtr(cells.data(), 12, 12, 3);
  copy.extent = make_cudaExtent(12, 3, 2);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&copy));
  for (char cell : cells) CHECK(cell == 7);
  CUDA(cudaFree(box.ptr));

  size_t free_bytes = 0, total_bytes = 0;
  CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  CHECK(free_bytes > 0 && free_bytes < total_bytes);
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  int value = 0;
  CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK(properties.multiProcessorCount == value && properties.warpSize == 32 && properties.major >= 7);
  CHECK(properties.totalGlobalMem == total_bytes && std::strlen(properties.name) > 0);
  CHECK(properties.maxThreadsPerBlock == 1024 && properties.sharedMemPerBlock == 48 * 1024);
  CHECK(properties.sharedMemPerBlockOptin > properties.sharedMemPerBlock &&
        properties.maxGridSize[1] == 65535);
  cudaFuncAttributes function;
  CUDA(cudaFuncGetAttributes(&function, increment));
  CHECK(function.maxThreadsPerBlock == 1024 && function.sharedSizeBytes == 0 && function.ptxVersion > 0);
  int runtime = 0, driver = 0;
  CUDA(cudaRuntimeGetVersion(&runtime));
  CUDA(cudaDriverGetVersion(&driver));
  CHECK(runtime == 13000 && driver >= runtime);
  CUDA(cudaFree(device));
  CUDA(cudaFree(managed));
  CUDA(cudaFreeHost(pinned));
  return verdict();
}
