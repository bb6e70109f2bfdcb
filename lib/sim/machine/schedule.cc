#include <algorithm>
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

uint32_t count_of(uint32_t lanes) { return static_cast<uint32_t>(std::popcount(lanes)); }

void remove_path(Exec &x, Warp &warp, Path *path) {
  if (path->state == Path::ready) --warp.ready_count;
  warp.paths.erase(std::find(warp.paths.begin(), warp.paths.end(), path));
  x.free_paths.push_back(path);
}

Join *new_join(Exec &x) {
  if (x.free_joins.empty()) {
    x.join_pool.push_back(std::make_unique<Join>());
    return x.join_pool.back().get();
  }
  Join *join = x.free_joins.back();
  x.free_joins.pop_back();
  *join = {};
  return join;
}

void add_ready(Exec &x, Warp &warp, uint32_t lanes, uint32_t pc, Frame *frame, Join *join, uint32_t slices) {
  Path *path = new_path(x, warp);
  path->mask = lanes;
  path->pc = pc;
  path->frame = frame;
  path->join = join;
  path->slices = slices;
}

// All its lanes have come or will never come.
void release(Exec &x, Warp &warp, Join *join, uint32_t slices) {
  if (join->arrived) add_ready(x, warp, join->arrived, join->pc, join->frame, join->outer, slices);
  if (join->callee) x.free_frames.push_back(join->callee);
  x.free_joins.push_back(join);
}

// `lanes` no longer come to the joins from `from` up to, not including, `until`.
void leave_joins(Exec &x, Warp &warp, Join *from, const Join *until, uint32_t lanes, uint32_t slices) {
  while (from != until) {
    Join *outer = from->outer;
    from->pending &= ~lanes;
    if (!from->pending) release(x, warp, from, slices);
    from = outer;
  }
}

// Lanes wait at joins for lanes that spin for them: they go ahead.
void release_waiting(Exec &x, Warp &warp, Path *path) {
  for (Join *join = path->join; join; join = join->outer) {
    if (!join->arrived) continue;
    add_ready(x, warp, join->arrived, join->pc, join->frame, join->outer, path->slices);
    join->arrived = 0;
  }
}

// Those of a's and b's joins that are not common are left.
Path *merge_paths(Exec &x, Warp &warp, Path *a, Path *b) {
  if (b == x.path) std::swap(a, b);
  if (a->join != b->join) {
    const Join *common = nullptr;
    for (Join *j = a->join; j && !common; j = j->outer)
      for (Join *k = b->join; k; k = k->outer)
        if (j == k) common = j;
    leave_joins(x, warp, a->join, common, a->mask, a->slices);
    leave_joins(x, warp, b->join, common, b->mask, b->slices);
    a->join = const_cast<Join *>(common);
  }
  a->mask |= b->mask;
  a->slices = std::min(a->slices, b->slices);
  remove_path(x, warp, b);
  return a;
}

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

Path *new_path(Exec &x, Warp &warp) {
  Path *path;
  if (x.free_paths.empty()) {
    x.path_pool.push_back(std::make_unique<Path>());
    path = x.path_pool.back().get();
  } else {
    path = x.free_paths.back();
    x.free_paths.pop_back();
    *path = {};
  }
  warp.paths.push_back(path);
  ++warp.ready_count;
  return path;
}

Frame *new_frame(Exec &x, const Function &function) {
  Frame *frame = nullptr;
  for (size_t i = x.free_frames.size(); i-- > 0 && !frame;)
    if (x.free_frames[i]->capacity >= function.frame_bytes) {
      frame = x.free_frames[i];
      x.free_frames.erase(x.free_frames.begin() + static_cast<ptrdiff_t>(i));
    }
  if (!frame && !x.free_frames.empty()) {
    frame = x.free_frames.back();
    x.free_frames.pop_back();
  }
  if (!frame) {
    x.frame_pool.push_back(std::make_unique<Frame>());
    frame = x.frame_pool.back().get();
  }
  if (frame->capacity < function.frame_bytes) {
    frame->registers = std::make_unique<uint8_t[]>(function.frame_bytes);
    frame->capacity = function.frame_bytes;
  } else if (function.is_entry) {
    std::memset(frame->registers.get(), 0, function.frame_bytes);
  }
  frame->function = &function;
  frame->caller = nullptr;
  frame->depth = 0;
  frame->local_base = 0;
  frame->local_top = function.local_bytes;
  return frame;
}

void enter_frame(Exec &x, Frame *frame) {
  x.frame = frame;
  x.base[0] = frame->registers.get();
  x.base[1] = const_cast<uint8_t *>(frame->function->constants.data());
}

