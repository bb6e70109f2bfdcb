// mbarrier objects: 64 bits of shared memory, whose blocks one host thread runs, so that plain
// reads and writes do. Source: PTX ISA 9.0, 9.7.13.15.
#include <algorithm>

#include "lib/sim/machine/access.h"

namespace egpu::sim {
namespace {

// From the low bits: arrivals still pending, arrivals of a phase, bytes still expected, phase.
// The token of a phase is the object as it was at the arrival.
constexpr uint64_t kCountBits = 20, kCountMask = (1u << kCountBits) - 1;
struct Object {
  uint64_t pending, expected;
  int64_t bytes;
  uint64_t phase;
  static Object from(uint64_t word) {
    return {word & kCountMask, word >> 20 & kCountMask, static_cast<int64_t>(word << 2) >> 42,
            word >> 62 & 1};
  }
  uint64_t word() const {
    return pending | expected << 20 | (static_cast<uint64_t>(bytes) & 0x3FFFFF) << 40 | phase << 62;
  }
  void complete() {
    if (pending || bytes) return;
    phase ^= 1;
    pending = expected;
  }
};

// Calls change(object, lane) for each lane in turn; false from it: a fault was raised.
template <class Change>
void on_objects_at(const Hosts &hosts, uint32_t mask, Change &&change) {
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t l = static_cast<uint32_t>(std::countr_zero(m));
    uint64_t &word = *reinterpret_cast<uint64_t *>(hosts.at[l]);
    Object object = Object::from(word);
    if (!change(object, l)) return;
    word = object.word();
  }
}
template <class Change>
void on_objects(Exec &x, const Op &op, uint32_t mask, Access access, Change &&change) {
  Hosts hosts;
  Reference r{op.a, (op.flags & kAddress32) != 0, op.imm, access};
  if (locate_in(x, static_cast<Space>(op.x), r, mask, 8, 8, hosts)) on_objects_at(hosts, mask, change);
}

uint64_t operand(Exec &x, const Op &op, uint32_t l, uint64_t without) {
  return op.b == kNone ? without : x.at<uint32_t>(op.b)[l];
}

void init(Exec &x, const Op &op, uint32_t mask) {
  on_objects(x, op, mask, Access::write, [&](Object &object, uint32_t l) {
    uint64_t count = operand(x, op, l, 1);
    if (count < 1 || count > kCountMask) {
      raise(x, Fault::illegal_instruction, l, "mbarrier.init: count " + std::to_string(count));
      return false;
    }
    object = {count, count, 0, 0};
    return true;
  });
}

void invalidate(Exec &x, const Op &op, uint32_t mask) {
  on_objects(x, op, mask, Access::write, [&](Object &object, uint32_t) {
    object = {};
    return true;
  });
}

template <bool kExpects, bool kDrops>
void arrive_at(Exec &x, const Op &op, uint32_t mask) {
  on_objects(x, op, mask, Access::update, [&](Object &object, uint32_t l) {
    uint64_t count = kExpects ? 1 : operand(x, op, l, 1);
    if (count > object.pending) {
      raise(x, Fault::illegal_instruction, l,
            "mbarrier: " + std::to_string(count) + " arrivals, " + std::to_string(object.pending) +
                " are pending");
      return false;
    }
    if (op.n == 2 && count == object.pending) {
      raise(x, Fault::illegal_instruction, l, "mbarrier: .noComplete, but the phase would be complete");
      return false;
    }
    if (op.d != kNone) x.at<uint64_t>(op.d)[l] = object.word();
    if (kExpects) object.bytes += static_cast<int64_t>(operand(x, op, l, 0));
    if (kDrops) object.expected -= count;
    object.pending -= count;
    object.complete();
    return true;
  });
}

template <int kSign>
void change_bytes(Exec &x, const Op &op, uint32_t mask) {
  on_objects(x, op, mask, Access::update, [&](Object &object, uint32_t l) {
    object.bytes += kSign * static_cast<int64_t>(operand(x, op, l, 0));
    object.complete();
    return true;
  });
}

// The bytes have arrived in each of the blocks that the lane's mask names.
void complete_in_blocks(Exec &x, const Op &op, uint32_t mask) {
  uint64_t at[kLanes];
  lane_addresses(x, {op.a, (op.flags & kAddress32) != 0, op.imm}, at);
  const uint16_t *blocks = x.at<uint16_t>(op.e);
  for (uint32_t rank = 0; rank < kMaxClusterBlocks; ++rank) {
    uint32_t lanes = 0;
    Hosts hosts{};
    each_lane(mask, [&](uint32_t l) {
      lanes |= (blocks[l] >> rank & 1u) << l;
      hosts.at[l] = in_block(at[l], rank);
    });
    if (!locate_addresses<Space::shared>(x, Access::update, lanes, 8, 8, hosts)) return;
    on_objects_at(hosts, lanes, [&](Object &object, uint32_t l) {
      object.bytes -= static_cast<int64_t>(operand(x, op, l, 0));
      object.complete();
      return true;
    });
  }
}

// Answers at once; a warp that has to wait lets the others run.
template <bool kParity>
void wait_for(Exec &x, const Op &op, uint32_t mask) {
  uint32_t done = 0;
  on_objects(x, op, mask, Access::read, [&](Object &object, uint32_t l) {
    uint64_t phase = kParity ? x.at<uint32_t>(op.b)[l] & 1 : Object::from(x.at<uint64_t>(op.b)[l]).phase;
    done |= object.phase != phase ? 1u << l : 0;
    return true;
  });
  if (x.stop) return;
  set_predicate(x, op.d, mask, done);
  if (done == mask) return;
  ++x.spins;
  x.yield = true;
  x.path->pc = x.pc;
  x.stop = true;
}

void pending_count(Exec &x, const Op &op, uint32_t mask) {
  uint64_t a[kLanes];
  std::memcpy(a, x.at<uint64_t>(op.a), sizeof a);
  store_lanes<uint32_t>(x, op.d, mask,
                        [&](int l) { return static_cast<uint32_t>(Object::from(a[l]).pending); });
}

constexpr Row kRows[] = {
    {"mbarrier.init", init},
    {"mbarrier.inval", invalidate},
    {"mbarrier.arrive", arrive_at<false, false>},
    {"mbarrier.arrive.expect_tx", arrive_at<true, false>},
    {"mbarrier.arrive_drop", arrive_at<false, true>},
    {"mbarrier.arrive_drop.expect_tx", arrive_at<true, true>},
    {"mbarrier.expect_tx", change_bytes<1>},
    {"mbarrier.complete_tx", change_bytes<-1>},
    {"mbarrier.complete_tx.multicast", complete_in_blocks},
    {"mbarrier.wait", wait_for<false>},
    {"mbarrier.wait.parity", wait_for<true>},
    {"mbarrier.pending_count", pending_count},
};
}  // namespace

Rows mbarrier_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
