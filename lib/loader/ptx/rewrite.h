// One function of the original as it stands in the patched module.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/ptx/analyze.h"

namespace egpu::ptx {

// Replace `erase` bytes at `at` of the module's text by `insert`.
struct Edit {
  uint32_t at = 0, erase = 0;
  std::string insert;
};

/// Bytes [begin, end) of the text with the edits made. Edits at one place keep their order;
/// they may not overlap.
std::string apply(std::string_view text, uint32_t begin, uint32_t end, std::vector<Edit> edits);

/// Raises the alignment of the .shared variables that a statement declares; none for others.
std::vector<Edit> align_shared(const Module &module, Span tokens);

/// What every copied function needs, probes or not: the original's variables by address
/// (a register takes the variable's name; constants are read as global memory), callees under
/// their names in the patched module, no references to the debug sections that are left out.
/// `callee_names`: by function index, if it is not the function's own name.
std::vector<Edit> rewrite(const Analysis &analysis, uint32_t function, const Bindings &bindings,
                          const std::map<uint32_t, std::string> &callee_names);

}  // namespace egpu::ptx
