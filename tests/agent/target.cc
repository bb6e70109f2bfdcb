// A program that the exit test starts: driver API, one kernel, then exits in the way it is told.
#include <cstring>

#include "tests/agent/fakecuda.h"

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  cuInit(0);
  CUcontext context;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  CUmodule module;
  CUfunction f;
  cuModuleLoadData(&module, ".entry probe_a(.param .u64 a, .param .u16 b, .param .u64 c) {}\n");
  cuModuleGetFunction(&f, module, "probe_a");
  uint64_t a = 7, c = 9;
  uint16_t b = 8;
  void *params[] = {&a, &b, &c};
  for (int i = 0; i < 23; ++i)
    if (cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr) != 0) return 1;
  if (!strcmp(argv[1], "release")) cuDevicePrimaryCtxRelease_v2(0);
  return 0;
}
