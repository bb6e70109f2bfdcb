// Frames: calls, returns and the end of lanes.
#include <algorithm>
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
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

void exit_lanes(Exec &x, uint32_t lanes) {
  Warp &warp = *x.warp;
  Path *path = x.path;
  Join *join = path->join;
  path->pc = x.pc;
  path->mask &= ~lanes;
  warp.live &= ~lanes;
  x.block->live_threads -= static_cast<uint32_t>(std::popcount(lanes));
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
  leave_cluster(x, lanes);
  check_barriers(x, *x.block);
  x.stop = true;
}

// Where a value of a call lies, for every lane: a register, or local memory at an offset.
struct Side {
  uint8_t *registers;  // null: local memory
  uint32_t local;
};

static void copy_value(Exec &x, uint32_t lanes, uint32_t bytes, Side from, Side to) {
  each_lane(lanes, [&](uint32_t l) {
    uint8_t *local = x.local + uint64_t{l} * x.local_stride;
    const uint8_t *source = from.registers ? from.registers + l * bytes : local + from.local;
    std::memcpy(to.registers ? to.registers + l * bytes : local + to.local, source, bytes);
  });
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
    uint32_t from = site.argument_registers[i], to = target.parameter_registers[i];
    copy_value(x, lanes, site.arguments[i].size_bytes,
               {from == kNone ? nullptr : x.at<uint8_t>(from), caller->local_base + site.arguments[i].offset},
               {to == kNone ? nullptr : callee->registers.get() + to,
                callee->local_base + target.parameters[i].offset});
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
    uint32_t from = function.result_registers[i], to = site.result_registers[i];
    copy_value(
        x, lanes, site.results[i].size_bytes,
        {from == kNone ? nullptr : x.at<uint8_t>(from), callee->local_base + function.results[i].offset},
        {to == kNone ? nullptr : caller->registers.get() + to, caller->local_base + site.results[i].offset});
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

}  // namespace egpu::sim
