// A library for CUDA_INJECTION64_PATH: says that it was called, and calls the driver as an agent does.
#include <dlfcn.h>

#include <cstdio>

extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto *initialize = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
  auto *count = driver ? reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount")) : nullptr;
  int devices = -1;
  std::fprintf(stderr, "injected: cuInit %d, ", initialize ? initialize(0) : -1);
  std::fprintf(stderr, "cuDeviceGetCount %d, ", count ? count(&devices) : -1);
  std::fprintf(stderr, "devices %d\n", devices);
  return 1;
}
