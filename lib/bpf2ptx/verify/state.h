// The machine's state on one path: the frames of the calls that are open, innermost last.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "lib/bpf2ptx/verify/stack.h"

namespace egpu::bpf {

constexpr int kRegCount = 11, kFramePointer = 10;
constexpr size_t kMaxFrames = 8;  // as in Linux (MAX_CALL_FRAMES)

struct Frame {
  std::array<Value, kRegCount> regs{};
  Stack stack;
  int call = -1;       // the instruction that called; -1: the main program
  int subprogram = 0;  // index into Structure::starts
  int chain = 0;       // index into Facts::chains
  // A callback of bpf_loop: the iteration it is in, and how many there can be.
  bool callback = false;
  uint64_t iteration = 0;
  Value loops{}, context{};
};

struct State {
  std::vector<Frame> frames;

  Frame &top() { return frames.back(); }
  const Frame &top() const { return frames.back(); }
  Value &reg(int n) { return top().regs[static_cast<size_t>(n)]; }
  const Value &reg(int n) const { return top().regs[static_cast<size_t>(n)]; }

  /// Calls f(Value &) for each register and spill of each frame.
  template <class F>
  void for_each_value(F f) {
    for (Frame &frame : frames) {
      for (Value &value : frame.regs) f(value);
      for (Stack::Spill &spill : frame.stack.spills()) f(spill.value);
    }
  }
};

/// The registers that matter when execution goes on at one place: bit n for register n.
using RegMask = uint16_t;

/// What of a state can still make a difference, for each frame.
struct Live {
  struct Frame {
    RegMask regs = 0;     // can be read
    RegMask matters = 0;  // of those, the ones whose number can decide what is checked
    Stack::Bytes stack;   // can be read
    Stack::Bytes stack_matters;
  };
  std::vector<Frame> frames;
};

/// Is everything that can happen from `now` on among what can happen from `seen` on? Both at
/// the same instruction. What is not live does not count.
bool covers(const State &seen, const State &now, const Live &live);

/// Ids that only one value has say nothing; drops them, so that more states are alike.
void drop_lonely_ids(State &state);

}  // namespace egpu::bpf
