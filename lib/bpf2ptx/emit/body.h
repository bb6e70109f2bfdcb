// From the text of a PTX function to a body that can be spliced into "{ }".
#pragma once
#include <set>
#include <string>

#include "egpu/result.h"

namespace egpu::bpf {

struct Body {
  std::string text;
  std::set<std::string> symbols;  // free symbols read or written
  bool writes_cookie = false;
  size_t stack_bytes = 0;  // of .local memory
};

/// `ptx` is a module with the one function `prog`. `ret` becomes a branch to the body's end,
/// an atomic whose result nobody reads a `red`. Error: anything else at module level.
Result<Body> make_body(const std::string &ptx);

}  // namespace egpu::bpf
