// Lanes that wait for each other inside one warp; see Together.
#include <algorithm>
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
// Groups that wait in the same operation with the same members, and are complete now, go on.
void check_together(Exec &x, Warp &warp) {
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

}  // namespace egpu::sim
