// Atomic operations on one element of memory: called with where it is and the operand, each gives the bits
// that were there. By host atomics, since blocks and launches run on several host threads. Source: PTX
// ISA 9.0, 9.7.13.6.
#pragma once
#include <type_traits>

#include "lib/sim/machine/halves.h"
#include "lib/sim/machine/order.h"

namespace egpu::sim::atomics {

// Each returns the new value.
struct Add {
  template <class T>
  static T apply(T old, T b) {
    return static_cast<T>(old + b);
  }
};
struct And {
  template <class T>
  static T apply(T old, T b) {
    return old & b;
  }
};
struct Or {
  template <class T>
  static T apply(T old, T b) {
    return old | b;
  }
};
struct Xor {
  template <class T>
  static T apply(T old, T b) {
    return old ^ b;
  }
};
struct Exchange {
  template <class T>
  static T apply(T, T b) {
    return b;
  }
};
struct Min {
  template <class T>
  static T apply(T old, T b) {
    return b < old ? b : old;
  }
};
struct Max {
  template <class T>
  static T apply(T old, T b) {
    return old < b ? b : old;
  }
};
struct Inc {
  template <class T>
  static T apply(T old, T b) {
    return old >= b ? T{0} : static_cast<T>(old + 1);
  }
};
struct Dec {
  template <class T>
  static T apply(T old, T b) {
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  }
};

// `apply` gives the new bits of the old ones.
template <class T, class Apply>
T update(T *target, Apply &&apply) {
  T old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(target, &old, apply(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <class F>
struct Integer {
  template <class T>
  T operator()(T *target, T b) const {
    if constexpr (std::is_same_v<F, Add>)
      return __atomic_fetch_add(target, b, __ATOMIC_SEQ_CST);
    else if constexpr (std::is_same_v<F, Exchange>)
      return __atomic_exchange_n(target, b, __ATOMIC_SEQ_CST);
    else
      return update(target, [b](T old) { return F::apply(old, b); });
  }
};

struct AddF32 {
  bool flushes;
  uint32_t operator()(uint32_t *target, uint32_t b_bits) const {
    const float b = std::bit_cast<float>(b_bits);
    return update(target, [&](uint32_t old) {
      const float a = std::bit_cast<float>(old);
      return std::bit_cast<uint32_t>(canonical(flushes ? flush(flush(a) + flush(b)) : a + b));
    });
  }
};

// A NaN is handed on: on global memory as it is, on shared memory as a quiet one. So has it the H200.
struct AddF64 {
  bool quiets;
  uint64_t operator()(uint64_t *target, uint64_t b_bits) const {
    const double b = std::bit_cast<double>(b_bits);
    return update(target, [&](uint64_t old) {
      const double a = std::bit_cast<double>(old);
      const double sum = a != a ? a : b != b ? b : a + b;
      return std::bit_cast<uint64_t>(quiets && sum != sum ? quiet(sum) : sum);
    });
  }
};

struct AddReal {
  double operator()(double a, double b) const { return add_to_odd(a, b); }
};

// One or two halves.
template <class H, class F>
struct Halves {
  template <class T>
  T operator()(T *target, T b) const {
    return update(target, [b](T old) {
      T result = 0;
      for (unsigned i = 0; i < sizeof(T) / 2; ++i) {
        H p{static_cast<uint16_t>(old >> 16 * i)}, q{static_cast<uint16_t>(b >> 16 * i)};
        result = static_cast<T>(result | static_cast<T>(H::from(F{}(p.value(), q.value())).bits) << 16 * i);
      }
      return result;
    });
  }
};

}  // namespace egpu::sim::atomics
