// The driver as the runtime sees it: entry points found by name in libcuda.so.1, which is opened
// at the first call that needs it. One that is absent answers "newer driver needed" (36).
#pragma once
#include <atomic>

#include "lib/sim/runtime/api.h"

namespace egpu::rt {

/// The driver's function of that name; null: none, or no driver.
void *find_entry(const char *name);

template <class... Arguments>
class Entry {
 public:
  constexpr explicit Entry(const char *name) : name_(name) {}
  int operator()(Arguments... arguments) {
    void *found = address_.load(std::memory_order_relaxed);
    if (!found) {
      found = find_entry(name_);
      if (!found) return kNewerDriverNeeded;
      address_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
  }

 private:
  const char *name_;
  std::atomic<void *> address_{nullptr};
};

#define X(name, ...) inline constinit Entry<__VA_ARGS__> name{#name};
#include "lib/sim/runtime/calls.inc"
#undef X

}  // namespace egpu::rt
