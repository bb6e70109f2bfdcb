// The simulated GPU: loads PTX modules and runs kernels on the CPU, warp by warp.
//
// In: PTX text; launches with packed parameters. Out: memory effects, or a Fault that says
// kernel, thread, PTX line and cause. Device addresses are host addresses. Knows nothing of
// the CUDA driver API: lib/sim/driver is that. All functions are safe to call from several
// threads; launches may run at the same time on several host threads.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::sim {

class Trace;

struct DeviceConfig {
  int compute_major = 9, compute_minor = 0;
  uint32_t sm_count = 4;      // blocks are spread over them; %smid, %nsmid
  uint32_t host_threads = 0;  // that execute blocks; 0: as many as there are cores
  uint64_t seed = 0;          // varies the interleaving of warps and blocks
  uint32_t max_shared_bytes = 227 * 1024;
  bool check_shared = false;     // a read of shared memory that no thread wrote is a fault
  std::shared_ptr<Trace> trace;  // of launches that have none of their own
};

// Allocations of device memory: base -> size, for bounds checks and pointer queries.
// Blocks have gaps between them, so that an access past the end of one is seen.
class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  uint64_t allocate(uint64_t size_bytes, uint32_t align = 256);  // 0: out of memory
  bool free(uint64_t base);                                      // false: not an allocation's base
  void add_external(uint64_t base, uint64_t size_bytes);         // host memory that kernels may use
  void remove_external(uint64_t base);
  bool contains(uint64_t address, uint64_t size_bytes) const;
  bool find(uint64_t address, uint64_t *base, uint64_t *size_bytes) const;
  uint64_t used_bytes() const;
  void set_limit(uint64_t size_bytes) { limit_ = size_bytes; }  // of all allocations together
  // Changes whenever a block comes or goes: what was found before may be gone.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> blocks_;
  std::map<uint64_t, void *> owned_;
  uint64_t used_ = 0;
  uint64_t limit_ = uint64_t{1} << 40;
  std::atomic<uint64_t> generation_{1};
};

struct Parameter {
  uint32_t offset, size_bytes, align;
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0;
  uint32_t static_shared_bytes = 0, local_bytes = 0, register_count = 0;
  uint32_t max_threads_per_block = 1024;
  std::array<uint32_t, 3> cluster{0, 0, 0};  // .reqnctapercluster; zeros: not given
};

struct GlobalInfo {
  uint64_t address, size_bytes;
  bool is_const, is_managed;
};

class Machine;

class Module {
 public:
  virtual ~Module() = default;
  virtual const KernelInfo *find_kernel(const std::string &name) const = 0;
  virtual const GlobalInfo *find_global(const std::string &name) const = 0;
  virtual std::vector<std::string> kernel_names() const = 0;
};

// What executed, in order of execution per worker; calls come from several host threads at once.
struct TraceStep {
  const char *kernel, *function;
  uint32_t pc, line, warp, mask;  // pc: operation in the function; line: of the PTX
  std::array<uint32_t, 3> block;
  const uint64_t *addresses;  // of the active lanes of a memory access; nullptr: none
  const char *text;
  uint32_t text_size;  // "ld.global.f32"
};
class Trace {
 public:
  virtual ~Trace() = default;
  virtual void step(const TraceStep &step) = 0;
};
/// Writes a line per step to `path` (docs/simulator.md, "Trace"). Error: "PATH: No such file or directory".
Result<std::shared_ptr<Trace>> open_trace_file(const std::string &path);

struct Launch {
  std::shared_ptr<const Module> module;
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> parameters;  // packed as KernelInfo::parameters says
  bool cooperative = false;
  std::array<uint32_t, 3> cluster{0, 0, 0};  // blocks that share a cluster; zeros: as the kernel says
  Trace *trace = nullptr;
};

// Why a kernel stopped; `kind` decides the CUDA error.
struct Fault {
  enum Kind {
    illegal_address,
    misaligned_address,
    illegal_instruction,
    assertion,
    trap,
    deadlock,
    uninitialized_shared,
    not_simulated
  } kind;
  std::string message;  // "kernel k, block (0,0,0), thread (3,0,0), ptx:41: ld.global.f32 of 4 bytes at 0x10:
                        // not allocated"
};

class Machine {
 public:
  static std::unique_ptr<Machine> create(const DeviceConfig &config);
  virtual ~Machine() = default;
  virtual const DeviceConfig &config() const = 0;
  virtual Memory &memory() = 0;
  // Error: as ptxas would say: "ptx line N: unknown symbol 'x'".
  virtual Result<std::shared_ptr<Module>> load(const std::string &ptx) = 0;
  // Instructions of all launches so far, one per warp and one per active thread.
  struct Steps {
    uint64_t warp = 0, thread = 0;
  };
  virtual Steps steps() const = 0;
  // Runs the whole grid; returns when it is done. nullptr-like empty message: success.
  virtual Result<Ok> run(const Launch &launch, Fault *fault) = 0;
};

}  // namespace egpu::sim
