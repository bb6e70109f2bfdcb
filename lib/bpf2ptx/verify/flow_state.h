// What uniformity knows between two instructions: a label for each register and each 4 bytes of
// stack, and where their contents were made.
#pragma once
#include <array>
#include <vector>

#include "lib/bpf2ptx/verify/flow_graph.h"
#include "lib/bpf2ptx/verify/stack.h"
#include "lib/bpf2ptx/verify/state.h"
#include "lib/bpf2ptx/verify/uniform.h"

namespace egpu::bpf {

struct FlowState {
  struct Cell {
    Uniform label = Uniform::grid;
    // The instruction that made the contents; kEntry: they were there when the function began; below
    // that: different contents meet at a block.
    int made = kEntry;
    bool lookup = false;  // what a map lookup gave, perhaps NULL

    static constexpr int kEntry = -1;
    /// The block in which it was made; -1: none.
    int block(const FlowGraph &graph) const {
      return made == kEntry ? -1 : made < kEntry ? kEntry - 1 - made : graph.block_of(made);
    }
    bool operator==(const Cell &) const = default;
  };

  static constexpr int kWordBytes = 4;
  std::array<Cell, kRegCount> regs{};
  std::vector<std::array<Cell, kStackBytes / kWordBytes>> frames;  // [0]: the main program's

  explicit FlowState(size_t frame_count) : frames(frame_count) {}

  template <class F>
  void for_each(F f) {
    for (Cell &cell : regs) f(cell);
    for (auto &frame : frames)
      for (Cell &cell : frame) f(cell);
  }

  /// Another path arrives at `block`; contents that differ get at least `label`.
  void meet(const FlowState &other, int block, Uniform label);
  /// Takes over `now`, but labels only rise. Has anything changed?
  bool update(const FlowState &now);
  /// As update(), for what a function starts with, joined over its calls.
  bool join(const FlowState &other);

  /// The state in which a called function starts, without its arguments.
  FlowState enter() const;
  /// The function that was called at `insn` has ended: what it wrote to our frames, with at least
  /// `label`. `maybe`: it may not have run. Has anything changed?
  bool take_frames(const FlowState &callee, int insn, Uniform label, bool maybe);

  /// `bytes` bytes of stack at any of the offsets.
  Cell load(const Pointer &place, int bytes) const;
  /// `surely`: the place cannot be another one.
  void store(const Pointer &place, int bytes, Cell value, bool surely);
};

}  // namespace egpu::bpf
