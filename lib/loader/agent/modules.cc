// Module loads and unloads, function attributes and ends of contexts, as the hooks see them.
#include "lib/loader/agent/contexts.h"
#include "lib/loader/agent/hooks.h"
#include "lib/loader/agent/images.h"
#include "lib/loader/agent/queue.h"
#include "lib/loader/agent/table.h"

namespace egpu::agent {
namespace {

uint64_t bits(const void *handle) { return reinterpret_cast<uint64_t>(handle); }

// After a successful load.
CUresult loaded(CUresult result, CUmodule *module, const void *image) {
  if (result == 0 && module) report_image(bits(*module), false, image);
  return result;
}

// A function or module that stands for one of a library: launches of it are told as the library's.
void remember_library(const void *handle, const void *library) {
  if (!process.active || !handle || !library) return;
  if (Entry *slot = slot_of(bits(handle))) slot->library.store(bits(library), std::memory_order_relaxed);
}

// Before an unload: handles may be given to other functions afterwards.
void unloading(const void *module) {
  if (!process.active || !module) return;
  drop_module(bits(module));
  if (Node *node = new_node(Told::module_gone, session::Kind::warning, 0)) push(node);
}

// Calls body(entry) for the live probed entries of a handle, in whatever context.
template <class Body>
void for_probed(const void *handle, Body body) {
  if (!process.active) return;
  for_each_entry([&](Entry &entry, Verdict verdict) {
    if (verdict == Verdict::probed && entry.handle.load(std::memory_order_relaxed) == bits(handle))
      body(entry);
  });
}

// A context may end with `call`: its maps are read before, it is forgotten after if it is gone
// (`gone` is asked after a call that succeeded). Bounded; nothing happens without a session.
constexpr uint64_t kLastSnapshotLimitNs = kDrainLimitNs + 2 * kNanosecondsPerSecond;
template <class Call, class Gone>
CUresult end_context(ContextState *context, Call call, Gone gone) {
  CUcontext handle = context ? context->handle.load() : nullptr;
  if (!handle || !process.active) return call();
  push_and_wait(Told::context_ending, handle, kLastSnapshotLimitNs);
  CUresult result = call();
  push_and_wait(result == 0 && gone() ? Told::context_gone : Told::context_stays, handle,
                kLastSnapshotLimitNs);
  return result;
}

// A released primary context lives on while others retain it.
bool primary_gone(CUdevice device) {
  unsigned flags;
  int active = 0;
  return !cu.cuDevicePrimaryCtxGetState || cu.cuDevicePrimaryCtxGetState(device, &flags, &active) != 0 ||
         !active;
}

}  // namespace

CUresult hook_cuModuleLoad(CUmodule *module, const char *path) {
  CUresult result = cu.cuModuleLoad(module, path);
  if (result == 0 && module) report_image_file(bits(*module), false, path);
  return result;
}
CUresult hook_cuModuleLoadData(CUmodule *module, const void *image) {
  return loaded(cu.cuModuleLoadData(module, image), module, image);
}
CUresult hook_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options,
                                 void **values) {
  return loaded(cu.cuModuleLoadDataEx(module, image, count, options, values), module, image);
}
CUresult hook_cuModuleLoadFatBinary(CUmodule *module, const void *image) {
  return loaded(cu.cuModuleLoadFatBinary(module, image), module, image);
}
CUresult hook_cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_options, void **jit_values,
                                unsigned jit_count, int *options, void **values, unsigned count) {
  CUresult result =
      cu.cuLibraryLoadData(library, code, jit_options, jit_values, jit_count, options, values, count);
  if (result == 0 && library) report_image(bits(*library), true, code);
  return result;
}
CUresult hook_cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit_options, void **jit_values,
                                    unsigned jit_count, int *options, void **values, unsigned count) {
  CUresult result =
      cu.cuLibraryLoadFromFile(library, path, jit_options, jit_values, jit_count, options, values, count);
  if (result == 0 && library) report_image_file(bits(*library), true, path);
  return result;
}