void drop_paths(Exec &x, Warp &warp) {
  for (Path *path : warp.paths) x.free_paths.push_back(path);
  warp.paths.clear();
  warp.ready_count = 0;
}

void set_ready(Warp &warp, Path &path) {
  path.state = Path::ready;
  ++warp.ready_count;
}

void merge_ready(Exec &x, Warp &warp) {
  for (size_t i = 0; i < warp.paths.size(); ++i)
    for (size_t j = i + 1; j < warp.paths.size();) {
      Path *a = warp.paths[i], *b = warp.paths[j];
      bool same =
          a->state == Path::ready && b->state == Path::ready && a->frame == b->frame && a->pc == b->pc;
      if (same)
        merge_paths(x, warp, a, b);
      else
        ++j;
    }
}

void diverge(Exec &x, const Way *ways, size_t count, uint32_t join_pc) {
  Path *path = x.path;
  Join *join = path->join;
  if (join_pc != kNone && !(join && join->pc == join_pc && join->frame == path->frame)) {
    Join *outer = join;
    join = new_join(x);
    join->pc = join_pc;
    join->frame = path->frame;
    join->outer = outer;
    join->pending = path->mask;
  }
  path->mask = ways[0].lanes;
  path->pc = ways[0].pc;
  path->join = join;
  for (size_t i = 1; i < count; ++i)
    add_ready(x, *x.warp, ways[i].lanes, ways[i].pc, path->frame, join, path->slices);
  x.stop = true;
}

Path *split(Exec &x, uint32_t lanes) {
  Path *path = x.path;
  path->pc = x.pc;
  x.stop = true;
  if (lanes == path->mask) return path;
  Way ways[2] = {{path->mask & ~lanes, x.pc}, {lanes, x.pc}};
  diverge(x, ways, 2, x.pc);
  return x.warp->paths.back();
}

// Groups that wait in the same operation with the same members, and are complete now, go on.
static void check_together(Exec &x, Warp &warp) {
  for (bool again = true; again;) {
    again = false;
    for (Path *first : warp.paths) {
      if (first->state != Path::at_together) continue;
      uint32_t all = 0;
      auto belongs = [&](const Path *p) {
        return p->state == Path::at_together && p->members == first->members && p->op->run == first->op->run;
      };
      for (Path *p : warp.paths)
        if (belongs(p)) all |= p->mask;
      if (first->members & warp.live & ~all) continue;
      std::vector<Path *> group;
      for (Path *p : warp.paths)
        if (belongs(p)) group.push_back(p);
      Frame *frame = x.frame;
      for (Path *p : group) {
        enter_frame(x, p->frame);
        p->together->finish(x, *p->op, p->mask, all);
        set_ready(warp, *p);
      }
      if (frame) enter_frame(x, frame);
      merge_ready(x, warp);
      again = true;
      break;
    }
  }
}

void do_together(Exec &x, const Op &op, uint32_t lanes, const Together &what) {
  Warp &warp = *x.warp;
  const uint32_t *members = op.y == kNone ? nullptr : x.at<uint32_t>(op.y);
  uint32_t left = lanes;
  while (left) {
    uint32_t first = static_cast<uint32_t>(std::countr_zero(left));
    uint32_t named = members ? members[first] : lanes, group = 0;
    if (!members || op.y & kConstantBit)
      group = left;
    else
      each_lane(left, [&](uint32_t l) { group |= members[l] == named ? 1u << l : 0; });
    left &= ~group;
    what.publish(x, op, group);
    if (!(named & warp.live & ~group)) {
      what.finish(x, op, group, group);
      continue;
    }
    Path *path = split(x, group);
    path->state = Path::at_together;
    --warp.ready_count;
    path->op = &op;
    path->members = named;
    path->together = &what;
  }
  if (x.stop) check_together(x, warp);
}

void exit_lanes(Exec &x, uint32_t lanes) {
  Warp &warp = *x.warp;
  Path *path = x.path;
  Join *join = path->join;
  path->pc = x.pc;
  path->mask &= ~lanes;
  warp.live &= ~lanes;
  x.block->live_threads -= count_of(lanes);
  uint32_t slices = path->slices;
  Frame *frame = x.frame;
  if (!path->mask) {
    remove_path(x, warp, path);
    x.path = nullptr;
    if (!warp.live)
      x.free_frames.push_back([&] {
        while (frame->caller) frame = frame->caller;
        return frame;
      }());
    x.frame = nullptr;
  }
  leave_joins(x, warp, join, nullptr, lanes, slices);
  if (warp.live) check_together(x, warp);
  check_barriers(x, *x.block);
  x.stop = true;
}

