#include "lib/sim/driver/graph_memory.h"

#include <algorithm>
#include <cstdlib>

#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/work.h"

namespace egpu::sim {
namespace {

constexpr uint64_t kAlignment = 256;

struct Registry {
  std::recursive_mutex mutex;  // a memory's end, which takes it, can come while it is held
  std::map<Address, std::weak_ptr<GraphMemory>> by_base;
  std::map<Ordinal, uint64_t> most_bytes;
};

Registry &registry() {
  static Registry &registry = *new Registry;
  return registry;
}

using Memories = std::vector<std::shared_ptr<GraphMemory>>;

// All that the steps allocate and free, those of child graphs too.
void collect(const GraphWork &work, Memories *allocated, Memories *freed) {
  for (const Work &step : work.steps) {
    if (const auto *memory = std::get_if<GraphMemoryWork>(&step))
      (memory->is_free ? freed : allocated)->push_back(memory->memory);
    else if (const auto *child = std::get_if<std::shared_ptr<const GraphWork>>(&step))
      collect(**child, allocated, freed);
  }
}

// Of the first, what is not in the second.
Memories without(const Memories &all, const Memories &others) {
  Memories left;
  for (const std::shared_ptr<GraphMemory> &memory : all)
    if (std::find(others.begin(), others.end(), memory) == others.end()) left.push_back(memory);
  return left;
}

Memories all_memories() {
  Memories all;
  const std::lock_guard lock(registry().mutex);
  for (const auto &[base, memory] : registry().by_base)
    if (std::shared_ptr<GraphMemory> held = memory.lock()) all.push_back(std::move(held));
  return all;
}

uint64_t bytes_now(const Device &device) {
  uint64_t sum = 0;
  for (const std::shared_ptr<GraphMemory> &memory : all_memories()) {
    Allocation allocation;
    if (&memory->context.device == &device && find_allocation(memory->base, &allocation))
      sum += memory->size_bytes;
  }
  return sum;
}

}  // namespace

std::shared_ptr<GraphMemory> GraphMemory::make(Context &context, uint64_t size_bytes) {
  if (size_bytes > kDeviceBytes) return nullptr;
  void *bytes = std::aligned_alloc(kAlignment, (size_bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (!bytes) return nullptr;
  auto memory = std::make_shared<GraphMemory>(context, reinterpret_cast<Address>(bytes), size_bytes);
  const std::lock_guard lock(registry().mutex);
  registry().by_base[memory->base] = memory;
  return memory;
}

GraphMemory::~GraphMemory() {
  {
    const std::lock_guard lock(registry().mutex);
    registry().by_base.erase(base);
  }
  std::free(reinterpret_cast<void *>(base));
}

void GraphMemory::appear() {
  add_graph_allocation(context, base, size_bytes, shared_from_this());
  const uint64_t now_bytes = bytes_now(context.device);
  const std::lock_guard lock(registry().mutex);
  uint64_t &most = registry().most_bytes[context.device.ordinal];
  most = std::max(most, now_bytes);
}

void GraphMemory::vanish() { free_allocation(base, false); }

std::shared_ptr<GraphMemory> find_graph_memory(Address address) {
  const std::lock_guard lock(registry().mutex);
  auto at = registry().by_base.upper_bound(address);
  if (at == registry().by_base.begin()) return nullptr;
  std::shared_ptr<GraphMemory> memory = (--at)->second.lock();
  return memory && address - memory->base < memory->size_bytes ? memory : nullptr;
}

bool is_graph_memory(Address address, uint64_t size_bytes) {
  const std::shared_ptr<GraphMemory> memory = find_graph_memory(address);
  return memory && size_bytes <= memory->base + memory->size_bytes - address;
}

GraphMemoryUse graph_memory_use(const Device &device) {
  const uint64_t now_bytes = bytes_now(device);
  const std::lock_guard lock(registry().mutex);
  return {now_bytes, registry().most_bytes[device.ordinal]};
}

void reset_most_graph_memory(const Device &device) {
  const uint64_t now_bytes = bytes_now(device);
  const std::lock_guard lock(registry().mutex);
  registry().most_bytes[device.ordinal] = now_bytes;
}

Status give_graph_memory(Stream &stream, const GraphWork &work, bool frees_first) {
  Memories allocated, freed;
  collect(work, &allocated, &freed);
  const Memories stays = without(allocated, freed), others = without(freed, allocated);
  for (const std::shared_ptr<GraphMemory> &memory : stays)
    if (memory->is_given && !frees_first) return kInvalidValue;
  for (const std::shared_ptr<GraphMemory> &memory : others)
    if (!memory->is_given) return kInvalidValue;
  const std::lock_guard lock(stream.context.order);
  for (const std::shared_ptr<GraphMemory> &memory : stays)
    if (memory->is_given.exchange(true)) stream.enqueue([memory] { memory->vanish(); });
  for (const std::shared_ptr<GraphMemory> &memory : others) memory->is_given = false;
  return kSuccess;
}

bool has_graph_memory(const GraphWork &work) {
  Memories allocated, freed;
  collect(work, &allocated, &freed);
  return !allocated.empty() || !freed.empty();
}

}  // namespace egpu::sim
