// What the lanes of a warp do together: shfl, vote, match, redux, elect, bar.warp.sync.
// publish() puts a lane's value into the warp's exchange, finish() reads those of the group.
#include <cmath>

#include "lib/sim/machine/halves.h"
#include "lib/sim/machine/order.h"

namespace egpu::sim {
namespace {

template <class T>
void publish(Exec &x, const Op &op, uint32_t mask) {
  const T *a = x.at<T>(op.a);
  each_lane(mask, [&](uint32_t l) { x.warp->exchange[l] = a[l]; });
}
void publish_predicate(Exec &x, const Op &op, uint32_t mask) {
  uint32_t bits = x.predicate(op.a);
  if (op.flags & kSourceNegated) bits = ~bits;
  each_lane(mask, [&](uint32_t l) { x.warp->exchange[l] = bits >> l & 1; });
}
void publish_nothing(Exec &, const Op &, uint32_t) {}
void finish_nothing(Exec &, const Op &, uint32_t, uint32_t) {}

enum class Shuffle { up, down, bfly, idx };

// PTX ISA 9.0, 9.7.9.6 "shfl.sync", its pseudocode.
template <Shuffle kMode>
void shuffle(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  const uint32_t *b = x.at<uint32_t>(op.b), *c = x.at<uint32_t>(op.c);
  uint32_t result[kLanes], in_range = 0;
  each_lane(mask, [&](uint32_t lane) {
    int32_t l = static_cast<int32_t>(lane), value = static_cast<int32_t>(b[lane] & 31);
    int32_t clamp = static_cast<int32_t>(c[lane] & 31), segment = static_cast<int32_t>(c[lane] >> 8 & 31);
    int32_t max_lane = (l & segment) | (clamp & ~segment), min_lane = l & segment, j = 0;
    bool p = false;
    switch (kMode) {
      case Shuffle::up:
        j = l - value;
        p = j >= max_lane;
        break;
      case Shuffle::down:
        j = l + value;
        p = j <= max_lane;
        break;
      case Shuffle::bfly:
        j = l ^ value;
        p = j <= max_lane;
        break;
      case Shuffle::idx:
        j = min_lane | (value & ~segment);
        p = j <= max_lane;
        break;
    }
    if (!p) j = l;
    // From a lane that takes no part: undefined; here, the lane's own value.
    if (!(all >> j & 1)) j = l;
    result[lane] = static_cast<uint32_t>(x.warp->exchange[j]);
    in_range |= p ? 1u << lane : 0;
  });
  uint32_t *d = x.at<uint32_t>(op.d);
  each_lane(mask, [&](uint32_t l) { d[l] = result[l]; });
  set_predicate(x, op.e, mask, in_range);
}

uint32_t votes(Exec &x, uint32_t all) {
  uint32_t bits = 0;
  each_lane(all, [&](uint32_t l) { bits |= x.warp->exchange[l] ? 1u << l : 0; });
  return bits;
}
void vote_all(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  set_predicate(x, op.d, mask, votes(x, all) == all ? kAll : 0);
}
void vote_any(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  set_predicate(x, op.d, mask, votes(x, all) ? kAll : 0);
}
void vote_uniform(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  uint32_t bits = votes(x, all);
  set_predicate(x, op.d, mask, bits == 0 || bits == all ? kAll : 0);
}
void vote_ballot(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  uint32_t bits = votes(x, all);
  store_lanes<uint32_t>(x, op.d, mask, [&](int) { return bits; });
}

void match_any(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  uint32_t *d = x.at<uint32_t>(op.d);
  each_lane(mask, [&](uint32_t l) {
    uint32_t same = 0;
    each_lane(all, [&](uint32_t k) { same |= x.warp->exchange[k] == x.warp->exchange[l] ? 1u << k : 0; });
    d[l] = same;
  });
}
void match_all(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  bool same = true;
  uint64_t first = x.warp->exchange[std::countr_zero(all)];
  each_lane(all, [&](uint32_t k) { same &= x.warp->exchange[k] == first; });
  store_lanes<uint32_t>(x, op.d, mask, [&](int) { return same ? all : 0u; });
  set_predicate(x, op.e, mask, same ? kAll : 0);
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class F, class T>
void reduce(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  auto value = [&](uint32_t l) { return std::bit_cast<T>(static_cast<uint32_t>(x.warp->exchange[l])); };
  T result = value(static_cast<uint32_t>(std::countr_zero(all)));
  each_lane(all & (all - 1), [&](uint32_t l) { result = F{}(result, value(l)); });
  store_lanes<T>(x, op.d, mask, [&](int) { return result; });
}

// PTX ISA 9.0, 9.7.13.9 "redux.sync": with .NaN, a NaN wins.
template <class F>
void reduce_real(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  float result = std::bit_cast<float>(kNanF32);
  bool any_nan = false;
  each_lane(all, [&](uint32_t l) {
    float v = std::bit_cast<float>(static_cast<uint32_t>(x.warp->exchange[l]));
    if (op.mode & kAbs) v = std::fabs(v);
    any_nan |= v != v;
    result = F{}(result, v);
  });
  if (any_nan && (op.mode & kNan)) result = std::bit_cast<float>(kNanF32);
  store_lanes<float>(x, op.d, mask, [&](int) { return canonical(result); });
}

void elect(Exec &x, const Op &op, uint32_t mask, uint32_t all) {
  uint32_t leader = static_cast<uint32_t>(std::countr_zero(all));
  if (op.d != kNone) store_lanes<uint32_t>(x, op.d, mask, [&](int) { return leader; });
  set_predicate(x, op.e, mask, 1u << leader);
}

template <auto kPublish, auto kFinish>
void run(Exec &x, const Op &op, uint32_t mask) {
  static constexpr Together kWhat{kPublish, kFinish};
  do_together(x, op, mask, kWhat);
}

void active_mask(Exec &x, const Op &op, uint32_t mask) {
  store_lanes<uint32_t>(x, op.d, mask, [&](int) { return mask; });
}

constexpr Row kRows[] = {
    {"shfl.up", run<publish<uint32_t>, shuffle<Shuffle::up>>},
    {"shfl.down", run<publish<uint32_t>, shuffle<Shuffle::down>>},
    {"shfl.bfly", run<publish<uint32_t>, shuffle<Shuffle::bfly>>},
    {"shfl.idx", run<publish<uint32_t>, shuffle<Shuffle::idx>>},
    {"vote.all", run<publish_predicate, vote_all>},
    {"vote.any", run<publish_predicate, vote_any>},
    {"vote.uni", run<publish_predicate, vote_uniform>},
    {"vote.ballot", run<publish_predicate, vote_ballot>},
    {"match.any.4", run<publish<uint32_t>, match_any>},
    {"match.any.8", run<publish<uint64_t>, match_any>},
    {"match.all.4", run<publish<uint32_t>, match_all>},
    {"match.all.8", run<publish<uint64_t>, match_all>},
    {"redux.add", run<publish<uint32_t>, reduce<Add, uint32_t>>},
    {"redux.and", run<publish<uint32_t>, reduce<And, uint32_t>>},
    {"redux.or", run<publish<uint32_t>, reduce<Or, uint32_t>>},
    {"redux.xor", run<publish<uint32_t>, reduce<Xor, uint32_t>>},
    {"redux.min.u32", run<publish<uint32_t>, reduce<Min, uint32_t>>},
    {"redux.min.s32", run<publish<uint32_t>, reduce<Min, int32_t>>},
    {"redux.max.u32", run<publish<uint32_t>, reduce<Max, uint32_t>>},
    {"redux.max.s32", run<publish<uint32_t>, reduce<Max, int32_t>>},
    {"redux.min.f32", run<publish<uint32_t>, reduce_real<MinReal>>},
    {"redux.max.f32", run<publish<uint32_t>, reduce_real<MaxReal>>},
    {"elect", run<publish_nothing, elect>},
    {"warp.sync", run<publish_nothing, finish_nothing>},
    {"activemask", active_mask},
};
}  // namespace

Rows together_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
