// Which path of a warp runs, and for how long.
#include <algorithm>
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

Path *pick(Warp &warp) {
  Path *best = nullptr;
  for (Path *p : warp.paths) {
    if (p->state != Path::ready) continue;
    if (!best || p->slices < best->slices ||
        (p->slices == best->slices && (p->frame->depth > best->frame->depth ||
                                       (p->frame->depth == best->frame->depth && p->pc < best->pc))))
      best = p;
  }
  return best;
}

void trace_step(Exec &x, const Op &op, uint32_t pc, uint32_t mask) {
  if (op.flags & kHidden) return;
  const OpSite &site = x.frame->function->sites[pc];
  TraceStep step{x.grid->function->name.c_str(),
                 x.frame->function->name.c_str(),
                 pc,
                 site.line,
                 x.warp->index,
                 mask,
                 {x.block->ctaid[0], x.block->ctaid[1], x.block->ctaid[2]},
                 x.trace_has_addresses ? x.trace_addresses : nullptr,
                 site.text.data(),
                 static_cast<uint32_t>(site.text.size())};
  x.grid->trace->step(step);
}

// The inner loop. Returns the steps made.
template <bool kTraced>
uint32_t run_path(Exec &x, uint32_t budget) {
  const Op *code = x.frame->function->ops.data();
  const uint32_t lanes = x.path->mask;
  uint32_t left = budget;
  while (left) {
    const Op &op = code[x.pc];
    if ((op.flags & kLeader) && x.watch && !arrive(x)) break;
    --left;
    uint32_t mask = lanes;
    if (op.guard != kNone) {
      uint32_t guard = x.predicate(op.guard);
      mask &= op.flags & kGuardNegated ? ~guard : guard;
    }
    ++x.pc;
    if (mask) {
      if (kTraced) {
        x.trace_has_addresses = false;
        uint32_t pc = x.pc - 1;
        Frame *frame = x.frame;
        op.run(x, op, mask);
        std::swap(frame, x.frame);
        trace_step(x, op, pc, mask);
        std::swap(frame, x.frame);
      } else {
        op.run(x, op, mask);
      }
      if (x.stop) break;
    }
  }
  return budget - left;
}
}  // namespace

void run_warp(Exec &x, Warp &warp, uint32_t steps) {
  x.warp = &warp;
  x.local = x.block->local ? x.block->local + uint64_t{warp.index} * 32 * x.local_stride : nullptr;
  while (steps && warp.ready_count && !x.grid->stopped.load(std::memory_order_relaxed)) {
    Path *path = pick(warp);
    x.path = path;
    enter_frame(x, path->frame);
    x.pc = path->pc;
    x.stop = false;
    x.watch = path->join != nullptr || warp.ready_count > 1;
    x.spins = 0;
    uint32_t lanes = path->mask;
    uint32_t made = x.traced ? run_path<true>(x, std::min(steps, kSlice - path->steps))
                             : run_path<false>(x, std::min(steps, kSlice - path->steps));
    x.warp_steps += made;
    x.lane_steps += uint64_t{made} * static_cast<uint64_t>(std::popcount(lanes));
    x.block->clock += uint64_t{made} * 4;
    steps -= made;
    if (x.path) {
      if (!x.stop) path->pc = x.pc;
      path->steps += made;
      path->spins += x.spins;
      if (path->steps >= kSlice) {
        ++path->slices;
        // Enough spinning, or about a million steps: whoever waits for this path goes ahead.
        if (path->spins >= 64 || path->slices % 512 == 0) release_waiting(x, warp, path);
        path->steps = path->spins = 0;
      }
    }
    if (x.yield) {
      x.yield = false;
      break;
    }
  }
  x.path = nullptr;
  x.frame = nullptr;
}

}  // namespace egpu::sim
