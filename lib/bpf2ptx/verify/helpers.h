// The helper functions a program can call: one row each, with the types of arguments and result.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "lib/bpf2ptx/verify/uniform.h"

namespace egpu::bpf {

enum class Arg : uint8_t {
  none,
  scalar,        // any number
  ctx,           // the program's context, unchanged
  map,           // a map
  key,           // readable memory of the key size of the map in r1
  value,         // readable memory of the value size of the map in r1
  update_flags,  // BPF_ANY, BPF_NOEXIST or BPF_EXIST
  format_text,   // a string in .rodata; its arguments in r3 to r5
  format_size,   // its size with the final NUL, a constant
  format_argument,
  callback,          // a function
  callback_context,  // a pointer to the stack, or a number
  loop_count,
  zero,  // the constant 0
};

enum class Ret : uint8_t { scalar, map_value_or_null, cookie, loop };

struct Helper {
  int32_t id;
  std::array<Arg, 5> args;
  Ret ret;
  uint64_t ret_max;  // largest result of a scalar
  bool entry_exit_only;
  bool outside;           // result changes by itself: the clock, a random number
  Uniform uniform;        // of the result, if the arguments do not vary
  bool together = false;  // asks all lanes of the warp at once: see convergence.h
};

/// The row of a helper; null: no such helper on a GPU.
const Helper *find_helper(int32_t id);

/// Why a program cannot call it.
std::string explain_no_helper(int32_t id);

int argument_count(const Helper &helper);

}  // namespace egpu::bpf
