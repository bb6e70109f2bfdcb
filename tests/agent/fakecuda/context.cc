// Initialization, the one device, contexts, names of errors.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/agent/fakecuda/state.h"

HOOKABLE(cuCtxDestroy_v2);
IMPLEMENT fake_cuCtxDestroy_v2(CUcontext context) {
  delete reinterpret_cast<Context *>(context);
  if (current == context) current = nullptr;
  return 0;
}

HOOKABLE(cuDevicePrimaryCtxRelease_v2);
IMPLEMENT fake_cuDevicePrimaryCtxRelease_v2(CUdevice) {
  std::lock_guard lock(mutex);
  if (primary_count == 0) return kInvalidContext;
  --primary_count;
  return 0;
}

EXPORT cuInit(unsigned) {
  // As the real one does (facts.md, section 1).
  const char *path = getenv("CUDA_INJECTION64_PATH");
  if (!path) return 0;
  void *library = dlopen(path, RTLD_NOW);
  if (!library) return 0;
  auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize) initialize();
  return 0;
}

EXPORT cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

EXPORT cuDeviceGetName(char *name, int bytes, CUdevice) {
  strncpy(name, "Fake GPU", static_cast<size_t>(bytes));
  return 0;
}

EXPORT cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  *value = attribute == kDeviceMultiprocessorCount ? fakecuda::kSmCount
           : attribute == kDeviceComputeMajor      ? 9
                                                   : 0;
  return 0;
}

EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  std::lock_guard lock(mutex);
  ++primary_count;
  *context = reinterpret_cast<CUcontext>(&primary);
  return 0;
}

EXPORT cuDevicePrimaryCtxGetState(CUdevice, unsigned *flags, int *active) {
  std::lock_guard lock(mutex);
  *flags = 0;
  *active = primary_count > 0;
  return 0;
}

EXPORT cuCtxGetCurrent(CUcontext *context) {
  *context = current;
  return 0;
}

EXPORT cuCtxSetCurrent(CUcontext context) {
  current = context;
  return 0;
}

EXPORT cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return current ? 0 : kInvalidContext;
}

EXPORT cuCtxSynchronize() {
  if (captures > 0) broken_capture = true;
  while (busy) usleep(1000);
  return 0;
}

EXPORT cuGetErrorName(CUresult error, const char **name) {
  *name = error == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : "CUDA_ERROR_SOMETHING";
  return 0;
}
