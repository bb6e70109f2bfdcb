// The PTX of one target process: what the agent reported at module loads, and what a scan of the
// process found for modules that were loaded before we came.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/fatbin/images.h"

namespace egpu::load {

class Images {
 public:
  explicit Images(pid_t pid) : pid_(pid) {}

  void add(uint64_t module, std::vector<fatbin::Container> containers);
  // Why the image of `module` could not be read; told when one of its kernels is asked for.
  void add_unreadable(uint64_t module, std::string reason) { unreadable_[module] = std::move(reason); }

  /// The PTX that defines kernel `name` of `module`, for a device of this compute capability.
  /// The text stays valid as long as this object. Error: why there is none ("no PTX: ...").
  Result<const std::string *> find(uint64_t module, const std::string &name, int cc_major, int cc_minor);

  /// Scans the process if that was not done in the last second, so that find() knows its images.
  Result<Ok> scan();
  /// Mangled names of all kernels that the scanned images define.
  std::set<std::string> scanned_kernels() const;

 private:
  pid_t pid_;
  std::map<uint64_t, std::vector<fatbin::Container>> by_module_;
  std::map<uint64_t, std::string> unreadable_;
  std::vector<fatbin::Container> scanned_;
  uint64_t scanned_at_ns_ = 0;
};

/// The names of the kernels that a PTX text defines.
std::vector<std::string> entry_names(const std::string &ptx);

}  // namespace egpu::load
