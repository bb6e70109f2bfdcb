// What a patched kernel must remember between its sites, and where: in registers, in static
// shared memory of its own, or in the launch slot.
//
//   cookies   eight bytes per thread, warp, block or launch, and object. A register if only
//             the entry function's sites need it and always in the same thread; shared memory
//             else; the launch slot for a grid whose exit reads it.
//   counts    threads that have left, one per warp and one per block (exit programs)
//   saved     parameters that a site in a .func needs, which cannot read them itself
//   shards    the address of this SM's copy of a map, for sites of instructions: a register, set at
//             entry (a thread that moves to another SM may keep its copy; readers add them all)
//
// The shared area is one module-level variable per kernel. Where the kernel uses dynamic shared
// memory, which follows the static one, the area is a multiple of 1,024 bytes, so that the
// dynamic part keeps whatever alignment it had (Triton and TMA code rely on more than declared).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/loader/ptx/analyze.h"
#include "lib/loader/ptx/body.h"

namespace egpu::ptx {

enum class CookiePlace : uint8_t { reg, shared, slot };

struct Cookie {
  CookiePlace place = CookiePlace::reg;
  uint32_t offset = 0;  // in the shared area
};

constexpr uint32_t kNowhere = UINT32_MAX;

struct State {
  std::string area;  // name of the shared variable
  uint32_t bytes = 0, alignment = 8;
  uint32_t warps = 32, threads = 1024;              // at most, of a block
  std::map<std::pair<Scope, int>, Cookie> cookies;  // by scope and object
  uint32_t warp_counts = kNowhere, block_count = kNowhere;
  uint32_t saved_launch_ns = kNowhere, saved_slot = kNowhere;
  std::map<uint32_t, uint32_t> saved_arguments;  // parameter -> offset
  std::set<std::pair<int, std::string>> shards;  // object and symbol
  std::set<int> called;                          // probes whose body is a function
  bool grid_exit = false, slot_cookie = false;
  bool initialised_by_one = false;  // thread 0 writes parts of it, then a barrier

  bool has_warp_part() const;
};

/// Sets *problem if the kernel cannot be given what the probes need.
State decide_state(const Analysis &analysis, const KernelUse &kernel, const std::vector<Probe> &probes,
                   const std::vector<Body> &bodies, uint32_t ordinal, std::string *problem);

/// k of "egpu_arg_<k>"; false if the symbol is another.
bool argument_number(const std::string &symbol, uint32_t *k);

}  // namespace egpu::ptx
