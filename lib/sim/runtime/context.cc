#include "lib/sim/runtime/context.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <set>

#include "lib/sim/runtime/export.h"

namespace egpu::rt {
namespace {

constexpr int kLowestDriverVersion = 13000;

void *driver_library() {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library;
}

// Never destroyed: see ThreadState.
struct Contexts {
  std::mutex mutex;
  std::map<Ordinal, Handle> primary;
  std::set<Handle> stale;  // primary contexts before a reset
  std::atomic<unsigned> resets{0};
};
Contexts &contexts() {
  static Contexts &all = *new Contexts;
  return all;
}

// A kernel's, which stays the process's state.
bool is_fault(int error) { return error >= 700 && error < 720; }

}  // namespace

void *find_entry(const char *name) { return driver_library() ? dlsym(driver_library(), name) : nullptr; }

ThreadState &thread_state() {
  thread_local constinit ThreadState state{};
  return state;
}

int ensure_driver() {
  static const int status = []() -> int {
    if (!driver_library()) return kInsufficientDriver;
    int version = 0;
    RT_TRY(cuInit(0));
    RT_TRY(cuDriverGetVersion(&version));
    return version < kLowestDriverVersion ? kInsufficientDriver : kOk;
  }();
  return status;
}

int check_device(Ordinal device) {
  RT_TRY(ensure_driver());
  int count = 0;
  RT_TRY(cuDeviceGetCount(&count));
  return device >= 0 && device < count ? kOk : kNoSuchDevice;
}

int primary_context(Ordinal device, Handle *context) {
  RT_TRY(check_device(device));
  Contexts &all = contexts();
  const std::lock_guard lock(all.mutex);
  Handle &known = all.primary[device];
  if (!known) {
    if (const int error = cuDevicePrimaryCtxRetain(&known, device))
      return is_fault(error) ? kDevicesUnavailable : error;
    all.stale.erase(known);
  }
  *context = known;
  return kOk;
}

int use_device(Ordinal device) {
  Handle context = nullptr;
  RT_TRY(primary_context(device, &context));
  thread_state().resets_seen = contexts().resets;
  return cuCtxSetCurrent(context);
}

int ensure_context() {
  RT_TRY(ensure_driver());
  Handle current = nullptr;
  RT_TRY(cuCtxGetCurrent(&current));
  ThreadState &thread = thread_state();
  Contexts &all = contexts();
  if (current && thread.resets_seen == all.resets) return kOk;
  if (current) {
    // Another thread has reset a device: is it this one's context?
    const std::lock_guard lock(all.mutex);
    thread.resets_seen = all.resets;
    if (!all.stale.contains(current)) return kOk;
  }
  return use_device(thread.device);
}

int current_device(Ordinal *device) {
  RT_TRY(ensure_driver());
  Handle current = nullptr;
  RT_TRY(cuCtxGetCurrent(&current));
  if (current) return cuCtxGetDevice(device);
  *device = thread_state().device;
  return kOk;
}

int reset_device() {
  Ordinal device = 0;
  RT_TRY(current_device(&device));
  Contexts &all = contexts();
  {
    const std::lock_guard lock(all.mutex);
    auto found = all.primary.find(device);
    if (found != all.primary.end() && found->second) {
      RT_TRY(cuDevicePrimaryCtxReset_v2(device));
      all.stale.insert(found->second);
      found->second = nullptr;
      ++all.resets;
      cuDevicePrimaryCtxRelease_v2(device);
    }
  }
  return cuCtxSetCurrent(nullptr);
}

}  // namespace egpu::rt
