// Where data goes: stdout, or the file of -o. Maps at the end, printk lines as they come.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/map/printk.h"
#include "lib/loader/map/snapshot.h"

namespace egpu::load {

class Output {
 public:
  /// `path` empty: stdout.
  static Result<Output> open(const std::string &path, bool json, bool color);

  /// One bpf_printk line of a process, flushed at once.
  Result<Ok> print_line(const map::Snapshot &snapshot, const map::PrintkLine &line);
  /// The maps of all processes; with several, each under a line that names it.
  Result<Ok> print_maps(const std::vector<map::Snapshot> &snapshots);
  /// Error: something that was printed is lost (disk full, pipe closed).
  Result<Ok> finish();

 private:
  Result<Ok> flush();
  std::string name_ = "stdout";
  std::shared_ptr<FILE> file_;
  bool json_ = false, color_ = false;
};

}  // namespace egpu::load
