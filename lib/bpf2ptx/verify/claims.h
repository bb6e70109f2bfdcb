// What the verifier claims of every register before every instruction: for tests that run
// accepted programs and compare.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/range.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {

struct Claims {
  // A number in the range; nothing: no claim (a pointer, uninitialised, or dead).
  struct Register {
    bool seen = false;
    std::optional<Range> range;
  };
  std::vector<std::array<Register, kRegCount>> before;  // by instruction
};

/// As verify(), and fills *claims.
Result<Facts> verify_with_claims(const Program &program, const Object &object, const VerifyOptions &options,
                                 Claims *claims);

}  // namespace egpu::bpf
