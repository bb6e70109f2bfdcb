// What a host thread has: its device, last error, and launches between <<<>>> and the stub.
//
// A thread uses the context that is current; if none is, the primary context of its device
// becomes current at its first call that needs one (CUDA Runtime API, "Interactions with the CUDA
// Driver API").
#pragma once
#include "lib/sim/runtime/api.h"

namespace egpu::rt {

struct PendingLaunch {
  Dim3 grid, block;
  size_t shared_bytes;
  Handle stream;
};

// Plain data: calls come from atexit handlers, after thread-local destructors.
struct ThreadState {
  int last_error = 0;
  Ordinal device = 0;
  unsigned resets_seen = 0;
  unsigned pending_count = 0;
  PendingLaunch pending[64];
};
ThreadState &thread_state();

/// Opens and initializes the driver once; its error stays.
int ensure_driver();
int ensure_context();
/// Makes the device's primary context current in this thread.
int use_device(Ordinal device);
int check_device(Ordinal device);
int current_device(Ordinal *device);
int primary_context(Ordinal device, Handle *context);
int reset_device();

}  // namespace egpu::rt
