// Where lanes that part at a branch meet again: immediate post-dominators.
//
// Paths that end in a bare `ret` or `exit` do not count: hardware drops exited threads from a
// join, so `if (a) { if (b) return; } j: ...` joins at j and not at the function's end.
// Algorithm: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", on the reverse graph.
#pragma once
#include <cstdint>
#include <vector>

namespace egpu::sim {

// How control leaves one operation.
struct Flow {
  enum Kind : uint8_t { next, branch, leave } kind = next;
  bool conditional = false;       // also goes on to the next operation
  std::vector<uint32_t> targets;  // operation indices
};

/// For each operation that is a branch: the operation where its lanes meet, or kNone for the
/// function's end. Others: kNone.
std::vector<uint32_t> join_points(const std::vector<Flow> &flow);

}  // namespace egpu::sim
