// The order in which min and max put floating numbers, of all instructions that have them: -0 is less than
// +0, and a NaN counts only where there is no number; of two NaNs the second remains. What bits a NaN has in
// the end, and .NaN, are the instruction's affair. Source: PTX ISA 9.0, 9.7.3.11, 9.7.3.12.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace egpu::sim {

template <bool kGreatest>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const Bits p = std::bit_cast<Bits>(a), q = std::bit_cast<Bits>(b);
    T r = (kGreatest ? a > b : a < b) ? a : b;
    if (a == b) r = std::bit_cast<T>(static_cast<Bits>(kGreatest ? p & q : p | q));  // zeros' signs
    r = b != b ? a : r;
    return a != a ? b : r;
  }
};
using MinReal = Extreme<false>;
using MaxReal = Extreme<true>;

}  // namespace egpu::sim
