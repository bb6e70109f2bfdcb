// What the programs share: a check that names its line, an error check, and the verdict.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline int failures = 0;

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      if (++failures < 10) std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                            \
  } while (false)

#define CUDA(call)                                                                             \
  do {                                                                                         \
    const cudaError_t error_ = (call);                                                         \
    if (error_ != cudaSuccess) {                                                               \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));     \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (false)

// A repeatable sequence, the same on every machine.
struct Sequence {
  unsigned state = 12345;
  unsigned next() { return state = state * 1664525u + 1013904223u; }
};

template <class T>
struct DeviceArray {
  T *data = nullptr;
  size_t count = 0;
  explicit DeviceArray(size_t n) : count(n) { CUDA(cudaMalloc(&data, n * sizeof(T))); }
  explicit DeviceArray(const std::vector<T> &from) : DeviceArray(from.size()) {
    CUDA(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data); }
  std::vector<T> read() const {
    std::vector<T> all(count);
    CUDA(cudaMemcpy(all.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return all;
  }
};

inline int verdict() {
  CUDA(cudaDeviceSynchronize());
  CHECK(cudaGetLastError() == cudaSuccess);
  std::puts(failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
