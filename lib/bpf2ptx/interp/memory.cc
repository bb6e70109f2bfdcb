#include "lib/bpf2ptx/interp/memory.h"

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {

Result<uint8_t *> Memory::find(uint64_t address, uint64_t size, bool write) {
  for (auto region = regions_.rbegin(); region != regions_.rend(); ++region) {
    uint64_t at = address - region->address;
    if (at >= region->size) continue;
    if (size > region->size - at)
      return Error{format("{} bytes at offset {} of {}, which has {}", size, at, region->name, region->size)};
    if (write && !region->writable) return Error{format("write to {}, which is read-only", region->name)};
    for (uint64_t i = 0; region->initialized && i < size; ++i) {
      if (write)
        region->initialized[at + i] = 1;
      else if (!region->initialized[at + i])
        return Error{format("read of byte {} of {}, which was never written", at + i, region->name)};
    }
    return region->data + at;
  }
  return Error{format("{} bytes at {}, where there is no memory", size, hex(address))};
}

Result<uint64_t> Memory::load(uint64_t address, int size) {
  auto bytes = static_cast<unsigned>(size);
  if (aligned_ && address % bytes)
    return Error{format("load of {} bytes at {} is misaligned", size, hex(address))};
  TRY(uint8_t *data, find(address, bytes, false));
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint64_t{data[i]} << (8 * i);
  return value;
}

Result<Ok> Memory::store(uint64_t address, int size, uint64_t value) {
  auto bytes = static_cast<unsigned>(size);
  if (aligned_ && address % bytes)
    return Error{format("store of {} bytes at {} is misaligned", size, hex(address))};
  TRY(uint8_t *data, find(address, bytes, true));
  for (unsigned i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(value >> (8 * i));
  return Ok{};
}

}  // namespace egpu::bpf
