#include "lib/loader/agent/contexts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/loader/agent/clock.h"
#include "lib/loader/agent/entry.h"
#include "lib/loader/agent/socket.h"

namespace egpu::agent {

constinit ContextState contexts[kMaxContexts];

namespace {

// Is it its device's primary context? Retaining an active one changes nothing but its count.
bool is_primary(CUcontext context, int device) {
  unsigned flags = 0;
  int active = 0;
  if (!cu.cuDevicePrimaryCtxGetState || cu.cuDevicePrimaryCtxGetState(device, &flags, &active) != 0 ||
      !active)
    return false;
  CUcontext primary = nullptr;
  if (cu.cuDevicePrimaryCtxRetain(&primary, device) != 0) return false;
  if (cu.cuDevicePrimaryCtxRelease_v2)
    cu.cuDevicePrimaryCtxRelease_v2(device);
  else if (cu.cuDevicePrimaryCtxRelease)
    cu.cuDevicePrimaryCtxRelease(device);
  return primary == context;
}

// From now on this thread's calls do not invalidate the target's captures (driver API manual,
// cuThreadExchangeStreamCaptureMode). Per thread, so asked again at every entry: it costs nothing.
void relax_capture_mode() {
  int mode = driver::kCaptureModeRelaxed;
  if (cu.cuThreadExchangeStreamCaptureMode) cu.cuThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace

ContextState *find_context(CUcontext context) {
  for (ContextState &state : contexts)
    if (state.handle == context && context) return &state;
  return nullptr;
}

ContextState *find_primary_context(int device) {
  for (ContextState &state : contexts)
    if (state.handle && state.primary && state.device == device) return &state;
  return nullptr;
}

ContextState *enter_context(CUcontext context) {
  ContextState *known = find_context(context);
  if (!context || (known && known->ending) || cu.cuCtxSetCurrent(context) != 0) return nullptr;
  relax_capture_mode();
  if (known) return known;
  ContextState *state = nullptr;
  for (ContextState &s : contexts)
    if (!s.handle) {
      state = &s;
      break;
    }
  if (!state) return nullptr;
  int device = 0;
  CUstream stream = nullptr;
  if (cu.cuCtxGetDevice(&device) != 0 || cu.cuStreamCreate(&stream, driver::kStreamNonBlocking) != 0)
    return nullptr;
  state->announced = false;
  state->device = device;
  state->stream = stream;
  state->snapshot_fd = -1;
  state->primary = is_primary(context, device);
  state->handle = context;
  // The driver has set up its own exit handlers by now: ours, registered later, runs before them.
  register_exit_handler();
  return state;
}

void announce(ContextState *state) {
  if (state->announced) return;
  state->announced = true;
  session::Context message = {};
  message.context = reinterpret_cast<uint64_t>(state->handle.load());
  message.device = state->device;
  cu.cuDeviceGetAttribute(&message.compute_major, driver::kDeviceComputeMajor, state->device);
  cu.cuDeviceGetAttribute(&message.compute_minor, driver::kDeviceComputeMinor, state->device);
  cu.cuDeviceGetAttribute(&message.sm_count, driver::kDeviceMultiprocessorCount, state->device);
  cu.cuDriverGetVersion(&message.driver_version);
  cu.cuDeviceGetName(message.device_name, sizeof message.device_name - 1, state->device);
  // Measured anew for each session: the two clocks drift apart by parts per million.
  measure_clock(state);
  message.ktime_offset_ns = state->ktime_offset_ns;
  send_packet(session::Kind::context, &message, sizeof message);
}

void forget_context(ContextState *state) {
  if (state->snapshot_fd >= 0) close(state->snapshot_fd);
  if (state->staging && !state->staging_pinned) free(state->staging);
  free(state->maps);
  while (PatchedModule *module = state->modules) {
    // Entries that point to it were dropped; a launch that is still between look-up and return
    // belongs to a context that the target destroys under it.
    state->modules = module->next;
    free(module);
  }
  state->handle = nullptr;
  state->announced = state->primary = state->ending = false;
  state->stream = nullptr;
  state->clock_module = nullptr;
  state->clock_function = nullptr;
  state->clock_word = nullptr;
  state->staging = nullptr;
  state->staging_pinned = false;
  state->maps = nullptr;
  state->map_count = 0;
  state->snapshot_fd = -1;
  state->slots = 0;
  state->ktime_offset_ns = 0;
  state->next_slot = 0;
  state->next_capture_slot = 0;
  state->captured = false;
}

}  // namespace egpu::agent
