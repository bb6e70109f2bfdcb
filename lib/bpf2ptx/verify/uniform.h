// How far a value is the same, among the threads that execute an instruction together.
//
// In increasing order of variation: joining two labels is taking the larger one. `warp` stands for
// what one instruction of a warp reads from one place (a clock, a map value that others write): the
// hardware reads once for all lanes that execute it together. PTX does not promise that, so labels
// serve messages and never translation.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "egpu/event.h"

namespace egpu::bpf {

enum class Uniform : uint8_t {
  grid,   // the same in the whole launch
  block,  // the same in a block
  warp,   // the same in a warp
  lane,   // each lane has its own
};

inline Uniform join(Uniform a, Uniform b) { return std::max(a, b); }

/// The most that anything can vary in a program of this scope: one lane alone runs it per warp,
/// block or launch, so its values cannot differ among the lanes of a warp.
inline Uniform most_varying(Scope scope) {
  switch (scope) {
    case Scope::grid:
      return Uniform::grid;
    case Scope::block:
      return Uniform::block;
    case Scope::warp:
      return Uniform::warp;
    case Scope::thread:
      break;
  }
  return Uniform::lane;
}

// The labels of a program's registers.
struct Uniformity {
  // Before one instruction.
  struct Row {
    std::array<Uniform, 11> regs{};
    uint16_t lookups = 0;             // bit n: rn holds what a map lookup gave, perhaps NULL
    Uniform control = Uniform::grid;  // of the branches that decide whether it is executed
  };
  std::vector<std::vector<Row>> rows;  // by chain, as Chain::insns
  bool complete = true;                // false: the program is too large to analyse; rows is empty
};

}  // namespace egpu::bpf
