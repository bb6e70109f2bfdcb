// Plans and patches the modules of all targets of a session, with one numbering of kernels and sites.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/ptx/patch.h"

namespace egpu::load {

class Patcher {
 public:
  /// Texts before and after patching are written to `save_directory` unless it is empty.
  Patcher(std::vector<ptx::Probe> probes, std::string save_directory)
      : probes_(std::move(probes)), save_directory_(std::move(save_directory)) {}

  const std::vector<ptx::Probe> &probes() const { return probes_; }

  /// The plan of a module's text; the same text is planned once, so its sites keep their ids.
  Result<std::shared_ptr<const ptx::Plan>> plan(const std::string &text);
  /// Dense, from 0, by mangled name; the same in all processes.
  uint32_t kernel_id(const std::string &mangled);
  /// Patches the kernels in `names` only.
  Result<ptx::Patched> patch(const ptx::Plan &plan, const std::vector<std::string> &names,
                             const std::map<std::string, uint64_t> &globals,
                             const std::map<std::string, uint64_t> &constants);

 private:
  std::vector<ptx::Probe> probes_;
  std::map<std::string, std::shared_ptr<const ptx::Plan>> plans_;
  std::map<std::string, uint32_t> kernel_ids_;
  uint32_t next_site_ = 0;
  std::string save_directory_;
  int saved_ = 0;
};

}  // namespace egpu::load
