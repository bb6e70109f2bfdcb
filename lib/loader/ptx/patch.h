// Splices probe bodies into the kernels of a PTX module.
//
// In: the module's text, the probes of one session, and what is known at patch time (map
// addresses, kernel ids, addresses of the original's globals). Out: the text of a module
// that holds the matched kernels only, patched, and per kernel what was done or why not.
// Statements that are not understood pass through byte for byte. Needs neither LLVM nor CUDA.
//
// A refused kernel is left out of the text and keeps running as it is. Exit programs run at
// every ret and exit of the kernel, and exit of a .func that it calls; trap is none. `bra`
// means every branch: an unconditional one is taken by all active lanes. The value of a struct
// parameter as egpu_arg_<k> is its first eight bytes. Of a block, a program on an instruction
// runs in thread (0,0,0). At one exit, programs of inner scopes run first; else in probe order.
//
// Two steps, because the original's globals must be looked up in the target in between:
//   plan(text, probes)     which kernels match, their sites, and the globals they need
//   patch(plan, bindings)  the text
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "egpu/event.h"
#include "egpu/result.h"

namespace egpu::ptx {

// How a body stands in a kernel; by_cost: as form.h decides.
enum class BodyForm : uint8_t { by_cost, in_line, called };

struct Probe {
  std::string name;  // for messages
  Event event;
  std::string body;  // include/egpu/bpf2ptx.h, "The body ABI"
  std::set<std::string> symbols;
  bool writes_cookie = false;
  int object = 0;  // programs of one object share the cookie of their scope
  BodyForm form = BodyForm::by_cost;
};

struct Site {
  uint32_t id = 0;    // unique in the session; first_site_id of the plan, ascending
  int probe = 0;      // index into the probes
  std::string where;  // "vecadd.cu:12" from .loc, else "ptx:LINE"
};

struct KernelPlan {
  std::string name;                     // mangled, as in the PTX
  std::vector<Site> sites;              // in text order; empty if no probe matched
  std::string refused;                  // why a matched kernel cannot be patched; empty: it can
  uint32_t parameter_count = 0;         // of the original
  uint32_t parameter_bytes = 0;         // of the original's parameter block
  bool adds_launch_parameters = false;  // patched kernel takes two more u64: launch_ns, launch slot
  uint32_t shared_bytes = 0;            // static shared memory that patching adds
};

struct Plan {
  std::string text;                  // the module
  std::vector<KernelPlan> kernels;   // every .entry of the module, in text order
  std::vector<std::string> globals;  // .global/.const symbols of the original that the
                                     // matched kernels use: look these up in the target
};

struct Bindings {
  std::map<std::string, uint64_t> globals;     // device addresses of Plan::globals; a missing one
                                               // refuses the kernels that use it
  std::map<std::string, uint32_t> kernel_ids;  // by mangled name; kernels that it lacks are left out
                                               // (unless it is empty)
  std::map<std::string, uint64_t> constants;   // egpu_map_<i>, egpu_ktime_offset; for egpu_shard_<i>
                                               // the bytes between two copies egpu_stride_<i> (0: there
                                               // is one) and egpu_last_shard, the number of copies - 1.
                                               // Of object 0; for others "<object>:" stands in front,
                                               // e.g. "1:egpu_map_0"
};

struct Patched {
  std::string text;                 // empty if no kernel could be patched
  std::vector<KernelPlan> kernels;  // as in the plan; `refused` now final
};

// Error: the module cannot be parsed (line and cause), or a probe's body is not one.
Result<Plan> plan(std::string text, const std::vector<Probe> &probes, uint32_t first_site_id);
Result<Patched> patch(const Plan &plan, const std::vector<Probe> &probes, const Bindings &bindings);

// The launch slot whose device address is the second added parameter: 16 bytes, zero at launch,
// zero again when the launch has ended.
struct LaunchSlot {
  uint32_t blocks_done, reserved;
  uint64_t cookie;
};

// Does the event's kernel glob match? `mangled` is a PTX name; it is demangled as needed.
bool kernel_matches(const std::string &glob, const std::string &mangled);
// "ns::vecadd<float, 4>(float const*, int)" and without parameters, for printing.
std::string demangle(const std::string &mangled);
std::string demangle_short(const std::string &mangled);

/// "" if the patcher can place the event, else why not: "event mma.sync is not supported yet".
std::string unsupported(const Event &event);

/// Up to `limit` of the kernels (mangled) whose printed name is nearest to the glob, best first;
/// for the hint of "no kernel matches". Names too far away to be a slip are left out.
std::vector<std::string> near_names(const std::string &glob, const std::vector<std::string> &mangled,
                                    size_t limit = 3);

}  // namespace egpu::ptx
