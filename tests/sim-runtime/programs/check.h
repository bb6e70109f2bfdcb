// What the programs share: a check that names its line, an error check, and the verdict, with a
// checksum of what the GPU computed (compared with a real GPU's: h200.txt).
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline int failures = 0;
inline unsigned long long checksum = 0;  // of what was recorded; 0: nothing

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      if (++failures < 10) std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                                  \
  } while (false)

#define CUDA(call)                                                                         \
  do {                                                                                     \
    const cudaError_t error_ = (call);                                                     \
    if (error_ != cudaSuccess) {                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_)); \
      std::exit(1);                                                                        \
    }                                                                                      \
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

// For output whose every bit is the same on every GPU: FNV-1a over all of it.
template <class T>
void record(const std::vector<T> &output) {
  if (!checksum) checksum = 0xcbf29ce484222325;
  const auto *bytes = reinterpret_cast<const unsigned char *>(output.data());
  for (size_t i = 0; i < output.size() * sizeof(T); ++i) checksum = (checksum ^ bytes[i]) * 0x100000001b3;
}

inline int verdict() {
  CUDA(cudaDeviceSynchronize());
  CHECK(cudaGetLastError() == cudaSuccess);
  if (checksum) std::printf("checksum %016llx\n", checksum);
  std::puts(failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
