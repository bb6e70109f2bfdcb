// The control flow of one chain's function: basic blocks, the edges that some path takes, and where
// the two ways of a branch meet again.
//
// The last block is empty: every exit leads to it. Branches that always go one way have one edge.
#pragma once
#include <vector>

#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

// A set of blocks.
using Blocks = std::vector<bool>;

class FlowGraph {
 public:
  struct Block {
    int begin = 0, end = 0;  // instructions
    std::vector<int> next, previous;
    int merge = -1;  // the first block that every path from here passes (immediate post-dominator)
  };

  // What a branch that splits the threads does.
  struct Split {
    Blocks region;  // executed by those of one way only: from the branch to its merge, without it
    Blocks joins;   // reached on both ways: there the threads meet, and may bring different values
    Blocks cycle;   // the loop that the branch can leave; empty: none
    std::vector<Blocks> sides;  // for each way, what is reached on it alone
  };

  FlowGraph(const Program &program, const Chain &chain);

  const std::vector<Block> &blocks() const { return blocks_; }
  int last() const { return static_cast<int>(blocks_.size()) - 1; }
  /// The block of a reachable instruction.
  int block_of(int insn) const { return block_of_[static_cast<size_t>(insn - begin_)]; }
  Split split(int branch) const;

 private:
  void make_blocks(const Program &program, const Chain &chain);
  void find_merges();
  /// Blocks reached from `start`, which it is one of; `stop` is reached but not passed.
  Blocks reach(int start, int stop) const;

  int begin_;
  std::vector<Block> blocks_;
  std::vector<int> block_of_;
};

}  // namespace egpu::bpf
