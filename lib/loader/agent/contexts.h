// What the agent keeps per CUDA context: a stream of its own, the maps, the launch slots, the
// patched modules.
//
// Written by the agent's thread only; launches read `slots` and the slot counters, which are set
// before a function that needs them is published. A context that ends (cuCtxDestroy, primary
// context released or reset) takes its memory with it: the state is then only forgotten.
#pragma once
#include "lib/loader/agent/agent.h"

namespace egpu::agent {

struct MapMemory {
  CUdeviceptr address;
  session::MapBlock block;
};

// A module compiled for this session and the functions in it that are in use.
struct PatchedModule {
  CUmodule module;
  std::atomic<uint32_t> live;  // entries that launch its functions
  PatchedModule *next;
};

// Launch slots (lib/loader/ptx/patch.h, LaunchSlot): 16 bytes, zero at launch and after it. A
// running launch's slot must not be given to another: the ring is far longer than the number
// of launches a device has in flight. A launch that is captured into a graph runs again and again,
// so its slot is never given to another.
constexpr uint32_t kSlotBytes = 16, kRingSlots = 65536, kCaptureSlots = 16384;

struct ContextState {
  std::atomic<CUcontext> handle;  // null: free
  bool announced;                 // to this session
  bool ending;                    // the target is ending it: hands off
  bool snapshot_ok;               // of the last snapshot
  uint64_t snapshot_ns;           // and when it was begun
  bool primary;
  int device;
  int64_t ktime_offset_ns;
  CUstream stream;  // non-blocking
  CUmodule clock_module;
  CUfunction clock_function;
  volatile uint64_t *clock_word;  // host memory that the device writes
  uint8_t *staging;               // for snapshots
  bool staging_pinned;
  MapMemory *maps;
  uint32_t map_count;
  int snapshot_fd;
  CUdeviceptr slots;
  std::atomic<uint32_t> next_slot, next_capture_slot;
  std::atomic<bool> captured;  // a graph of the target holds a patched function
  PatchedModule *modules;
};
constexpr size_t kStagingBytes = size_t{1} << 20;

/// The state of a context, made and current on this thread; null with a warning if it cannot be made.
ContextState *enter_context(CUcontext context);
/// Sends `context` if this session has not heard of it.
void announce(ContextState *state);
/// The state if there is one.
ContextState *find_context(CUcontext context);
ContextState *find_primary_context(int device);
/// The context is about to be gone: its memory must not be touched any more.
void forget_context(ContextState *state);

constexpr uint32_t kMaxContexts = 64;
extern ContextState contexts[kMaxContexts];

}  // namespace egpu::agent
