// What became of every kernel that the targets launched, for the report.
//
// "Nothing is silently missed": each kernel is probed (how many sites), not matched, or
// refused and why. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/loader/session/protocol.h"

namespace egpu::load {

struct Outcome {
  enum Kind { pending, probed, not_matched, refused } kind = pending;
  size_t site_count = 0;
  std::string reason;                          // of refused
  std::optional<session::Measured> footprint;  // of probed, with -v
};

class Outcomes {
 public:
  void set(const std::string &mangled, Outcome outcome) { by_name_[mangled] = std::move(outcome); }
  // A program of the object whose event matched a site in `mangled`.
  void matched(int program) { matched_programs_.insert(program); }

  bool program_matched(int program) const { return matched_programs_.count(program) != 0; }
  bool any_probed() const;
  const std::map<std::string, Outcome> &all() const { return by_name_; }
  std::vector<std::string> names() const;  // printable, of all kernels seen

 private:
  std::map<std::string, Outcome> by_name_;
  std::set<int> matched_programs_;
};

// "vecadd: probed, 3 sites" and the like: one line per kernel.
std::string to_text(const Outcomes &outcomes);

// "registers 12 -> 16, local bytes 0 -> 0, shared bytes 0 -> 16, blocks per SM 8 -> 6"; ? for what
// the driver did not say.
std::string to_text(const session::Measured &measured);

}  // namespace egpu::load
