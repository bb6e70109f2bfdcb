// The memory an interpreted program can reach: regions of host memory at made-up addresses.
//
// Every access must lie inside one region. A region can keep track of which of its bytes have
// been written, and then refuses to read others.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::bpf {

struct Region {
  std::string name;         // for messages
  uint64_t address = 0;     // of the first byte, as the program sees it
  uint8_t *data = nullptr;  // not owned
  uint64_t size = 0;
  bool writable = true;
  uint8_t *initialized = nullptr;  // not owned, one byte for each of data; null: all are
};

class Memory {
 public:
  void add(const Region &region) { regions_.push_back(region); }
  /// Removes the region that was added last.
  void drop_last() { regions_.pop_back(); }
  void require_alignment(bool required) { aligned_ = required; }

  /// The bytes at [address, address + size). Error: no region holds them, or may not be written,
  /// or has not been.
  Result<uint8_t *> find(uint64_t address, uint64_t size, bool write);
  /// Little-endian, zero-extended.
  Result<uint64_t> load(uint64_t address, int size);
  Result<Ok> store(uint64_t address, int size, uint64_t value);

 private:
  std::vector<Region> regions_;
  bool aligned_ = false;
};

}  // namespace egpu::bpf
