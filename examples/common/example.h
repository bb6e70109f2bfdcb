// What the examples share on the host: counts, dumps, random input, the verdict.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpu.h"

namespace example {

// Notes that `times` launches of the kernel with this configuration ran; --print-counts prints
// the sums. Also accesses of global memory that a probe on ld.global and st.global would see.
void count(const std::string &kernel, const gpu::Config &config, uint64_t times = 1);
void count_accesses(const std::string &kernel, uint64_t loads, uint64_t stores, uint64_t bytes);

// Adds output memory to the --dump file.
void dump(const void *data, size_t size_bytes);

// Prints counts if asked, then "PASS name" and returns 0, or "FAIL name" and returns 1.
int finish(const char *name, bool passed);

// A small linear congruential generator: the same data on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }
  uint32_t below(uint32_t limit) { return next() % limit; }

 private:
  uint64_t state_;
};

// Device memory that is released with its scope.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count), data_(static_cast<T *>(gpu::allocate(count * sizeof(T)))) {}
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { gpu::release(data_); }
  T *data() const { return data_; }
  void upload(const std::vector<T> &from) { gpu::upload(data_, from.data(), from.size() * sizeof(T)); }
  void clear() { gpu::clear(data_, count_ * sizeof(T)); }
  std::vector<T> download() const {
    std::vector<T> to(count_);
    gpu::download(to.data(), data_, count_ * sizeof(T));
    return to;
  }

 private:
  size_t count_;
  T *data_;
};

}  // namespace example
