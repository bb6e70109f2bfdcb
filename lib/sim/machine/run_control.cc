// Control flow, barriers, and what has no effect.
#include "lib/sim/machine/calls.h"
#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

uint32_t first_of(uint32_t lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

void branch(Exec &x, const Op &op, uint32_t mask) {
  uint32_t target = static_cast<uint32_t>(op.imm), rest = x.path->mask & ~mask;
  if (!rest) {
    x.pc = target;
    return;
  }
  Way ways[2] = {{rest, x.pc}, {mask, target}};
  diverge(x, ways, 2, op.y);
}

void branch_indexed(Exec &x, const Op &op, uint32_t mask) {
  const uint32_t *index = x.at<uint32_t>(op.a), *targets = x.frame->function->lists.data() + op.e;
  std::vector<Way> ways;
  auto add = [&](uint32_t lanes, uint32_t pc) {
    for (Way &way : ways)
      if (way.pc == pc) {
        way.lanes |= lanes;
        return;
      }
    ways.push_back({lanes, pc});
  };
  if (uint32_t rest = x.path->mask & ~mask) add(rest, x.pc);
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t l = first_of(m);
    if (index[l] >= static_cast<uint64_t>(op.imm))
      return raise(
          x, Fault::illegal_instruction, l,
          "brx.idx: index " + std::to_string(index[l]) + " of " + std::to_string(op.imm) + " targets");
    add(1u << l, targets[index[l]]);
  }
  if (ways.size() == 1)
    x.pc = ways[0].pc;
  else
    diverge(x, ways.data(), ways.size(), op.y);
}

const CallSite &site_of(const Op &op) {
  return *reinterpret_cast<const CallSite *>(static_cast<intptr_t>(op.imm));
}

void call(Exec &x, const Op &op, uint32_t mask) { call_function(x, site_of(op), *site_of(op).target, mask); }

// Lanes with the same target call together. The others stay behind at this call and repeat it.
void call_indirect(Exec &x, const Op &op, uint32_t mask) {
  const CallSite &site = site_of(op);
  const uint64_t *pointer = x.at<uint64_t>(site.pointer);
  uint32_t first = first_of(mask), group = 0;
  each_lane(mask, [&](uint32_t l) { group |= pointer[l] == pointer[first] ? 1u << l : 0; });
  const Function *target = x.grid->program->function_at(pointer[first]);
  if (!target) return raise(x, Fault::illegal_address, first, "call through a pointer that is no function's");
  uint32_t others = mask & ~group, rest = x.path->mask & ~mask;
  if (others) {
    uint32_t here = x.pc - 1;
    Way ways[3] = {{group, here}, {others, here}, {rest, x.pc}};
    diverge(x, ways, rest ? 3 : 2, x.pc);  // the group's path is the current one
  }
  call_function(x, site, *target, group);
}

void builtin(Exec &x, const Op &op, uint32_t mask) { call_builtin(x, site_of(op), mask); }
void ret(Exec &x, const Op &, uint32_t mask) { return_lanes(x, mask); }
void leave(Exec &x, const Op &, uint32_t mask) { exit_lanes(x, mask); }
void trap(Exec &x, const Op &, uint32_t mask) { raise(x, Fault::trap, first_of(mask), "trap"); }
void nothing(Exec &, const Op &, uint32_t) {}
void fence(Exec &, const Op &, uint32_t) { std::atomic_thread_fence(std::memory_order_seq_cst); }

void not_simulated(Exec &x, const Op &, uint32_t mask) {
  raise(x, Fault::not_simulated, first_of(mask),
        "not simulated: " + std::string(x.frame->function->sites[x.pc - 1].text));
}

// Lets the other warps run. Sleeping the host thread would delay the whole block.
void nanosleep(Exec &x, const Op &, uint32_t) {
  ++x.spins;
  x.yield = true;
  x.path->pc = x.pc;
  x.stop = true;
}

void bar(Exec &x, const Op &op, uint32_t mask) {
  const uint32_t *ids = x.at<uint32_t>(op.a);
  uint32_t first = first_of(mask), id = ids[first];
  uint32_t count = op.b == kNone ? 0 : x.at<uint32_t>(op.b)[first];
  if (id >= std::size(x.block->barriers))
    return raise(x, Fault::illegal_instruction, first, "barrier " + std::to_string(id) + " of 16");
  if (op.x == 1) return barrier_arrive(x, mask, id, count);
  uint32_t bits = 0;
  if (op.x >= 2) {
    bits = x.predicate(op.c);
    if (op.flags & kSourceNegated) bits = ~bits;
  }
  barrier_wait(x, op, mask, id, count, bits);
}

// A frame's stack pointer is common to its lanes: the largest size counts.
template <class T>
void alloca_lanes(Exec &x, const Op &op, uint32_t mask) {
  const T *sizes = x.at<T>(op.a);
  uint64_t size = 0;
  each_lane(mask, [&](uint32_t l) { size = std::max<uint64_t>(size, sizes[l]); });
  uint64_t align = static_cast<uint64_t>(op.imm), base = (x.frame->local_top + align - 1) / align * align;
  if (size > x.local_stride || base + size > x.local_stride)
    return raise(x, Fault::illegal_address, first_of(mask), "alloca: stack overflow");
  x.frame->local_top = static_cast<uint32_t>((base + size + 15) & ~uint64_t{15});
  store_lanes<T>(x, op.d, mask, [&](int) { return static_cast<T>(base); });
}
template <class T>
void stack_save(Exec &x, const Op &op, uint32_t mask) {
  store_lanes<T>(x, op.d, mask, [&](int) { return static_cast<T>(x.frame->local_top); });
}
template <class T>
void stack_restore(Exec &x, const Op &op, uint32_t mask) {
  T top = x.at<T>(op.a)[first_of(mask)];
  if (mask == x.path->mask && top >= x.frame->local_base + x.frame->function->local_bytes &&
      top <= x.local_stride)
    x.frame->local_top = static_cast<uint32_t>(top);
}

constexpr Row kRows[] = {
    {"bra", branch},
    {"brx", branch_indexed},
    {"call", call},
    {"call.indirect", call_indirect},
    {"call.builtin", builtin},
    {"ret", ret},
    {"exit", leave},
    {"trap", trap},
    {"nothing", nothing},
    {"fence", fence},
    {"not_simulated", not_simulated},
    {"nanosleep", nanosleep},
    {"bar", bar},
    {"alloca.4", alloca_lanes<uint32_t>},
    {"alloca.8", alloca_lanes<uint64_t>},
    {"stacksave.4", stack_save<uint32_t>},
    {"stacksave.8", stack_save<uint64_t>},
    {"stackrestore.4", stack_restore<uint32_t>},
    {"stackrestore.8", stack_restore<uint64_t>},
};
}  // namespace

Rows control_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