CUresult hook_cuModuleUnload(CUmodule module) {
  unloading(module);
  return cu.cuModuleUnload(module);
}
CUresult hook_cuLibraryUnload(CUlibrary library) {
  unloading(library);
  return cu.cuLibraryUnload(library);
}

CUresult hook_cuKernelGetFunction(CUfunction *f, CUkernel kernel) {
  CUresult result = cu.cuKernelGetFunction(f, kernel);
  CUlibrary library = nullptr;
  if (result == 0 && f && cu.cuKernelGetLibrary && cu.cuKernelGetLibrary(&library, kernel) == 0)
    remember_library(*f, library);
  return result;
}
CUresult hook_cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  CUresult result = cu.cuLibraryGetModule(module, library);
  if (result == 0 && module) remember_library(*module, library);
  return result;
}

CUresult hook_cuFuncSetAttribute(CUfunction f, int attribute, int value) {
  CUresult result = cu.cuFuncSetAttribute(f, attribute, value);
  if (result == 0)
    for_probed(f, [&](Entry &entry) { cu.cuFuncSetAttribute(entry.patched, attribute, value); });
  return result;
}
CUresult hook_cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device) {
  CUresult result = cu.cuKernelSetAttribute(attribute, value, kernel, device);
  if (result == 0)
    for_probed(kernel, [&](Entry &entry) {
      if (entry.where->device == device) cu.cuFuncSetAttribute(entry.patched, attribute, value);
    });
  return result;
}

// The driver does not tell these two back, so they are remembered for a function that is patched later.
CUresult hook_cuFuncSetCacheConfig(CUfunction f, int config) {
  CUresult result = cu.cuFuncSetCacheConfig(f, config);
  if (result != 0 || !process.active) return result;
  if (Entry *slot = slot_of(bits(f))) slot->cache_config = static_cast<uint8_t>(config + 1);
  for_probed(f, [&](Entry &entry) { cu.cuFuncSetCacheConfig(entry.patched, config); });
  return result;
}
CUresult hook_cuFuncSetSharedMemConfig(CUfunction f, int config) {
  CUresult result = cu.cuFuncSetSharedMemConfig(f, config);
  if (result != 0 || !process.active) return result;
  if (Entry *slot = slot_of(bits(f))) slot->shared_config = static_cast<uint8_t>(config + 1);
  for_probed(f, [&](Entry &entry) { cu.cuFuncSetSharedMemConfig(entry.patched, config); });
  return result;
}
CUresult hook_cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device) {
  CUresult result = cu.cuKernelSetCacheConfig(kernel, config, device);
  if (result != 0 || !process.active) return result;
  if (Entry *slot = slot_of(bits(kernel))) slot->cache_config = static_cast<uint8_t>(config + 1);
  if (cu.cuFuncSetCacheConfig)
    for_probed(kernel, [&](Entry &entry) {
      if (entry.where->device == device) cu.cuFuncSetCacheConfig(entry.patched, config);
    });
  return result;
}

CUresult hook_cuCtxDestroy(CUcontext context) {
  return end_context(find_context(context), [&] { return cu.cuCtxDestroy(context); }, [] { return true; });
}
CUresult hook_cuCtxDestroy_v2(CUcontext context) {
  return end_context(find_context(context), [&] { return cu.cuCtxDestroy_v2(context); }, [] { return true; });
}
CUresult hook_cuDevicePrimaryCtxRelease(CUdevice device) {
  return end_context(
      find_primary_context(device), [&] { return cu.cuDevicePrimaryCtxRelease(device); },
      [&] { return primary_gone(device); });
}
CUresult hook_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return end_context(
      find_primary_context(device), [&] { return cu.cuDevicePrimaryCtxRelease_v2(device); },
      [&] { return primary_gone(device); });
}
CUresult hook_cuDevicePrimaryCtxReset(CUdevice device) {
  return end_context(
      find_primary_context(device), [&] { return cu.cuDevicePrimaryCtxReset(device); }, [] { return true; });
}
CUresult hook_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return end_context(
      find_primary_context(device), [&] { return cu.cuDevicePrimaryCtxReset_v2(device); },
      [] { return true; });
}

}  // namespace egpu::agent
