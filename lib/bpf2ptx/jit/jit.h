// Programs as x86-64 code of this process: the same lowering, the same passes, another back end.
//
// What a body reads as a free symbol or special register (include/egpu/bpf2ptx.h, "The body
// ABI"), a host function reads from a row of 64-bit numbers that its caller fills; so it reads a
// clock (%globaltimer, %clock64), which stands still during a run. PTX that is no plain read (acquire and
// release of hash maps, the printk ring) has no form here yet: add() refuses such a program and names the
// statement.
//
// Nothing is checked at run time: an unverified program can end the process.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

class HostCode {
 public:
  static Result<std::unique_ptr<HostCode>> create();
  virtual ~HostCode() = default;

  /// Adds a program; its number is how many there were before.
  virtual Result<Ok> add(const Program &program, const Object &object, const Facts &facts) = 0;
  /// Compiles what was added. Nothing can be added afterwards.
  virtual Result<Ok> finish(int opt_level) = 0;

  /// What program `number` reads: "egpu_map_0", "%smid". run() wants their values in this order.
  virtual const std::vector<std::string> &symbols(size_t number) const = 0;
  /// Precondition: finish() succeeded.
  virtual void run(size_t number, const std::vector<uint64_t> &values) const = 0;
};

}  // namespace egpu::bpf
