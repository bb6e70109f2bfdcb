// Atomics: host atomics, since blocks and launches run on several host threads.
#include <type_traits>

#include "lib/sim/machine/access.h"
#include "lib/sim/machine/halves.h"
#include "lib/sim/machine/order.h"

namespace egpu::sim {
namespace {

// Each returns the new value; `c` is the second operand of cas.
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

template <class F, class T>
T exchange(T *target, T b) {
  if constexpr (std::is_same_v<F, Add>)
    return __atomic_fetch_add(target, b, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<F, Exchange>)
    return __atomic_exchange_n(target, b, __ATOMIC_SEQ_CST);
  else {
    T old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(target, &old, F::apply(old, b), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
    }
    return old;
  }
}

template <class T, class Do>
void on_lanes(Exec &x, const Op &op, uint32_t mask, Do &&action) {
  Hosts hosts;
  if (op.flags & kSpins) ++x.spins;
  if (!locate_in(x, static_cast<Space>(op.x), {op.a, (op.flags & kAddress32) != 0, op.imm, Access::update},
                 mask, sizeof(T), sizeof(T), hosts))
    return;
  T *d = op.d == kNone ? nullptr : x.at<T>(op.d);
  each_lane(mask, [&](uint32_t l) {
    T old = action(reinterpret_cast<T *>(hosts.at[l]), l);
    if (d) d[l] = old;
  });
}

template <class F, class T>
void atomic(Exec &x, const Op &op, uint32_t mask) {
  T b[kLanes];  // d may be the same slot
  std::memcpy(b, x.at<T>(op.b), sizeof b);
  on_lanes<T>(x, op, mask, [&](T *target, uint32_t l) { return exchange<F, T>(target, b[l]); });
}

template <class T>
void compare_and_swap(Exec &x, const Op &op, uint32_t mask) {
  T b[kLanes], c[kLanes];
  std::memcpy(b, x.at<T>(op.b), sizeof b);
  std::memcpy(c, x.at<T>(op.c), sizeof c);
  on_lanes<T>(x, op, mask, [&](T *target, uint32_t l) {
    T old = b[l];
    __atomic_compare_exchange_n(target, &old, c[l], false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
  });
}

#if defined(__x86_64__)
// 128 bits: the host's instruction is on x86-64 alone, and only here may the compiler assume it.
__extension__ typedef unsigned __int128 Wide;
__attribute__((target("cx16"))) Wide swap_if_equal(Wide *target, Wide expected, Wide wanted) {
  return __sync_val_compare_and_swap(target, expected, wanted);
}

void exchange_wide(Exec &x, const Op &op, uint32_t mask) {
  Wide b[kLanes];
  std::memcpy(b, x.at<Wide>(op.b), sizeof b);
  on_lanes<Wide>(x, op, mask, [&](Wide *target, uint32_t l) {
    Wide old = 0, seen;
    while ((seen = swap_if_equal(target, old, b[l])) != old) old = seen;
    return old;
  });
}

void compare_and_swap_wide(Exec &x, const Op &op, uint32_t mask) {
  Wide b[kLanes], c[kLanes];
  std::memcpy(b, x.at<Wide>(op.b), sizeof b);
  std::memcpy(c, x.at<Wide>(op.c), sizeof c);
  on_lanes<Wide>(x, op, mask, [&](Wide *target, uint32_t l) { return swap_if_equal(target, b[l], c[l]); });
}
#endif

// On bits of a floating type: `apply` gives the new bits of the old ones.
template <class T, class Apply>
T update(T *target, Apply &&apply) {
  T old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(target, &old, apply(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

// PTX ISA 9.0, 9.7.13.5 "atom": on global memory, add.f32 flushes subnormal numbers.
void add_f32(Exec &x, const Op &op, uint32_t mask) {
  float b[kLanes];
  std::memcpy(b, x.at<float>(op.b), sizeof b);
  uint64_t shared = reinterpret_cast<uint64_t>(x.shared);
  on_lanes<uint32_t>(x, op, mask, [&](uint32_t *target, uint32_t l) {
    bool flushes = reinterpret_cast<uint64_t>(target) - shared >= x.shared_bytes;
    return update(target, [&](uint32_t old) {
      float a = std::bit_cast<float>(old);
      float r = flushes ? flush(flush(a) + flush(b[l])) : a + b[l];
      return std::bit_cast<uint32_t>(canonical(r));
    });
  });
}

// A NaN is handed on: on global memory as it is, on shared memory as a quiet one. So has it the H200.
void add_f64(Exec &x, const Op &op, uint32_t mask) {
  double b[kLanes];
  std::memcpy(b, x.at<double>(op.b), sizeof b);
  uint64_t shared = reinterpret_cast<uint64_t>(x.shared);
  on_lanes<uint64_t>(x, op, mask, [&](uint64_t *target, uint32_t l) {
    bool is_shared = reinterpret_cast<uint64_t>(target) - shared < x.shared_bytes;
    return update(target, [&](uint64_t old) {
      const double a = std::bit_cast<double>(old);
      double sum = a != a ? a : b[l] != b[l] ? b[l] : a + b[l];
      return std::bit_cast<uint64_t>(is_shared && sum != sum ? quiet(sum) : sum);
    });
  });
}

struct AddReal {
  double operator()(double a, double b) const { return add_to_odd(a, b); }
};

template <class H, class F, class T>
void on_halves(Exec &x, const Op &op, uint32_t mask) {
  T b[kLanes];
  std::memcpy(b, x.at<T>(op.b), sizeof b);
  on_lanes<T>(x, op, mask, [&](T *target, uint32_t l) {
    return update(target, [&](T old) {
      T result = 0;
      for (unsigned i = 0; i < sizeof(T) / 2; ++i) {
        H p{static_cast<uint16_t>(old >> 16 * i)}, q{static_cast<uint16_t>(b[l] >> 16 * i)};
        result = static_cast<T>(result | static_cast<T>(H::from(F{}(p.value(), q.value())).bits) << 16 * i);
      }
      return result;
    });
  });
}

#define TWO(name, F, T32, T64, k32, k64) \
  {"atom." name "." k32, atomic<F, T32>}, { "atom." name "." k64, atomic<F, T64> }
#define HALVES(name, F)                                         \
  {"atom." name ".f16", on_halves<Half, F, uint16_t>},          \
      {"atom." name ".f16x2", on_halves<Half, F, uint32_t>},    \
      {"atom." name ".bf16", on_halves<Bfloat, F, uint16_t>}, { \
    "atom." name ".bf16x2", on_halves<Bfloat, F, uint32_t>      \
  }

constexpr Row kRows[] = {
    TWO("add", Add, uint32_t, uint64_t, "b32", "b64"),
    TWO("and", And, uint32_t, uint64_t, "b32", "b64"),
    TWO("or", Or, uint32_t, uint64_t, "b32", "b64"),
    TWO("xor", Xor, uint32_t, uint64_t, "b32", "b64"),
    TWO("exch", Exchange, uint32_t, uint64_t, "b32", "b64"),
    TWO("inc", Inc, uint32_t, uint64_t, "b32", "b64"),
    TWO("dec", Dec, uint32_t, uint64_t, "b32", "b64"),
    TWO("min", Min, uint32_t, uint64_t, "u32", "u64"),
    TWO("min", Min, int32_t, int64_t, "s32", "s64"),
    TWO("max", Max, uint32_t, uint64_t, "u32", "u64"),
    TWO("max", Max, int32_t, int64_t, "s32", "s64"),
    {"atom.cas.b16", compare_and_swap<uint16_t>},
    {"atom.cas.b32", compare_and_swap<uint32_t>},
    {"atom.cas.b64", compare_and_swap<uint64_t>},
#if defined(__x86_64__)
    {"atom.exch.b128", exchange_wide},
    {"atom.cas.b128", compare_and_swap_wide},
#endif
    {"atom.add.f32", add_f32},
    {"atom.add.f64", add_f64},
    HALVES("add", AddReal),
    HALVES("min", MinReal),
    HALVES("max", MaxReal),
};
}  // namespace

Rows atomic_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
