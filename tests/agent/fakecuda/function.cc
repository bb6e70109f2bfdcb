// Functions and kernels: names, owners, attributes.
#include "tests/agent/fakecuda/state.h"

HOOKABLE(cuFuncSetAttribute);
IMPLEMENT fake_cuFuncSetAttribute(CUfunction f, int attribute, int value) {
  Function *function = resolve(f);
  if (!function || attribute > 15) return kInvalidHandle;
  function->attributes[attribute] = value;
  return 0;
}

HOOKABLE(cuFuncSetCacheConfig);
IMPLEMENT fake_cuFuncSetCacheConfig(CUfunction f, int config) {
  resolve(f)->cache_config = config;
  return 0;
}

HOOKABLE(cuKernelSetAttribute);
IMPLEMENT fake_cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice) {
  return fake_cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

EXPORT cuFuncGetName(const char **name, CUfunction f) {
  if (reinterpret_cast<Function *>(f)->magic != kFunctionMagic) return kInvalidHandle;
  *name = reinterpret_cast<Function *>(f)->name.c_str();
  return 0;
}

EXPORT cuFuncGetModule(CUmodule *module, CUfunction f) {
  if (reinterpret_cast<Function *>(f)->magic != kFunctionMagic) return kInvalidHandle;
  *module = reinterpret_cast<CUmodule>(reinterpret_cast<Function *>(f)->module);
  return 0;
}

EXPORT cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
  if (reinterpret_cast<Function *>(f)->magic != kFunctionMagic) return kInvalidHandle;
  *value = reinterpret_cast<Function *>(f)->attributes[attribute];
  return 0;
}

EXPORT cuKernelGetName(const char **name, CUkernel kernel) {
  if (reinterpret_cast<Kernel *>(kernel)->magic != kKernelMagic) return kInvalidHandle;
  *name = reinterpret_cast<Kernel *>(kernel)->name.c_str();
  return 0;
}

EXPORT cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
  *library = reinterpret_cast<CUlibrary>(reinterpret_cast<Kernel *>(kernel)->library);
  return 0;
}

HOOKABLE(cuKernelGetFunction);
IMPLEMENT fake_cuKernelGetFunction(CUfunction *f, CUkernel kernel) {
  *f = reinterpret_cast<CUfunction>(resolve(reinterpret_cast<CUfunction>(kernel)));
  return *f ? 0 : kInvalidHandle;
}

EXPORT cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice) {
  *value = resolve(reinterpret_cast<CUfunction>(kernel))->attributes[attribute];
  return 0;
}
