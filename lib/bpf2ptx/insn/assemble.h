// Assembly text to typed instructions, for tests: the notation of to_string(), with labels.
//
//       r1 = *(u32 *)(r1 +60)        // a comment
//       if w1 == 0 goto out
//       r2 = map[counts] ; r3 = map[globals][0]+8
//       call gpu_clock               // or a number, or a label: a local call
//   out:
//       r0 = 0
//       exit
#pragma once
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/bpf2ptx/insn/insn.h"

namespace egpu::bpf {

struct Assembly {
  std::vector<Insn> insns;
  std::vector<int> subprogram_starts;  // 0 and the targets of local calls and `func`, ascending
  std::vector<std::string> subprogram_names;
};

/// Targets are labels or indices of instructions. Maps are indices or names from `map_names`.
/// Error: "line 3: what is wrong with it".
Result<Assembly> assemble(const std::string &text, const std::vector<std::string> &map_names = {});

}  // namespace egpu::bpf
