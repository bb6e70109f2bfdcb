#include "tools/egpu-load/patcher.h"

#include <algorithm>

#include "tools/common/files.h"

namespace egpu::load {

Result<std::shared_ptr<const ptx::Plan>> Patcher::plan(const std::string &text) {
  if (auto known = plans_.find(text); known != plans_.end()) return known->second;
  TRY(ptx::Plan made, ptx::plan(text, probes_, next_site_));
  for (const auto &kernel : made.kernels)
    for (const auto &site : kernel.sites) next_site_ = std::max(next_site_, site.id + 1);
  std::shared_ptr<const ptx::Plan> plan = std::make_shared<ptx::Plan>(std::move(made));
  plans_.emplace(text, plan);
  return plan;
}

uint32_t Patcher::kernel_id(const std::string &mangled) {
  return kernel_ids_.try_emplace(mangled, static_cast<uint32_t>(kernel_ids_.size())).first->second;
}

Result<ptx::Patched> Patcher::patch(const ptx::Plan &plan, const std::vector<std::string> &names,
                                    const std::map<std::string, uint64_t> &globals,
                                    const std::map<std::string, uint64_t> &constants) {
  ptx::Bindings bindings;
  bindings.globals = globals;
  bindings.constants = constants;
  for (const auto &name : names) bindings.kernel_ids[name] = kernel_id(name);
  TRY(ptx::Patched patched, ptx::patch(plan, probes_, bindings));
  if (!save_directory_.empty()) {
    std::string stem = save_directory_ + "/" + std::to_string(saved_++);
    TRY([[maybe_unused]] auto before,
        cli::write_file(stem + "-original.ptx", plan.text.data(), plan.text.size()));
    TRY([[maybe_unused]] auto after,
        cli::write_file(stem + "-patched.ptx", patched.text.data(), patched.text.size()));
  }
  return patched;
}

}  // namespace egpu::load
