// The machines that run translated programs, each many programs at once: this processor, the
// simulated GPU, and a GPU by the CUDA driver.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/tools/job.h"

namespace egpu::bpf::run {

/// Memory and execution of a GPU, as little of it as running bodies needs.
class Device {
 public:
  virtual ~Device() = default;
  /// Zeroed device memory; lives as long as the device.
  virtual Result<uint64_t> allocate(uint64_t size_bytes) = 0;
  virtual Result<Ok> write(uint64_t address, const void *data, uint64_t size_bytes) = 0;
  virtual Result<Ok> read(uint64_t address, void *data, uint64_t size_bytes) = 0;
  /// Loads the PTX and runs its kernel "batch" with one parameter: `blocks` blocks of one thread.
  virtual Result<Ok> launch(const std::string &ptx, uint32_t blocks, uint64_t parameter) = 0;
  virtual std::string arch() const = 0;  // "sm_90"
};

Result<std::unique_ptr<Device>> simulated_device();
/// Through libcuda.so.1, opened at run time. Error: there is none, or no GPU.
Result<std::unique_ptr<Device>> cuda_device();

/// One launch for all of them. Error: the whole batch's.
Result<std::vector<Outcome>> run_on_device(const std::vector<Prepared> &programs, Device *device,
                                           int opt_level = 2);

/// As x86-64 code.
Result<std::vector<Outcome>> run_on_cpu(const std::vector<Prepared> &programs, int opt_level = 2);

using Batch = std::vector<Prepared>;
struct Machine {
  std::string name;
  std::function<Result<std::vector<Outcome>>(const Batch &)> run;
};
/// "cpu", "sim" or "cuda", opened. Error: another name, or there is none here.
Result<Machine> machine_named(const std::string &name);

/// A block of host memory as the layout of a map wants it, first contents included.
std::vector<uint8_t> initial_block(const MapSpec &map);

}  // namespace egpu::bpf::run
