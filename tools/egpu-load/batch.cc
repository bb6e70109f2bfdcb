#include "tools/egpu-load/batch.h"

#include <algorithm>
#include <cstring>

namespace egpu::load {
namespace {

const ptx::KernelPlan *find_kernel(const std::vector<ptx::KernelPlan> &kernels, const std::string &name) {
  auto it = std::find_if(kernels.begin(), kernels.end(), [&](const auto &k) { return k.name == name; });
  return it == kernels.end() ? nullptr : &*it;
}

void refuse(const SeenKernel &seen, std::string reason, Shared &shared) {
  shared.warn(ptx::demangle_short(seen.name) + ": not probed: " + reason);
  shared.outcomes.set(seen.name, {Outcome::refused, 0, std::move(reason), {}});
}

// True if any program's kernel glob matches: a kernel that nobody asked for is never "refused".
bool wanted(const std::string &name, const std::vector<ptx::Probe> &probes) {
  return std::any_of(probes.begin(), probes.end(),
                     [&](const auto &probe) { return ptx::kernel_matches(probe.event.kernel, name); });
}

// The plan for a seen kernel, or nullptr if it stays original (its outcome is then recorded).
std::shared_ptr<const ptx::Plan> plan_for(const SeenKernel &seen, Images &images, int cc_major, int cc_minor,
                                          Shared &shared) {
  if (!wanted(seen.name, shared.patcher.probes())) {
    shared.outcomes.set(seen.name, {Outcome::not_matched, 0, {}, {}});
    return nullptr;
  }
  auto text = images.find(seen.kernel.module, seen.name, cc_major, cc_minor);
  if (!text) return refuse(seen, text.error().message, shared), nullptr;
  auto plan = shared.patcher.plan(**text);
  if (!plan) return refuse(seen, plan.error().message, shared), nullptr;
  const ptx::KernelPlan *kernel = find_kernel((*plan)->kernels, seen.name);
  if (!kernel) return refuse(seen, "its PTX does not define it", shared), nullptr;
  if (!kernel->refused.empty()) return refuse(seen, kernel->refused, shared), nullptr;
  if (kernel->sites.empty()) {
    shared.outcomes.set(seen.name, {Outcome::not_matched, 0, {}, {}});
    return nullptr;
  }
  return *plan;
}

}  // namespace

Batch make_batch(std::vector<SeenKernel> seen, Images &images, int cc_major, int cc_minor, Shared &shared) {
  Batch batch;
  for (auto &kernel : seen) {
    auto plan = plan_for(kernel, images, cc_major, cc_minor, shared);
    if (!plan) {
      batch.unprobed.push_back(std::move(kernel));
      continue;
    }
    auto group = std::find_if(batch.groups.begin(), batch.groups.end(), [&](const Group &g) {
      return g.module == kernel.kernel.module && g.plan == plan;
    });
    if (group == batch.groups.end()) {
      batch.groups.push_back({kernel.kernel.module, kernel.kernel.is_kernel != 0, plan, {}, {}});
      group = std::prev(batch.groups.end());
    }
    group->kernels.push_back(std::move(kernel));
  }
  return batch;
}

std::vector<std::string> missing_globals(const Group &group, const std::map<std::string, uint64_t> &known) {
  std::vector<std::string> missing;
  for (const auto &name : group.plan->globals)
    if (!known.count(name)) missing.push_back(name);
  return missing;
}

void patch_groups(Batch &batch, const std::map<uint64_t, std::map<std::string, uint64_t>> &globals,
                  const std::map<std::string, uint64_t> &constants, Shared &shared) {
  for (auto &group : batch.groups) {
    std::vector<std::string> names;
    for (const auto &kernel : group.kernels) names.push_back(kernel.name);
    std::map<std::string, uint64_t> found;
    if (auto known = globals.find(group.module); known != globals.end())
      for (const auto &[name, address] : known->second)
        if (address != 0) found.emplace(name, address);

    auto patched = shared.patcher.patch(*group.plan, names, found, constants);
    std::string failure = patched ? "" : patched.error().message;
    if (patched) group.patched = *std::move(patched);

    std::vector<SeenKernel> kept;
    for (auto &kernel : group.kernels) {
      const ptx::KernelPlan *result = find_kernel(group.patched.kernels, kernel.name);
      std::string reason = failure;
      if (reason.empty() && !result) reason = "the patcher left it out";
      if (reason.empty()) reason = result->refused;
      if (reason.empty()) {
        kept.push_back(std::move(kernel));
        continue;
      }
      refuse(kernel, reason, shared);
      batch.unprobed.push_back(std::move(kernel));
    }
    group.kernels = std::move(kept);
  }
  std::erase_if(batch.groups, [](const Group &group) { return group.kernels.empty(); });
}

std::vector<uint8_t> load_file(const Batch &batch, bool measure) {
  std::vector<session::LoadModule> modules;
  std::vector<session::LoadKernel> kernels;
  size_t kernel_count = batch.unprobed.size();
  for (const auto &group : batch.groups) kernel_count += group.kernels.size();
  std::string tail;
  uint64_t tail_offset =
      batch.groups.size() * sizeof(session::LoadModule) + kernel_count * sizeof(session::LoadKernel);
  auto place = [&](const std::string &text) {
    uint64_t offset = tail_offset + tail.size();
    tail.append(text).push_back('\0');
    return offset;
  };

  for (const auto &group : batch.groups) {
    uint64_t text_offset = place(group.patched.text);
    modules.push_back({text_offset, group.patched.text.size() + 1});
    for (const auto &seen : group.kernels) {
      const ptx::KernelPlan *plan = find_kernel(group.patched.kernels, seen.name);
      session::LoadKernel kernel{};
      kernel.function = seen.kernel.function;
      kernel.name_offset = place(seen.name);
      kernel.module = static_cast<uint32_t>(modules.size() - 1);
      if (plan->adds_launch_parameters) kernel.flags |= session::kLaunchParameters;
      if (measure) kernel.flags |= session::kMeasure;
      kernel.block_threads = seen.kernel.block_threads;
      kernel.block_shared_bytes = seen.kernel.block_shared_bytes;
      kernel.parameter_count = plan->parameter_count;
      kernel.parameter_bytes = plan->parameter_bytes;
      kernels.push_back(kernel);
    }
  }
  for (const auto &seen : batch.unprobed) {
    session::LoadKernel kernel{};
    kernel.function = seen.kernel.function;
    kernel.name_offset = place(seen.name);
    kernel.flags = session::kUnprobed;
    kernels.push_back(kernel);
  }

  session::Writer writer;
  writer.put_array(std::span<const session::LoadModule>(modules));
  writer.put_array(std::span<const session::LoadKernel>(kernels));
  writer.put_array(std::span<const char>(tail));
  return {writer.bytes().begin(), writer.bytes().end()};
}

}  // namespace egpu::load
