// Functions of CUDA 13.0's runtime that are exported but not written: so that a program that
// refers to one still starts. They answer cudaErrorNotSupported and say so once.
#include <cstdio>

#include "lib/sim/runtime/export.h"

using namespace egpu::rt;

namespace {
int refuse(const char *name, std::atomic<bool> *said) {
  if (!said->exchange(true)) std::fprintf(stderr, "egpu-cudart: warning: %s: not supported\n", name);
  thread_state().last_error = kNotSupported;
  return kNotSupported;
}
}  // namespace

#define X(name)                                     \
  RT_EXPORT int name() {                            \
    static constinit std::atomic<bool> said{false}; \
    return refuse(#name, &said);                    \
  }
#include "lib/sim/runtime/unwritten.inc"
#undef X

// The one function that returns a structure.
RT_EXPORT ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {x, y, z, w, kind};
}