void call_function(Exec &x, const CallSite &site, const Function &target, uint32_t lanes) {
  Frame *caller = x.frame;
  uint32_t first = static_cast<uint32_t>(std::countr_zero(lanes));
  if (caller->depth + 1 >= kMaxDepth || uint64_t{caller->local_top} + target.local_bytes > x.local_stride)
    return raise(x, Fault::illegal_address, first, "call of " + target.name + ": stack overflow");
  auto fits = [](const std::vector<Slot> &a, const std::vector<Slot> &b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i].size_bytes != b[i].size_bytes) return false;
    return true;
  };
  if (!fits(site.arguments, target.parameters) || !fits(site.results, target.results))
    return raise(x, Fault::illegal_instruction, first,
                 "call of " + target.name + ": parameters do not match");
  Path *path = split(x, lanes);
  Frame *callee = new_frame(x, target);
  callee->caller = caller;
  callee->depth = caller->depth + 1;
  callee->local_base = caller->local_top;
  callee->local_top = callee->local_base + target.local_bytes;
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    uint32_t bytes = site.arguments[i].size_bytes, from = site.argument_registers[i],
             to = target.parameter_registers[i];
    each_lane(lanes, [&](uint32_t l) {
      uint8_t *local = x.local + uint64_t{l} * x.local_stride;
      const uint8_t *source = from == kNone ? local + caller->local_base + site.arguments[i].offset
                                            : x.at<uint8_t>(from) + l * bytes;
      uint8_t *target_at = to == kNone ? local + callee->local_base + target.parameters[i].offset
                                       : callee->registers.get() + to + l * bytes;
      std::memcpy(target_at, source, bytes);
    });
  }
  Join *join = new_join(x);
  join->pc = path->pc;
  join->frame = caller;
  join->outer = path->join;
  join->pending = lanes;
  join->callee = callee;
  join->call = &site;
  path->frame = callee;
  path->pc = 0;
  path->join = join;
}

void return_lanes(Exec &x, uint32_t lanes) {
  Frame *callee = x.frame;
  if (!callee->caller) return exit_lanes(x, lanes);
  Path *path = x.path;
  Join *join = path->join, *call = join;
  while (call->callee != callee) call = call->outer;
  const CallSite &site = *call->call;
  const Function &function = *callee->function;
  Frame *caller = call->frame;
  for (size_t i = 0; i < site.results.size(); ++i) {
    uint32_t bytes = site.results[i].size_bytes, from = function.result_registers[i],
             to = site.result_registers[i];
    each_lane(lanes, [&](uint32_t l) {
      uint8_t *local = x.local + uint64_t{l} * x.local_stride;
      const uint8_t *source = from == kNone ? local + callee->local_base + function.results[i].offset
                                            : x.at<uint8_t>(from) + l * bytes;
      uint8_t *target = to == kNone ? local + caller->local_base + site.results[i].offset
                                    : caller->registers.get() + to + l * bytes;
      std::memcpy(target, source, bytes);
    });
  }
  path->pc = x.pc;
  path->mask &= ~lanes;
  uint32_t slices = path->slices;
  if (!path->mask) {
    remove_path(x, *x.warp, path);
    x.path = nullptr;
  }
  leave_joins(x, *x.warp, join, call, lanes, slices);
  call->pending &= ~lanes;
  call->arrived |= lanes;
  if (!call->pending) release(x, *x.warp, call, slices);
  x.stop = true;
}

bool arrive(Exec &x) {
  Path *path = x.path;
  Warp &warp = *x.warp;
  Join *join = path->join;
  if (join && join->pc == x.pc && join->frame == path->frame) {
    join->pending &= ~path->mask;
    join->arrived |= path->mask;
    uint32_t slices = path->slices;
    remove_path(x, warp, path);
    x.path = nullptr;
    if (!join->pending) release(x, warp, join, slices);
    return false;
  }
  bool merged = false;
  if (warp.ready_count > 1) {
    for (size_t i = 0; i < warp.paths.size();) {
      Path *other = warp.paths[i];
      if (other != path && other->state == Path::ready && other->frame == path->frame && other->pc == x.pc &&
          other->join == join) {
        path->mask |= other->mask;
        remove_path(x, warp, other);
        merged = true;
      } else {
        ++i;
      }
    }
  }
  return !merged;
}

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
    x.lane_steps += uint64_t{made} * count_of(lanes);
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
