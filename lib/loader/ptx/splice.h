// The text that goes before a statement: election, free symbols, bodies.
//
// Everything is in a scope of its own. A point looks like
//
//   @!%p1 bra egpu_past_7;          the statement's own predicate, if it has one
//   {                               registers that the point's sites share, counts of leavers
//     {                             one site: election, free symbols of the body ABI
//       { body }
//     egpu_end_7: }
//   }
//   egpu_past_7: @%p1 exit;
//
// How the scopes elect. Entry: lane 0 of each warp, thread (0,0,0) of each block, that thread of
// block (0,0,0); these are exact whatever ran before. Exit: threads that leave are counted, the
// lowest of the lanes that leave together adds their number, and the thread that completes the
// warp, block or grid runs the body; so early exits and partial warps need no special case.
// Other events: the lowest active lane; for a block its thread (0,0,0), when it comes by.
// Memory order: what a body stored before its thread left is fenced before the count
// (PTX ISA 9.0, 8.10: fence, relaxed atomic, fence make a release pattern and an acquire pattern).
#pragma once
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/ptx/analyze.h"
#include "lib/loader/ptx/body.h"
#include "lib/loader/ptx/state.h"

namespace egpu::ptx {

// Names of the parameters that are added to a kernel.
constexpr const char *kLaunchNsParameter = "egpu_param_launch_ns";
constexpr const char *kLaunchSlotParameter = "egpu_param_launch_slot";

class Splicer {
 public:
  Splicer(const Analysis &analysis, const KernelUse &kernel, const State &state,
          const std::vector<Probe> &probes, const std::vector<Body> &bodies, const Bindings &bindings)
      : a_(analysis), k_(kernel), s_(state), probes_(probes), bodies_(bodies), bindings_(bindings) {}

  /// Text to insert before the point's statement. Error: a probe needs what is not bound.
  Result<std::string> text(const FunctionUse &use, const Point &point) const;

 private:
  struct Place {
    bool in_entry;
    const Point &point;
    const Statement *statement;  // null: the end of the body
  };
  Result<std::string> preparations() const;
  Result<std::string> shards() const;
  std::string rendezvous() const;
  Result<std::string> exit_sites(const Place &place) const;
  Result<std::string> site(const Place &place, size_t number) const;
  std::string election(const Probe &probe, const Place &place, const std::string &end) const;
  Result<std::string> symbols(int which, const Place &place, uint32_t site_id) const;
  std::string argument(uint32_t number, bool in_entry) const;
  std::string address(const Access &access) const;
  std::string cookie(const Probe &probe, bool in_entry, bool store) const;
  std::string slot(bool in_entry) const;
  std::string shared(uint32_t offset) const;

  const Analysis &a_;
  const KernelUse &k_;
  const State &s_;
  const std::vector<Probe> &probes_;
  const std::vector<Body> &bodies_;
  const Bindings &bindings_;
};

}  // namespace egpu::ptx
