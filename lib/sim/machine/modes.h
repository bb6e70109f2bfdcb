// What .ftz and .sat make of the operands and the result of a f32 or f64 instruction, by its Op::mode.
#pragma once
#include "lib/sim/machine/halves.h"

namespace egpu::sim {

template <class T>
T input(T v, uint8_t mode) {
  if constexpr (sizeof(T) == 4)
    if (mode & kFtz) return flush(v);
  return v;
}
template <class T>
T output(T v, uint8_t mode) {
  if (mode & kSat) v = v != v ? T{0} : v > T{1} ? T{1} : v > T{0} ? v : T{0};
  v = input(v, mode);
  if constexpr (sizeof(T) == 4)
    return canonical(v);
  else
    return v;
}

}  // namespace egpu::sim
