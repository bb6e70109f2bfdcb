#include "lib/bpf2ptx/verify/tnum.h"

#include <bit>

namespace egpu::bpf {

Tnum Tnum::range(uint64_t min, uint64_t max) {
  int unknown_bits = static_cast<int>(std::bit_width(min ^ max));
  if (unknown_bits == 64) return unknown();
  uint64_t mask = (uint64_t{1} << unknown_bits) - 1;
  return {min & ~mask, mask};
}

Tnum operator+(Tnum a, Tnum b) {
  // A sum's bit is unknown where an operand's is or where a carry may or may not arrive: the
  // carries differ between the smallest and the largest sum.
  uint64_t smallest = a.value + b.value;
  uint64_t largest = smallest + a.mask + b.mask;
  uint64_t mask = (smallest ^ largest) | a.mask | b.mask;
  return {smallest & ~mask, mask};
}

Tnum operator-(Tnum a, Tnum b) {
  uint64_t middle = a.value - b.value;
  uint64_t mask = ((middle + a.mask) ^ (middle - b.mask)) | a.mask | b.mask;
  return {middle & ~mask, mask};
}

Tnum operator*(Tnum a, Tnum b) {
  // Long multiplication: known bits of `a` contribute b's unknown bits, unknown bits of `a`
  // contribute all of b's possible bits.
  Tnum known = Tnum::constant(a.value * b.value), unknown = Tnum::constant(0);
  for (; a.value | a.mask; a = a >> 1, b = b << 1) {
    if (a.value & 1)
      unknown = unknown + Tnum{0, b.mask};
    else if (a.mask & 1)
      unknown = unknown + Tnum{0, b.value | b.mask};
  }
  return known + unknown;
}

Tnum operator&(Tnum a, Tnum b) {
  uint64_t value = a.value & b.value;
  return {value, a.max() & b.max() & ~value};
}

Tnum operator|(Tnum a, Tnum b) {
  uint64_t value = a.value | b.value;
  return {value, (a.mask | b.mask) & ~value};
}

Tnum operator^(Tnum a, Tnum b) {
  uint64_t mask = a.mask | b.mask;
  return {(a.value ^ b.value) & ~mask, mask};
}

Tnum operator<<(Tnum a, unsigned bits) { return {a.value << bits, a.mask << bits}; }
Tnum operator>>(Tnum a, unsigned bits) { return {a.value >> bits, a.mask >> bits}; }

Tnum shift_arithmetic(Tnum a, unsigned bits, unsigned width) {
  if (width == 32)
    return {static_cast<uint32_t>(static_cast<int32_t>(a.value) >> bits),
            static_cast<uint32_t>(static_cast<int32_t>(a.mask) >> bits)};
  return {static_cast<uint64_t>(static_cast<int64_t>(a.value) >> bits),
          static_cast<uint64_t>(static_cast<int64_t>(a.mask) >> bits)};
}

Tnum truncate(Tnum a, unsigned bytes) {
  if (bytes == 8) return a;
  uint64_t kept = (uint64_t{1} << (8 * bytes)) - 1;
  return {a.value & kept, a.mask & kept};
}

Tnum sign_extend(Tnum a, unsigned bytes) {
  unsigned unused = 64 - 8 * bytes;
  return shift_arithmetic(a << unused, unused, 64);
}

std::optional<Tnum> intersect(Tnum a, Tnum b) {
  if ((a.value ^ b.value) & ~a.mask & ~b.mask) return std::nullopt;
  uint64_t mask = a.mask & b.mask;
  return Tnum{(a.value | b.value) & ~mask, mask};
}

Tnum join(Tnum a, Tnum b) {
  uint64_t mask = a.mask | b.mask | (a.value ^ b.value);
  return {a.value & ~mask, mask};
}

}  // namespace egpu::bpf
