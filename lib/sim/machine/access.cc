#include "lib/sim/machine/access.h"

#include <algorithm>
#include <cstdio>

namespace egpu::sim {
namespace {
std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

const char *name_of(Space space) {
  switch (space) {
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    default:
      return "global";
  }
}

std::string cause(Exec &x, Space space, uint64_t address, uint32_t bytes, const std::string &why) {
  const OpSite &site = x.frame->function->sites[x.pc - 1];
  return std::string(site.text) + " of " + std::to_string(bytes) + " bytes at " + name_of(space) +
         " address " + hex(address) + ": " + why;
}

bool known(Exec &x, uint64_t address, uint32_t bytes) {
  for (const Exec::Range &range : x.ranges)
    if (range.end - range.begin >= bytes && address - range.begin <= range.end - range.begin - bytes)
      return true;
  return false;
}

// Shared memory of the block, or of another one of the cluster.
uint8_t *resolve_shared(Exec &x, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
  auto refuse = [&](Fault::Kind kind, const std::string &why) {
    raise(x, kind, lane, cause(x, Space::shared, address, bytes, why));
    return nullptr;
  };
  Block *block = x.block;
  const auto &blocks = block->cluster->blocks;
  uint64_t offset = address;
  if (uint64_t tag = address >> kRankShift) {
    if (tag > blocks.size())
      return refuse(Fault::illegal_address,
                    "rank " + std::to_string(tag - 1) + " of a cluster of " + std::to_string(blocks.size()));
    block = blocks[tag - 1].get();
    offset &= (uint64_t{1} << kRankShift) - 1;
    if (block->finished())
      return refuse(Fault::illegal_address, "the block of rank " + std::to_string(tag - 1) + " has ended");
  }
  if (offset > block->shared_bytes || bytes > block->shared_bytes - offset)
    return refuse(Fault::illegal_address, "the block has " + std::to_string(block->shared_bytes) + " bytes");
  if (!block->written.empty()) {
    auto first = block->written.begin() + static_cast<ptrdiff_t>(offset), last = first + bytes;
    if (access != Access::write)
      if (auto never = std::find(first, last, false); never != last)
        return refuse(Fault::uninitialized_shared,
                      "byte " + std::to_string(never - first) + " was never written");
    if (access != Access::read) std::fill(first, last, true);
  }
  return reinterpret_cast<uint8_t *>(block->shared.data()) + offset;
}
}  // namespace

uint8_t *resolve(Exec &x, Space space, uint64_t address, uint32_t bytes, uint32_t align, uint32_t lane,
                 Access access) {
  if (space == Space::generic && address >> kWindowShift) {
    space = address >> kWindowShift == 1   ? Space::shared
            : address >> kWindowShift == 2 ? Space::local
                                           : Space::global;
    if (space != Space::global) address &= ~kWindowMask;
  }
  auto refuse = [&](Fault::Kind kind, const std::string &why) {
    raise(x, kind, lane, cause(x, space, address, bytes, why));
    return nullptr;
  };
  if (address & (align - 1))
    return refuse(Fault::misaligned_address, "not aligned to " + std::to_string(align));
  if (space == Space::shared) return resolve_shared(x, address, bytes, lane, access);
  if (space == Space::local) {
    if (address > x.local_stride || bytes > x.local_stride - address)
      return refuse(Fault::illegal_address, "the thread has " + std::to_string(x.local_stride) + " bytes");
    return x.local + uint64_t{lane} * x.local_stride + address;
  }
  uint64_t generation = x.grid->memory->generation();
  if (x.generation != generation) {
    for (Exec::Range &range : x.ranges) range = {};
    x.generation = generation;
  }
  if (known(x, address, bytes)) return reinterpret_cast<uint8_t *>(address);
  uint64_t base = 0, size = 0;
  if (!x.grid->memory->find(address, &base, &size)) {
    uint64_t params = reinterpret_cast<uint64_t>(x.grid->parameters.data());
    if (address - params < x.grid->parameter_bytes && bytes <= x.grid->parameter_bytes - (address - params))
      return reinterpret_cast<uint8_t *>(address);
    return refuse(Fault::illegal_address, "not allocated");
  }
  if (bytes > size - (address - base))
    return refuse(Fault::illegal_address, "runs past the end of the allocation of " + std::to_string(size) +
                                              " bytes at " + hex(base));
  x.ranges[x.next_range++ & 3] = {base, base + size};
  return reinterpret_cast<uint8_t *>(address);
}

}  // namespace egpu::sim
