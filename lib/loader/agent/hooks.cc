#include "lib/loader/agent/hooks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/loader/agent/near.h"
#include "lib/loader/agent/socket.h"

namespace egpu::agent {

using session::EntryPoint;
using session::Hook;

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kTrampolineBytes = sizeof(Hook::trampoline);

struct Row {
  const char *name;
  void *replacement;
  void **original;  // member of `cu`
};

#define EGPU_HOOK_ROW(name) \
  {#name, reinterpret_cast<void *>(&hook_##name), reinterpret_cast<void **>(&cu.name)},
const Row rows[] = {EGPU_HOOKS(EGPU_HOOK_ROW)};
#undef EGPU_HOOK_ROW
constexpr uint32_t kRowCount = sizeof rows / sizeof rows[0];

// What is known of a row's entry point in this process. Rows whose functions are aliases (same
// address) share the first one's hook.
struct Place {
  uint64_t address;  // 0: the driver has no such function
  uint64_t trampoline;
  bool alias;
  bool hooked;
  uint8_t code[sizeof(EntryPoint::code)];  // before any hook
};
Place places[kRowCount];
uint32_t sent[kRowCount];  // rows of `entries`, in its order
uint32_t sent_count;

uint64_t load_word(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<uint64_t *>(address), __ATOMIC_SEQ_CST);
}

uint64_t original_word(const Place &place) {
  uint64_t word;
  memcpy(&word, place.code, sizeof word);
  return word;
}

// Stores 8 bytes of code at an aligned address: other threads see all or none of them (Intel SDM
// volume 3, 9.1.1), and mprotect's TLB shoot-down serialises the other cores.
bool store_code(uint64_t address, uint64_t word) {
  void *page = reinterpret_cast<void *>(address & ~(kPageBytes - 1));
  if (mprotect(page, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  __atomic_store_n(reinterpret_cast<uint64_t *>(address), word, __ATOMIC_SEQ_CST);
  mprotect(page, kPageBytes, PROT_READ | PROT_EXEC);
  return true;
}

// Points `cu` and the aliases' rows to the code that runs the original of row `index`.
void set_original(uint32_t index, uint64_t code) {
  for (uint32_t i = 0; i < kRowCount; ++i)
    if (places[i].address == places[index].address)
      __atomic_store_n(rows[i].original, reinterpret_cast<void *>(code), __ATOMIC_SEQ_CST);
}

}  // namespace

bool prepare_hooks() {
  if (sent_count) return true;
  uint64_t low = UINT64_MAX, high = 0;
  for (uint32_t i = 0; i < kRowCount; ++i) {
    uint64_t address = reinterpret_cast<uint64_t>(*rows[i].original);
    places[i].address = address;
    if (!address) continue;
    for (uint32_t j = 0; j < i; ++j)
      if (places[j].address == address) places[i].alias = true;
    if (address < low) low = address;
    if (address > high) high = address;
  }
  if (!high) return false;
  uint64_t memory = map_near(low, high + kTrampolineBytes, kRowCount * kTrampolineBytes);
  if (!memory) return false;
  for (uint32_t i = 0; i < kRowCount; ++i) {
    Place &place = places[i];
    if (!place.address || place.alias) continue;
    place.trampoline = memory + i * kTrampolineBytes;
    memcpy(place.code, reinterpret_cast<const void *>(place.address), sizeof place.code);
    sent[sent_count++] = i;
  }
  return true;
}

bool send_entries() {
  session::Entries fixed = {sent_count, 0};
  static EntryPoint entries[kRowCount];
  for (uint32_t n = 0; n < sent_count; ++n) {
    const Row &row = rows[sent[n]];
    const Place &place = places[sent[n]];
    EntryPoint &entry = entries[n];
    entry.address = place.address;
    entry.replacement = reinterpret_cast<uint64_t>(row.replacement);
    entry.trampoline = place.trampoline;
    memcpy(entry.code, place.code, sizeof entry.code);
    strncpy(entry.name, row.name, sizeof entry.name - 1);
    set_original(sent[n], place.trampoline);
  }
  return send_packet(session::Kind::entries, &fixed, sizeof fixed, entries, sent_count * sizeof entries[0]);
}

int install_hooks(const Hook *hooks, uint32_t count) {
  int installed = 0;
  for (uint32_t n = 0; n < sent_count; ++n) {
    const Row &row = rows[sent[n]];
    Place &place = places[sent[n]];
    const Hook *hook = n < count ? &hooks[n] : nullptr;
    if (hook && hook->ok && process.mode == session::kStart && !hook->written) {
      if (place.address % sizeof(uint64_t) != 0) {
        send_warning("%s: not aligned to 8 bytes, not hooked", row.name);
      } else if (load_word(place.address) != hook->original || hook->original != original_word(place)) {
        send_warning("%s: its code changed while it was being hooked, not hooked", row.name);
      } else {
        memcpy(reinterpret_cast<void *>(place.trampoline), hook->trampoline, kTrampolineBytes);
        place.hooked = store_code(place.address, hook->jump);
        if (!place.hooked) send_warning("%s: its page cannot be written, not hooked", row.name);
      }
    } else {
      place.hooked = hook && hook->ok && hook->written;
    }
    if (place.hooked)
      ++installed;
    else
      set_original(sent[n], place.address);
  }
  return installed;
}

void remove_hooks() {
  for (uint32_t n = 0; n < sent_count; ++n) {
    Place &place = places[sent[n]];
    place.hooked = false;
    // Compares with the code instead of asking `hooked`: if egpu-load died after it wrote the jumps
    // and before it said so, they must go all the same.
    if (place.address % sizeof(uint64_t) == 0) {
      bool original =
          load_word(place.address) == original_word(place) || store_code(place.address, original_word(place));
      if (original) set_original(sent[n], place.address);
    } else if (memcmp(reinterpret_cast<const void *>(place.address), place.code, sizeof(uint64_t)) != 0) {
      send_warning("%s: not aligned to 8 bytes, still hooked", rows[sent[n]].name);
    }
  }
}

}  // namespace egpu::agent
