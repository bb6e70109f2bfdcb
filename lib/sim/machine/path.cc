// Paths of a warp: how they part, meet and merge.
#include <algorithm>
#include <bit>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {
namespace {

void add_ready(Exec &x, Warp &warp, uint32_t lanes, uint32_t pc, Frame *frame, Join *join, uint32_t slices) {
  Path *path = new_path(x, warp);
  path->mask = lanes;
  path->pc = pc;
  path->frame = frame;
  path->join = join;
  path->slices = slices;
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

void release(Exec &x, Warp &warp, Join *join, uint32_t slices) {
  if (join->arrived) add_ready(x, warp, join->arrived, join->pc, join->frame, join->outer, slices);
  if (join->callee) x.free_frames.push_back(join->callee);
  x.free_joins.push_back(join);
}

void leave_joins(Exec &x, Warp &warp, Join *from, const Join *until, uint32_t lanes, uint32_t slices) {
  while (from != until) {
    Join *outer = from->outer;
    from->pending &= ~lanes;
    if (!from->pending) release(x, warp, from, slices);
    from = outer;
  }
}

void release_waiting(Exec &x, Warp &warp, Path *path) {
  for (Join *join = path->join; join; join = join->outer) {
    if (!join->arrived) continue;
    add_ready(x, warp, join->arrived, join->pc, join->frame, join->outer, path->slices);
    join->arrived = 0;
  }
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

}  // namespace egpu::sim
