// Errors: configuration, last and peek, names, sticky faults, reset.
#include <cstring>

#include "check.h"

__global__ void nothing() {}
__global__ void store(int *to, int value) { *to = value; }
__global__ void big_block(int *out) {
  __shared__ int x[32];
  x[threadIdx.x % 32] = 1;
  __syncthreads();
  *out = x[0];
}

int main() {
  CHECK(cudaGetLastError() == cudaSuccess);
  nothing<<<1, 1025>>>();
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  nothing<<<0, 1>>>();
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  big_block<<<1, 32, 200 * 1024>>>(nullptr);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaLaunchKernel(reinterpret_cast<void *>(std::strlen), dim3(1), dim3(1), nullptr, 0, nullptr) ==
        cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<void *>(std::strlen)) != cudaSuccess);
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(cudaSetDevice(count) == cudaErrorInvalidDevice);
  void *pointer = &count;
  CHECK(cudaMalloc(&pointer, size_t{1} << 50) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMemcpy(&count, &count, 4, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection);
  CHECK(!std::strcmp(cudaGetErrorName(cudaErrorInvalidSymbol), "cudaErrorInvalidSymbol"));
  CHECK(!std::strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
  CHECK(!std::strcmp(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code"));
  cudaGetLastError();

  DeviceArray<int> x(1);
  CUDA(cudaDeviceReset());
  DeviceArray<int> y(1);
  store<<<1, 1>>>(y.data, 6);  // kernel handles outlive a reset
  CHECK(y.read()[0] == 6);
  x.data = nullptr;

  // A fault stays for good.
  store<<<1, 1>>>(nullptr, 5);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaMalloc(&pointer, 4) == cudaErrorIllegalAddress);
  CUDA(cudaDeviceReset());
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaMalloc(&pointer, 4) == cudaErrorDevicesUnavailable);
  y.data = nullptr;
  std::puts(failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
