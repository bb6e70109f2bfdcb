#include "lib/bpf2ptx/verify/flow_state.h"

namespace egpu::bpf {
namespace {

// Calls f(a's cell, b's cell) for each pair of both.
template <class A, class F>
void zip(A &a, const FlowState &b, F f) {
  for (size_t n = 0; n < kRegCount; ++n) f(a.regs[n], b.regs[n]);
  for (size_t i = 0; i < a.frames.size(); ++i)
    for (size_t w = 0; w < a.frames[i].size(); ++w) f(a.frames[i][w], b.frames[i][w]);
}

struct Words {
  size_t begin, end;
};

// The words that hold a byte of the place.
Words words_of(const Pointer &place, int bytes) {
  int64_t begin = std::clamp<int64_t>(place.min_offset + kStackBytes, 0, kStackBytes),
          end = std::clamp<int64_t>(place.max_offset + bytes + kStackBytes, begin, kStackBytes);
  return {static_cast<size_t>(begin / FlowState::kWordBytes),
          static_cast<size_t>((end + FlowState::kWordBytes - 1) / FlowState::kWordBytes)};
}

}  // namespace

void FlowState::meet(const FlowState &other, int block, Uniform label) {
  const int meeting = Cell::kEntry - 1 - block;
  zip(*this, other, [&](Cell &mine, const Cell &theirs) {
    mine.label = egpu::bpf::join(mine.label, theirs.label);
    mine.lookup = mine.lookup && theirs.lookup;
    if (mine.made == theirs.made) return;
    mine.made = meeting;
    mine.label = egpu::bpf::join(mine.label, label);
  });
}

bool FlowState::update(const FlowState &now) {
  bool changed = false;
  zip(*this, now, [&](Cell &mine, const Cell &theirs) {
    Cell next = theirs;
    next.label = egpu::bpf::join(mine.label, theirs.label);
    changed |= !(next == mine);
    mine = next;
  });
  return changed;
}

bool FlowState::join(const FlowState &other) {
  bool changed = false;
  zip(*this, other, [&](Cell &mine, const Cell &theirs) {
    Cell next{egpu::bpf::join(mine.label, theirs.label), Cell::kEntry, mine.lookup && theirs.lookup};
    changed |= !(next == mine);
    mine = next;
  });
  return changed;
}

FlowState FlowState::enter() const {
  FlowState inside(frames.size() + 1);
  for (size_t i = 0; i < frames.size(); ++i)
    for (size_t w = 0; w < frames[i].size(); ++w)
      inside.frames[i][w] = {frames[i][w].label, Cell::kEntry, frames[i][w].lookup};
  return inside;
}

bool FlowState::take_frames(const FlowState &callee, int insn, Uniform label, bool maybe) {
  bool changed = false;
  for (size_t i = 0; i < frames.size(); ++i)
    for (size_t w = 0; w < frames[i].size(); ++w) {
      const Cell &theirs = callee.frames[i][w];
      Cell &mine = frames[i][w];
      if (theirs.made == Cell::kEntry) continue;
      Cell next{egpu::bpf::join(theirs.label, label), insn, theirs.lookup};
      if (maybe) next.label = egpu::bpf::join(next.label, mine.label), next.lookup &= mine.lookup;
      changed |= !(next == mine);
      mine = next;
    }
  return changed;
}

FlowState::Cell FlowState::load(const Pointer &place, int bytes) const {
  const auto &frame = frames[static_cast<size_t>(place.frame)];
  auto [begin, end] = words_of(place, bytes);
  Cell loaded;
  loaded.lookup = place.offset && bytes == 8;
  for (size_t w = begin; w < end; ++w) {
    loaded.label = egpu::bpf::join(loaded.label, frame[w].label);
    loaded.lookup = loaded.lookup && frame[w].lookup;
  }
  return loaded;
}

void FlowState::store(const Pointer &place, int bytes, Cell value, bool surely) {
  auto &frame = frames[static_cast<size_t>(place.frame)];
  auto [begin, end] = words_of(place, bytes);
  value.lookup = value.lookup && bytes == 8;
  bool whole = place.offset && *place.offset % kWordBytes == 0 && bytes % kWordBytes == 0;
  for (size_t w = begin; w < end; ++w) {
    if (surely && whole) {
      frame[w] = value;
    } else {
      frame[w].label = egpu::bpf::join(frame[w].label, value.label);
      frame[w].made = value.made;
      frame[w].lookup = false;
    }
  }
}

}  // namespace egpu::bpf
