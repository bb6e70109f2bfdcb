#include "lib/loader/agent/table.h"

#include "lib/loader/agent/load.h"

namespace egpu::agent {

constinit Entry table[kTableSlots];
constinit std::atomic<uint32_t> epoch{1};
constinit std::atomic<Entry *> used_entries{nullptr};
constinit std::atomic<uint32_t> verdicts{0};

CUcontext current_context() {
  CUcontext context = nullptr;
  return cu.cuCtxGetCurrent(&context) == driver::kSuccess ? context : nullptr;
}

// Claims a free slot's handle; false: another thread took the slot, `*found` says for what.
static bool take_slot(Entry &entry, uint64_t handle, uint64_t *found) {
  *found = 0;
  if (!entry.handle.compare_exchange_strong(*found, handle)) return false;
  *found = handle;
  entry.next_used = used_entries.load(std::memory_order_relaxed);
  while (!used_entries.compare_exchange_weak(entry.next_used, &entry)) {
  }
  return true;
}

Entry *claim(uint64_t handle, bool *full) {
  *full = false;
  for (uint32_t slot = first_slot(handle), n = 0; n < kTableSlots;
       slot = (slot + 1) & (kTableSlots - 1), ++n) {
    Entry &entry = table[slot];
    uint64_t found = entry.handle.load(std::memory_order_acquire);
    if (!found) take_slot(entry, handle, &found);
    if (found != handle) continue;
    uint32_t word = entry.state.load(std::memory_order_acquire);
    Verdict v = verdict_of(word);
    if (v == Verdict::claimed) return nullptr;
    if (v != Verdict::dropped) continue;  // the same CUkernel in another context
    return entry.state.compare_exchange_strong(word, state_word(Verdict::claimed)) ? &entry : nullptr;
  }
  *full = true;
  return nullptr;
}

Entry *slot_of(uint64_t handle) {
  for (uint32_t slot = first_slot(handle), n = 0; n < kTableSlots;
       slot = (slot + 1) & (kTableSlots - 1), ++n) {
    Entry &entry = table[slot];
    uint64_t found = entry.handle.load(std::memory_order_acquire);
    if (!found) take_slot(entry, handle, &found);
    if (found == handle) return &entry;
  }
  return nullptr;
}

Entry *find_slot(uint64_t handle) {
  for (uint32_t slot = first_slot(handle), n = 0; n < kTableSlots;
       slot = (slot + 1) & (kTableSlots - 1), ++n) {
    uint64_t found = table[slot].handle.load(std::memory_order_acquire);
    if (!found) return nullptr;
    if (found == handle) return &table[slot];
  }
  return nullptr;
}

Entry *find_entry(uint64_t handle, CUcontext context) {
  for (uint32_t slot = first_slot(handle), n = 0; n < kTableSlots;
       slot = (slot + 1) & (kTableSlots - 1), ++n) {
    Entry &entry = table[slot];
    uint64_t found = entry.handle.load(std::memory_order_acquire);
    if (!found) return nullptr;
    if (found != handle) continue;
    Verdict v = verdict_of(entry.state.load(std::memory_order_acquire));
    if (v == Verdict::dropped || v == Verdict::claimed) continue;
    if (entry.context.load(std::memory_order_relaxed) == context) return &entry;
  }
  return nullptr;
}

namespace {

void drop(Entry &entry) {
  uint32_t word = entry.state.load(std::memory_order_acquire);
  Verdict verdict;
  do {
    verdict = verdict_of(word);
    if (verdict == Verdict::dropped || verdict == Verdict::claimed) return;
  } while (!entry.state.compare_exchange_weak(word, 0));
  if (verdict == Verdict::probed && entry.patched_module) entry.patched_module->live.fetch_sub(1);
}

}  // namespace

void drop_module(uint64_t module) {
  for (Entry *e = used_entries.load(std::memory_order_acquire); e; e = e->next_used)
    if (e->library.load(std::memory_order_relaxed) == module) e->library.store(0, std::memory_order_relaxed);
  for_each_entry([&](Entry &entry, Verdict) {
    if (entry.module == module) drop(entry);
  });
}

void drop_context(CUcontext context) {
  for_each_entry([&](Entry &entry, Verdict) {
    if (entry.context.load(std::memory_order_relaxed) == context) drop(entry);
  });
}

void wake_launches() {
  verdicts.fetch_add(1);
  futex_wake_all(&verdicts);
}

}  // namespace egpu::agent
