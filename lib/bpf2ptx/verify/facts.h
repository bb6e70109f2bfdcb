// What the verifier proved about a program, for lower/: one row per instruction.
//
// lower/ never guesses. A memory access or helper argument whose row does not say where it
// points cannot occur in a verified program.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {

// The memory a pointer is known to point into at one instruction, the same on all paths.
enum class Space : uint8_t {
  none,        // not a pointer
  ctx,         // offset: byte offset in the event's ctx struct
  stack,       // offset: from the frame pointer r10 of `frame`, negative
  map_value,   // a value of map `map`; offset: from the value's start
  map,         // the map object itself (helper argument)
  cookie,      // the pointer gpu_cookie() returns
  function,    // callback
};

struct Pointer {
  Space space = Space::none;
  int map = -1;
  int frame = 0;                       // 0: the main program's frame; 1: its callee's; ...
  std::optional<int64_t> offset;       // exact on all paths, else empty (variable)
  uint32_t align = 1;                  // proved alignment of the address, bytes
};

struct Argument {
  Pointer pointer;                     // space none: a scalar
  std::optional<uint64_t> value;       // scalar known exactly
};

struct InsnFacts {
  bool reachable = false;
  bool always_taken = false, never_taken = false;  // of a JumpIf
  bool divisor_nonzero = false;                    // of div, mod
  Pointer memory;                                  // of Load, Store, Atomic: the address accessed
  std::array<Argument, 5> args{};                  // of CallHelper: r1 to r5
  bool result_used = true;                         // of Atomic with fetch, CallHelper: r0 or src is read later
};

// A region of one frame's stack that something addresses as a unit: lower/ makes one alloca
// of each. Regions of a frame do not overlap; offsets are from r10, negative.
struct StackRegion {
  int frame;
  int64_t begin, end;
  uint32_t align;
};

struct Facts {
  std::vector<InsnFacts> insns;        // as Program::insns
  std::vector<StackRegion> stack;
  std::vector<std::string> notes;      // "file:line:col: note: text", ready to print
};

// Error: one diagnostic per cause, "file:line:col: error: text" with source line and caret.
struct VerifyOptions {
  uint32_t max_insns = 4096;           // worst-case executed instructions
};
Result<Facts> verify(const Program &program, const Object &object, const VerifyOptions &options = {});

}  // namespace egpu::bpf
