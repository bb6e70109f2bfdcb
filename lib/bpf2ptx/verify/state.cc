#include "lib/bpf2ptx/verify/state.h"

#include <unordered_map>

namespace egpu::bpf {
namespace {

// Equalities that `seen` relies on must hold in `now`: one id there has one partner here.
class IdMap {
 public:
  bool same(uint32_t seen, uint32_t now) {
    if (seen == 0) return true;
    if (now == 0) return false;
    for (const auto &[s, n] : pairs_)
      if (s == seen) return n == now;
    pairs_.push_back({seen, now});
    return true;
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
};

bool covers_value(const Value &seen, const Value &now, IdMap &ids) {
  // Nothing was known of the register, so nothing relied on it.
  if (seen.kind == Kind::uninit) return true;
  if (seen.kind != now.kind) return false;
  if (seen.kind == Kind::scalar)
    return seen.range.covers(now.range) && (seen.id == 0 || seen.delta == now.delta) &&
           ids.same(seen.id, now.id);
  if (seen.frame != now.frame || seen.map != now.map || seen.function != now.function) return false;
  if (seen.offset != now.offset || !seen.range.covers(now.range)) return false;
  return ids.same(seen.id, now.id);
}

// A number that decides nothing may be any number; it may not be a pointer.
bool covers_number(const Value &seen, const Value &now, bool matters, IdMap &ids) {
  if (!matters && seen.is_scalar()) return now.is_scalar();
  return covers_value(seen, now, ids);
}

bool covers_stack(const Stack &seen, const Stack &now, const Live::Frame &frame, IdMap &ids) {
  const Stack::Bytes &live = frame.stack;
  for (int offset = -1; offset >= -seen.depth(); --offset)
    if (live[static_cast<size_t>(-offset - 1)] && seen.initialized(offset) && !now.initialized(offset))
      return false;
  for (const Stack::Spill &spill : seen.spills()) {
    if (!any_of_bytes(live, spill.begin, spill.size)) continue;
    auto loaded = now.load(spill.begin, spill.size);
    bool matters = any_of_bytes(frame.stack_matters, spill.begin, spill.size);
    if (!loaded || !covers_number(spill.value, *loaded, matters, ids)) return false;
  }
  // Bytes that were data may now be part of a pointer, which cannot be read as data.
  for (const Stack::Spill &spill : now.spills()) {
    if (!spill.value.is_pointer() || !any_of_bytes(live, spill.begin, spill.size)) continue;
    bool matched = false;
    for (const Stack::Spill &old : seen.spills())
      matched |= old.begin == spill.begin && old.size == spill.size;
    if (matched) continue;
    for (int offset = spill.begin; offset < spill.begin + spill.size; ++offset)
      if (offset >= -seen.depth() && seen.initialized(offset)) return false;
  }
  return true;
}

}  // namespace

bool covers(const State &seen, const State &now, const Live &live) {
  if (seen.frames.size() != now.frames.size()) return false;
  IdMap ids;
  for (size_t f = 0; f < seen.frames.size(); ++f) {
    const Frame &a = seen.frames[f], &b = now.frames[f];
    const Live::Frame &l = live.frames[f];
    if (a.chain != b.chain || a.callback != b.callback) return false;
    if (a.callback && (a.iteration != b.iteration || !covers_value(a.loops, b.loops, ids) ||
                       !covers_value(a.context, b.context, ids)))
      return false;
    for (size_t n = 0; n < kRegCount; ++n)
      if ((l.regs >> n) & 1 && !covers_number(a.regs[n], b.regs[n], (l.matters >> n) & 1, ids)) return false;
    if (!covers_stack(a.stack, b.stack, l, ids)) return false;
  }
  return true;
}

void drop_lonely_ids(State &state) {
  std::unordered_map<uint32_t, int> uses;
  state.for_each_value([&](Value &v) {
    if (v.is_scalar() && v.id) ++uses[v.id];
  });
  if (uses.empty()) return;
  state.for_each_value([&](Value &v) {
    if (v.is_scalar() && v.id && uses[v.id] == 1) v.unlink();
  });
}

}  // namespace egpu::bpf
