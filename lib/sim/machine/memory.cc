// Device memory is host memory; what is kept here is which of it a kernel may touch.
#include <cstdlib>
#include <cstring>

#include "lib/sim/machine/machine.h"

namespace egpu::sim {

Memory::~Memory() {
  for (auto &[base, block] : owned_) std::free(block);
}

uint64_t Memory::allocate(uint64_t size_bytes, uint32_t align) {
  // Host malloc may hand out neighbours; the gap keeps an access past the end out of them.
  constexpr uint64_t kGap = 256;
  if (align < 256) align = 256;
  uint64_t rounded = (size_bytes + kGap + align - 1) / align * align;
  std::lock_guard lock(mutex_);
  if (rounded < size_bytes || size_bytes > limit_ - used_) return 0;
  void *block = std::aligned_alloc(align, rounded);
  if (!block) return 0;
  uint64_t base = reinterpret_cast<uint64_t>(block);
  owned_[base] = block;
  blocks_[base] = size_bytes;
  used_ += size_bytes;
  generation_.fetch_add(1, std::memory_order_release);
  return base;
}

bool Memory::free(uint64_t base) {
  std::lock_guard lock(mutex_);
  auto owned = owned_.find(base);
  if (owned == owned_.end()) return false;
  used_ -= blocks_[base];
  blocks_.erase(base);
  std::free(owned->second);
  owned_.erase(owned);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

void Memory::add_external(uint64_t base, uint64_t size_bytes) {
  std::lock_guard lock(mutex_);
  blocks_[base] = size_bytes;
  generation_.fetch_add(1, std::memory_order_release);
}

void Memory::remove_external(uint64_t base) {
  std::lock_guard lock(mutex_);
  if (owned_.count(base)) return;
  blocks_.erase(base);
  generation_.fetch_add(1, std::memory_order_release);
}

bool Memory::find(uint64_t address, uint64_t *base, uint64_t *size_bytes) const {
  std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return false;
  --next;
  if (address - next->first >= next->second) return false;
  *base = next->first;
  *size_bytes = next->second;
  return true;
}

bool Memory::contains(uint64_t address, uint64_t size_bytes) const {
  uint64_t base = 0, size = 0;
  return find(address, &base, &size) && size_bytes <= size - (address - base);
}

uint64_t Memory::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace egpu::sim
