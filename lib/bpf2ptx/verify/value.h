// What a register, or eight bytes of stack, holds on one path: a number or a typed pointer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "lib/bpf2ptx/verify/range.h"

namespace egpu::bpf {

enum class Kind : uint8_t {
  uninit,
  scalar,
  ctx,
  stack,
  map_value,
  map_value_or_null,  // what a lookup returns, until the program compares it with NULL
  map,
  cookie,
  function,
};

struct Value {
  Kind kind = Kind::uninit;
  int frame = 0;      // of a stack pointer: which frame's
  int map = -1;       // of map, map_value, map_value_or_null
  int function = -1;  // of a function: its first instruction
  // Values with the same id that is not 0 are equal, but for their deltas (scalars), or NULL together
  // (map_value_or_null).
  uint32_t id = 0;
  int32_t delta = 0;   // of a scalar with an id: how much more it is than the number that the id stands for
  int64_t offset = 0;  // of a pointer: the part known exactly; the address is base + offset + range
  Range range{};       // of a scalar: its value; of a pointer: the variable part of its offset
  // For messages only: the instruction that made the value, and the load of memory that other
  // threads may write, or the clock, from which a scalar was computed.
  int origin = -1;
  int outside = -1;

  static Value scalar(const Range &range) {
    Value v;
    v.kind = Kind::scalar;
    v.range = range;
    return v;
  }
  static Value constant(uint64_t value) { return scalar(Range::constant(value)); }
  static Value pointer(Kind kind) {
    Value v;
    v.kind = kind;
    v.range = Range::constant(0);
    return v;
  }

  /// No other value is known to be equal.
  void unlink() { id = 0, delta = 0; }

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_pointer() const { return kind != Kind::scalar && kind != Kind::uninit; }
  bool is_constant() const { return is_scalar() && range.is_constant(); }
  /// Can offsets be added to it and memory be read through it?
  bool is_memory() const {
    return kind == Kind::ctx || kind == Kind::stack || kind == Kind::map_value || kind == Kind::cookie;
  }
  /// The smallest and largest offset from the base that the pointer can have.
  int64_t min_offset() const { return offset + std::max(range.full.smin, -kFar); }
  int64_t max_offset() const { return offset + std::min(range.full.smax, kFar); }

  // Further than any object is large; offsets beyond it count as this.
  static constexpr int64_t kFar = int64_t{1} << 40;
};

/// "a map value", "the frame pointer": for messages.
std::string describe(const Value &value);

}  // namespace egpu::bpf
