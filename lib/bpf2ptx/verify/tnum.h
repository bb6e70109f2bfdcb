// Tristate numbers: for each of 64 bits whether it is 0, 1 or unknown.
//
// A Tnum stands for all numbers x with (x & ~mask) == value. Each operation returns a Tnum
// that contains every result of operands from the inputs. Source of the algorithms:
// Vishwanathan, Shachnai, Narayana, Nagarakatte, "Sound, Precise, and Fast Abstract
// Interpretation with Tristate Numbers", CGO 2022.
#pragma once
#include <cstdint>
#include <optional>

namespace egpu::bpf {

struct Tnum {
  uint64_t value = 0, mask = ~uint64_t{0};  // value & mask == 0

  static Tnum constant(uint64_t value) { return {value, 0}; }
  static Tnum unknown() { return {}; }
  /// The smallest Tnum that contains min to max.
  static Tnum range(uint64_t min, uint64_t max);

  bool is_constant() const { return mask == 0; }
  uint64_t min() const { return value; }
  uint64_t max() const { return value | mask; }
  bool contains(uint64_t x) const { return (x & ~mask) == value; }
  /// Is every number of `inner` in this?
  bool covers(Tnum inner) const { return (inner.mask & ~mask) == 0 && (inner.value & ~mask) == value; }
  /// Is every number a multiple of `size`, a power of two?
  bool is_aligned(uint64_t size) const { return ((value | mask) & (size - 1)) == 0; }
  bool operator==(const Tnum &) const = default;
};

Tnum operator+(Tnum a, Tnum b);
Tnum operator-(Tnum a, Tnum b);
Tnum operator*(Tnum a, Tnum b);
Tnum operator&(Tnum a, Tnum b);
Tnum operator|(Tnum a, Tnum b);
Tnum operator^(Tnum a, Tnum b);
Tnum operator<<(Tnum a, unsigned bits);
Tnum operator>>(Tnum a, unsigned bits);
/// Arithmetic shift of the low `width` (32 or 64) bits; the bits above become 0.
Tnum shift_arithmetic(Tnum a, unsigned bits, unsigned width);
/// The low `bytes` bytes, zero-extended.
Tnum truncate(Tnum a, unsigned bytes);
Tnum sign_extend(Tnum a, unsigned bytes);
/// The numbers in both; empty: none.
std::optional<Tnum> intersect(Tnum a, Tnum b);
/// The smallest Tnum that covers both.
Tnum join(Tnum a, Tnum b);

}  // namespace egpu::bpf
