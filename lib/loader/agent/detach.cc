#include "lib/loader/agent/detach.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/loader/agent/hooks.h"
#include "lib/loader/agent/maps.h"
#include "lib/loader/agent/queue.h"
#include "lib/loader/agent/socket.h"
#include "lib/loader/agent/table.h"

namespace egpu::agent {
namespace {

constexpr uint64_t kPollNs = 100 * 1000;

// A cuCtxSynchronize on a thread of its own, which may never return (a kernel that never ends):
// the agent's thread only looks at `done`. Freed by whoever lets go last.
struct Sync {
  CUcontext context;
  std::atomic<uint32_t> done;
  std::atomic<bool> ok;
  std::atomic<int> holders;
};

void let_go(Sync *sync) {
  if (sync->holders.fetch_sub(1) == 1) free(sync);
}

void *synchronize(void *argument) {
  Sync *sync = static_cast<Sync *>(argument);
  int mode = driver::kCaptureModeRelaxed;
  if (cu.cuCtxSetCurrent(sync->context) == 0) {
    if (cu.cuThreadExchangeStreamCaptureMode) cu.cuThreadExchangeStreamCaptureMode(&mode);
    sync->ok = cu.cuCtxSynchronize() == 0;
    cu.cuCtxSetCurrent(nullptr);
  }
  sync->done = 1;
  futex_wake_all(&sync->done);
  let_go(sync);
  return nullptr;
}

// Null while a capture is under way: synchronising a context with one is invalid (CUDA Programming
// Guide, "Prohibited and Unhandled Operations" of stream capture).
Sync *start_sync(CUcontext context) {
  if (process.captures_active.load() > 0) return nullptr;
  int status = driver::kCaptureNone;
  if (cu.cuStreamIsCapturing && cu.cuStreamIsCapturing(nullptr, &status) == driver::kCaptureImplicit)
    return nullptr;
  Sync *sync = static_cast<Sync *>(calloc(1, sizeof(Sync)));
  if (!sync) return nullptr;
  sync->context = context;
  sync->holders = 2;
  if (start_thread("egpu-sync", synchronize, sync)) return sync;
  free(sync);
  return nullptr;
}

bool nobody_in_flight(uint64_t deadline_ns) {
  while (counters.in_flight.load(std::memory_order_seq_cst) != 0) {
    if (now_ns() >= deadline_ns) return false;
    sleep_ns(kPollNs);
  }
  return true;
}

// Device memory and modules that wait until nothing can use them: a context that was synchronised
// after the last launch that could. What a graph of the target holds is never freed.
struct Garbage {
  CUcontext context;
  Sync *sync;  // null: not started
  PatchedModule *modules;
  MapMemory *maps;
  uint32_t map_count;
  CUdeviceptr slots;
  Garbage *next;
};
Garbage *garbage;

void free_garbage(Garbage *g, bool context_is_alive) {
  while (PatchedModule *module = g->modules) {
    g->modules = module->next;
    if (context_is_alive) {
      drop_module(reinterpret_cast<uint64_t>(module->module));
      cu.cuModuleUnload(module->module);
    }
    free(module);
  }
  if (context_is_alive) {
    for (uint32_t i = 0; i < g->map_count; ++i) cu.cuMemFree_v2(g->maps[i].address);
    if (g->slots) cu.cuMemFree_v2(g->slots);
  }
  free(g->maps);
  if (g->sync) let_go(g->sync);
  free(g);
}

void set_aside(ContextState *state, Garbage *g) {
  g->context = state->handle;
  if (state->captured) {
    // Kept for good: a graph may be launched at any time.
    free(g->maps);
    free(g);
    return;
  }
  g->next = garbage;
  garbage = g;
}

// Patched modules whose originals were unloaded during the session.
void set_unused_modules_aside(ContextState *state) {
  PatchedModule *unused = nullptr;
  for (PatchedModule **link = &state->modules; *link;) {
    PatchedModule *module = *link;
    if (module->live.load() == 0) {
      *link = module->next;
      module->next = unused;
      unused = module;
    } else {
      link = &module->next;
    }
  }
  if (!unused) return;
  Garbage *g = static_cast<Garbage *>(calloc(1, sizeof(Garbage)));
  if (!g) return;
  g->modules = unused;
  set_aside(state, g);
}

// All that a session made in a context.
void set_session_aside(ContextState *state) {
  if (state->modules || state->maps || state->slots) {
    if (Garbage *g = static_cast<Garbage *>(calloc(1, sizeof(Garbage)))) {
      g->modules = state->modules;
      g->maps = state->maps;
      g->map_count = state->map_count;
      g->slots = state->slots;
      set_aside(state, g);
    }
  }
  if (state->snapshot_fd >= 0) close(state->snapshot_fd);
  state->snapshot_fd = -1;
  state->modules = nullptr;
  state->maps = nullptr;
  state->map_count = 0;
  state->slots = 0;
  state->next_slot = 0;
  state->next_capture_slot = 0;
  state->captured = false;
  state->announced = false;
}

// Frees what can be freed now; starts the synchronisations that are missing.
void sweep() {
  for (Garbage **link = &garbage; *link;) {
    Garbage *g = *link;
    if (!g->sync && counters.in_flight.load() == 0) g->sync = start_sync(g->context);
    if (g->sync && g->sync->done) {
      *link = g->next;
      // After a failed synchronisation (a kernel of the target has faulted) nothing can be freed.
      ContextState *state = g->sync->ok ? enter_context(g->context) : nullptr;
      free_garbage(g, state != nullptr);
    } else {
      link = &g->next;
    }
  }
}

// Gives garbage the time to become free: in the usual case the device is idle within microseconds.
void sweep_until(uint64_t deadline_ns) {
  sweep();
  while (garbage && now_ns() < deadline_ns) {
    sleep_ns(kPollNs);
    sweep();
  }
}

}  // namespace

bool drain(ContextState *context, uint64_t deadline_ns) {
  if (!nobody_in_flight(deadline_ns)) return false;
  Sync *sync;
  while (!(sync = start_sync(context->handle))) {
    if (now_ns() >= deadline_ns) return false;
    sleep_ns(kPollNs);
  }
  while (!sync->done && now_ns() < deadline_ns) futex_wait(&sync->done, 0, deadline_ns);
  bool drained = sync->done && sync->ok;
  let_go(sync);
  return drained;
}

void collect_garbage() {
  for (ContextState &context : contexts)
    if (context.handle) set_unused_modules_aside(&context);
  sweep();
}

bool has_garbage() { return garbage != nullptr; }

void drop_garbage(CUcontext context) {
  for (Garbage **link = &garbage; *link;) {
    Garbage *g = *link;
    if (g->context == context) {
      *link = g->next;
      free_garbage(g, false);
    } else {
      link = &g->next;
    }
  }
}

void end_session(bool answer) {
  uint64_t deadline = now_ns() + kDrainLimitNs;
  // From here on no look-up finds anything, and waiting launches go on with their originals.
  process.active.store(false);
  epoch.fetch_add(1, std::memory_order_seq_cst);
  wake_launches();
  remove_hooks();
  bool drained = nobody_in_flight(deadline);
  if (process.exiting) {
    // The last snapshot was made by the exit handler, and memory goes with the process.
    session::Detached detached = {counters.probed.load(), drained, 0};
    if (answer) send_packet(session::Kind::detached, &detached, sizeof detached);
    return;
  }
  uint64_t probed = counters.probed.load();
  for (ContextState &context : contexts) {
    if (!context.handle || context.ending || (!context.maps && !context.modules)) continue;
    if (!drain(&context, deadline)) drained = false;
    if (answer && context.maps && enter_context(context.handle)) snapshot_context(&context, true);
  }
  for (ContextState &context : contexts)
    if (context.handle) set_session_aside(&context);
  if (drained) sweep_until(now_ns() + kNanosecondsPerSecond / 2);
  cu.cuCtxSetCurrent(nullptr);
  if (answer) {
    session::Detached detached = {probed, drained, 0};
    send_packet(session::Kind::detached, &detached, sizeof detached);
  }
  for (Node *node = take_all(); node;) {
    Node *next = node->next;
    free_node(node);
    node = next;
  }
}

}  // namespace egpu::agent
