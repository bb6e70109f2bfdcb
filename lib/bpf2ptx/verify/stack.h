// One frame's stack: which bytes are initialised, and values that were spilled to it.
//
// Offsets are from the frame pointer, -512 to -1. A spill keeps a register's value for as
// long as no later store touches its bytes.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/bpf2ptx/verify/value.h"

namespace egpu::bpf {

constexpr int kStackBytes = 512;  // of all frames together, as in Linux (MAX_BPF_STACK)

class Stack {
 public:
  /// A set of bytes; bit n is offset -n - 1.
  using Bytes = std::bitset<kStackBytes>;
  // What was done since the explorer last asked: bytes read that were not written before, and
  // bytes written.
  struct Use {
    Bytes read, written;
  };

  struct Spill {
    int begin, size;  // begin: offset from the frame pointer
    Value value;
  };

  /// Bytes that have been used, a multiple of 8.
  int depth() const { return depth_; }
  void touch(int begin);

  /// The first byte of [begin, begin + size) that is not initialised, if any.
  std::optional<int> uninitialized(int begin, int size) const;
  /// Does [begin, begin + size) hold a byte of a spilled pointer?
  bool holds_pointer(int begin, int size) const;

  /// A store at a known offset. A pointer must be 8 bytes wide.
  void store(int begin, int size, const Value &value);
  /// A store of a scalar somewhere in [begin, end): initialised bytes stay initialised with
  /// unknown contents, a pointer there can no longer be read.
  void store_somewhere(int begin, int end);
  /// A store by a helper of unknown bytes.
  void store_unknown(int begin, int size);

  /// A load of initialised bytes at a known offset; scalars zero-extended. Nothing: a part of a
  /// pointer, or a pointer beside other bytes.
  std::optional<Value> load(int begin, int size) const;

  /// The program reads [begin, begin + size) here.
  void note_read(int begin, int size);
  const Use &use() const { return use_; }
  void clear_use() { use_ = {}; }

  std::vector<Spill> &spills() { return spills_; }
  const std::vector<Spill> &spills() const { return spills_; }
  bool initialized(int offset) const { return bytes_[index(offset)] != kInvalid; }

 private:
  enum Byte : uint8_t { kInvalid = 0, kData, kSpill };
  static size_t index(int offset) { return static_cast<size_t>(-offset - 1); }
  void forget(int begin, int size);
  void note_write(int begin, int size);
  void mark(int begin, int size, Byte byte);

  std::array<uint8_t, kStackBytes> bytes_{};
  std::vector<Spill> spills_;  // do not overlap
  int depth_ = 0;
  Use use_;
};

/// Is one of [begin, begin + size) in the set?
bool any_of_bytes(const Stack::Bytes &set, int begin, int size);

}  // namespace egpu::bpf
