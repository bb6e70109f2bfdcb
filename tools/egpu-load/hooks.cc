#include "tools/egpu-load/hooks.h"

#include <cstring>

#include "lib/loader/inject/relocate.h"
#include "lib/loader/inject/write_hooks.h"

namespace egpu::load {

Result<std::vector<session::Hook>> prepare_hooks(pid_t pid, bool attach,
                                                 const std::vector<session::EntryPoint> &entries,
                                                 Shared &shared) {
  std::vector<session::Hook> hooks;
  for (const auto &entry : entries) {
    auto hook = inject::relocate(entry);
    if (hook) {
      hooks.push_back(*hook);
      continue;
    }
    std::string name(entry.name, strnlen(entry.name, sizeof entry.name));
    shared.warn(name + ": cannot be hooked: " + hook.error().message);
    hooks.push_back({});
  }
  if (attach) {
    TRY(auto stop, inject::write_hooks(pid, entries, hooks));
    shared.verbose("process " + std::to_string(pid) + ": " + std::to_string(stop.thread_count) +
                   " threads stopped for " + std::to_string(stop.stopped_us) + " us");
  }
  return hooks;
}

}  // namespace egpu::load
