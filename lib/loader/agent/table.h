// Function -> what to launch instead: a lock-free open-addressing table.
//
// Key: the handle as launched (a CUfunction, or a CUkernel cast to one) and, for a CUkernel, the
// current context, since one CUkernel has a function per context. Slots are claimed by a
// compare-and-swap and never given back: when a module is unloaded or a session ends, their
// state is dropped, and a later function at the same address revives the slot. So the table
// grows with distinct handles only, and a reader never meets a tombstone.
//
// The state word holds the session's epoch above the state: raising the epoch drops every
// entry at once. Fields are written while `claimed` or `pending` and published by the state.
#pragma once
#include "lib/loader/agent/agent.h"

namespace egpu::agent {

struct ContextState;
struct PatchedModule;

enum class Verdict : uint32_t {
  dropped = 0,   // as if it were not there
  claimed = 1,   // a thread is filling it
  pending = 2,   // egpu-load was asked
  late = 3,      // pending, but a launch has waited in vain: nobody waits any more
  unprobed = 4,  // launch the original
  probed = 5,    // launch `patched`
  patched = 6,   // is a patched function itself: pass through
};

struct alignas(128) Entry {
  std::atomic<uint64_t> handle;  // 0: free
  std::atomic<uint32_t> state;   // epoch << 3 | Verdict
  uint32_t flags;                // session::LoadFlags
  CUfunction patched;
  std::atomic<CUcontext> context;
  std::atomic<bool> is_kernel;
  std::atomic<bool> reported;                        // a failed launch was told once
  std::atomic<uint8_t> cache_config, shared_config;  // 1 + what the target set; 0: nothing
  uint32_t parameter_count, parameter_bytes;
  ContextState *where;
  // -- one cache line up to here
  uint64_t module;  // CUmodule or CUlibrary; for a patched function its own CUmodule
  PatchedModule *patched_module;
  uint64_t original;  // of a patched function: the handle that it stands for
  bool module_is_library;
  // Of a CUfunction that the target got from a CUkernel, or of a CUmodule that it got from a CUlibrary
  // (then the handle is the module's and the slot is never live): the library. 0: none known.
  std::atomic<uint64_t> library;
  Entry *next_used;
};

constexpr uint32_t kTableSlots = 1u << 15;
extern Entry table[kTableSlots];
extern std::atomic<uint32_t> epoch;
extern std::atomic<Entry *> used_entries;
// Futex word: raised whenever verdicts are published or a session ends.
extern std::atomic<uint32_t> verdicts;

inline uint32_t state_word(Verdict verdict) {
  return epoch.load(std::memory_order_acquire) << 3 | static_cast<uint32_t>(verdict);
}
inline Verdict verdict_of(uint32_t word) {
  return word >> 3 == epoch.load(std::memory_order_acquire) ? static_cast<Verdict>(word & 7)
                                                            : Verdict::dropped;
}

/// The context that is current on this thread; null if none.
CUcontext current_context();

inline uint32_t first_slot(uint64_t handle) {
  return static_cast<uint32_t>((handle >> 4) * 0x9e3779b97f4a7c15u >> 40) & (kTableSlots - 1);
}

/// The live entry of a handle in the current context; null and dropped if there is none.
inline Entry *look_up(uint64_t handle, Verdict *verdict) {
  for (uint32_t slot = first_slot(handle), n = 0; n < kTableSlots;
       slot = (slot + 1) & (kTableSlots - 1), ++n) {
    Entry &entry = table[slot];
    uint64_t found = entry.handle.load(std::memory_order_acquire);
    if (!found) break;
    if (found != handle) continue;
    Verdict v = verdict_of(entry.state.load(std::memory_order_acquire));
    if (v == Verdict::dropped) continue;
    if (v != Verdict::claimed && entry.is_kernel.load(std::memory_order_relaxed) &&
        entry.context.load(std::memory_order_relaxed) != current_context())
      continue;
    *verdict = v;
    return &entry;
  }
  *verdict = Verdict::dropped;
  return nullptr;
}

/// An entry for a handle that has none, now `claimed` by the caller, who fills and publishes it.
/// Null: another thread was faster (look up again) or `*full`.
Entry *claim(uint64_t handle, bool *full);

/// The entry of (handle, context), any verdict but dropped; from the agent's thread.
Entry *find_entry(uint64_t handle, CUcontext context);

/// The first slot of a handle, whatever its state; null if the table is full. For what is
/// remembered of a function before its first launch.
Entry *slot_of(uint64_t handle);

/// The same, not made if there is none.
Entry *find_slot(uint64_t handle);

/// Drops the entries of a module or library, of a context.
void drop_module(uint64_t module);
void drop_context(CUcontext context);

/// Wakes the launches that wait for a verdict.
void wake_launches();

/// Calls body(entry, verdict) for every live entry.
template <class Body>
void for_each_entry(Body body) {
  for (Entry *e = used_entries.load(std::memory_order_acquire); e; e = e->next_used) {
    Verdict v = verdict_of(e->state.load(std::memory_order_acquire));
    if (v != Verdict::dropped && v != Verdict::claimed) body(*e, v);
  }
}

}  // namespace egpu::agent
