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
  device,      // a device address as it is: unverified programs only (lower/unverified.h)
};

struct Pointer {
  Space space = Space::none;
  int map = -1;                        // of map_value and map
  int function = -1;                   // of function: its first instruction
  int frame = 0;                       // 0: the main program's frame; 1: its callee's; ...
  std::optional<int64_t> offset;       // exact on all paths, else empty (variable)
  int64_t min_offset = 0, max_offset = 0;  // smallest and largest offset on any path
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
  std::optional<uint64_t> constant;                // of Load: what it loads, if known (.rodata, ctx never)
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
  Cost cost;
  int stack_map = -1;                  // unverified programs: the frames lie in value 0 of this map
};

// Why a program is refused: one cause.
struct Refusal {
  SourceLine where;                    // line 0: not known
  int insn = -1;
  std::string message;                 // "file:line:col: error: text", source, caret, path
};

struct VerifyOptions {
  uint32_t max_insns = 4096;           // worst-case executed instructions
  uint32_t time_limit_ms = 1000;       // of verification; 0: none
  uint64_t memory_limit_bytes = 256 << 20;
  bool explain = false;                // refusals with the whole path and the registers
};

/// Error: one diagnostic per cause, "file:line:col: error: text" with source line and caret, by
/// source position; *refusals gets them one by one.
Result<Facts> verify(const Program &program, const Object &object, const VerifyOptions &options = {},
                     std::vector<Refusal> *refusals = nullptr);

}  // namespace egpu::bpf
