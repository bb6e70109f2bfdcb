// What the verifier proved about a program, for lower/: one row per instruction of each function,
// for each chain of calls that arrives at the function.
//
// lower/ never guesses. A memory access or helper argument whose row does not say where it
// points cannot occur in a verified program.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/uniform.h"

namespace egpu::bpf {

// The memory a pointer is known to point into.
enum class Space : uint8_t {
  none,       // not a pointer
  ctx,        // offset: byte offset in the event's ctx struct
  stack,      // offset: from the frame pointer r10 of `frame`, negative
  map_value,  // a value of map `map`; offset: from the value's start
  map,        // the map object itself (helper argument)
  cookie,     // the pointer gpu_cookie() returns
  function,   // callback
  device,     // a device address as it is: unverified programs only (lower/unverified.h)
};

struct Pointer {
  Space space = Space::none;
  int map = -1;                            // of map_value and map
  int function = -1;                       // of function: its first instruction
  int frame = 0;                           // 0: the main program's frame; 1: its callee's; ...
  std::optional<int64_t> offset;           // exact on all paths, else empty (variable)
  int64_t min_offset = 0, max_offset = 0;  // smallest and largest offset on any path
  uint32_t align = 1;                      // proved alignment of the address, bytes

  bool same_object(const Pointer &other) const {
    return space == other.space && map == other.map && function == other.function && frame == other.frame;
  }
};

struct Argument {
  std::vector<Pointer> pointers;  // the objects it can point into; empty: a number
  std::optional<uint64_t> value;  // number known exactly
  bool selects = false;           // a map, format or callback: what the call does depends on it
};

// A helper call with one set of selecting arguments: where paths disagree on those, an
// instruction has several of these, told apart by the arguments' values.
struct HelperCall {
  std::array<Argument, 5> args{};  // r1 to r5
};

struct InsnFacts {
  bool reachable = false;
  bool always_taken = false, never_taken = false;  // of a JumpIf
  bool divisor_nonzero = false;                    // of div, mod
  std::optional<uint64_t> constant;                // of Load: what it loads, if known (.rodata, ctx never)
  // Of Load, Store, Atomic: the objects that the address can lie in, one row each. Several: values of
  // different maps and stacks of different frames, in any mixture; ctx and cookie stand alone.
  std::vector<Pointer> memory;
  std::vector<HelperCall> calls;  // of CallHelper
  bool result_used = true;        // of Atomic with fetch, CallHelper: r0 or src is read later
};

// A region of one frame's stack that something addresses as a unit: lower/ makes one alloca
// of each. Regions of a frame do not overlap; offsets are from r10, negative.
struct StackRegion {
  int64_t begin, end;
  uint32_t align;
};

// A function, called in one way: its instructions, and the calls that are open around it.
struct Chain {
  int parent = -1, call = -1;      // the caller's chain and instruction; -1: the main program
  int depth = 0;                   // the number of open calls, and of the frame
  int begin = 0, end = 0;          // the function's instructions
  std::vector<InsnFacts> insns;    // of [begin, end)
  std::vector<StackRegion> stack;  // of its frame; its callees may use it too

  const InsnFacts &at(int insn) const { return insns[static_cast<size_t>(insn - begin)]; }
};

struct Facts {
  std::vector<Chain> chains;                         // [0]: the main program
  std::map<std::tuple<int, int, int>, int> callees;  // parent, call, first instruction: chain
  std::vector<std::string> notes;                    // "file:line:col: note: text", ready to print
  Cost cost;
  Uniformity uniformity;
  int stack_map = -1;  // unverified programs: the frames lie in value 0 of this map

  const Uniformity::Row &uniform(size_t chain, int insn) const {
    return uniformity.rows[chain][static_cast<size_t>(insn - chains[chain].begin)];
  }
  /// The chain of a call, -1 if no path makes it.
  int callee(int parent, int call, int function) const {
    auto found = callees.find({parent, call, function});
    return found == callees.end() ? -1 : found->second;
  }
};

// The instructions of a program once its functions are put in place of their calls.
constexpr int kMaxPlaced = 65536;

// Why a program is refused: one cause.
struct Refusal {
  SourceLine where;  // line 0: not known
  int insn = -1;
  std::string message;  // "file:line:col: error: text", source, caret, path
};

struct VerifyOptions {
  uint32_t max_insns = 4096;      // worst-case executed instructions
  uint32_t time_limit_ms = 1000;  // processor time of verification; 0: none
  uint64_t memory_limit_bytes = 256 << 20;
  bool explain = false;  // refusals with the whole path and the registers
};

/// Error: one diagnostic per cause, "file:line:col: error: text" with source line and caret, by
/// source position; *refusals gets them one by one.
Result<Facts> verify(const Program &program, const Object &object, const VerifyOptions &options = {},
                     std::vector<Refusal> *refusals = nullptr);

}  // namespace egpu::bpf
