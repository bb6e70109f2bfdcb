// A GPU behind libcuda.so.1, NVIDIA's or the simulator's: compiles a module of kernels and runs them.
// Nothing of CUDA is needed to build. Source: CUDA Driver API 13.0.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::vectors {

// A kernel's parameter: a value, or an array in device memory whose address it gets.
struct Parameter {
  std::vector<uint8_t> bytes;
  bool is_array = false;
};

struct Launch {
  std::string kernel;
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared_bytes = 0;  // dynamic
};

class Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> open();
  virtual ~Gpu() = default;
  /// "NVIDIA H200, driver 13.0"
  virtual std::string name() const = 0;
  /// Compiles; the module before is gone.
  virtual Result<Ok> load(const std::string &ptx) = 0;
  /// Runs a kernel; the arrays of *parameters are then what it left.
  virtual Result<Ok> launch(const Launch &launch, std::vector<Parameter> *parameters) = 0;
  /// Runs one block of a kernel on 64-bit words; its results, `result_words` of them. The kernel's parameters
  /// are the addresses of its inputs, its results and of 16 bytes of scratch memory per thread.
  Result<std::vector<uint64_t>> run(const std::string &kernel, size_t threads,
                                    const std::vector<uint64_t> &inputs, size_t result_words);
};

/// Prints the GPU's name, or why there is none. The exit status: 0, or 77 if there is none.
int print_gpu();

}  // namespace egpu::vectors
