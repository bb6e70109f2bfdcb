// A libcuda.so.1 for the agent's tests: real code at the entry points, no GPU behind it.
//
// Every hooked entry point begins with one 8-byte nop and a jump to its implementation, so a
// test can relocate it without a decoder and may store a jump over it while threads run through
// it. Device memory is host memory. A "module" is PTX-like text: `.entry NAME(.param .u64 a,
// ...)` makes a function whose parameters are recorded at each launch, `.global NAME` a global,
// `// adds ADDRESS` after an entry makes each launch add 1 there, `BROKEN` does not compile.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/loader/driver/driver.h"

namespace fakecuda {

struct Launch {
  std::string entry_point, function, module_text;
  std::vector<uint64_t> parameters;
  void *stream = nullptr;
  bool captured = false, cooperative = false;
};

// What the tests ask and set. One object, exported by the library.
class Control {
 public:
  virtual std::vector<Launch> launches() = 0;
  virtual uint64_t launch_count(const char *function, bool patched) = 0;
  virtual void reset() = 0;
  /// cuCtxSynchronize waits while set.
  virtual void set_busy(bool busy) = 0;
  /// Launches of patched functions fail with this error; 0: they do not.
  virtual void fail_patched(int error) = 0;
  virtual egpu::driver::CUcontext create_context() = 0;
  virtual int modules_alive() = 0;
  virtual long device_bytes() = 0;
  virtual int attribute(egpu::driver::CUfunction f, int attribute) = 0;
  virtual int cache_config(egpu::driver::CUfunction f) = 0;
  virtual bool capture_was_broken() = 0;
  /// Calls that used a function of an unloaded module.
  virtual int dead_function_uses() = 0;
  /// The function behind a launch of a patched kernel.
  virtual egpu::driver::CUfunction last_patched() = 0;

 protected:
  ~Control() = default;
};

// CLOCK_MONOTONIC - %globaltimer of this device.
constexpr int64_t kClockOffsetNs = 1234567890123;
constexpr int kSmCount = 7;

}  // namespace fakecuda

extern "C" {
fakecuda::Control *fake_control();
#define EGPU_PROTOTYPE(name, parameters, required) egpu::driver::CUresult name parameters;
using namespace egpu::driver;
EGPU_DRIVER_FUNCTIONS(EGPU_PROTOTYPE)
#undef EGPU_PROTOTYPE
CUresult cuInit(unsigned flags);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult cuGraphCreate(CUgraph *graph, unsigned flags);
}
