// A GPU behind libcuda.so.1, NVIDIA's or the simulator's: compiles a module of kernels and runs them,
// one block each, on arrays of 64-bit words.
//
// A kernel's parameters are the addresses of its inputs, its results and of 16 bytes of scratch
// memory per thread. Nothing of CUDA is needed to build. Source: CUDA Driver API 13.0.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::vectors {

class Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> open();
  virtual ~Gpu() = default;
  /// "NVIDIA H200, driver 13.0"
  virtual std::string name() const = 0;
  /// Compiles; the module before is gone.
  virtual Result<Ok> load(const std::string &ptx) = 0;
  /// Runs a kernel; its results, `result_words` of them.
  virtual Result<std::vector<uint64_t>> run(const std::string &kernel, size_t threads,
                                            const std::vector<uint64_t> &inputs, size_t result_words) = 0;
};

/// Prints the GPU's name, or why there is none. The exit status: 0, or 77 if there is none.
int print_gpu();

}  // namespace egpu::vectors
