// egpu-load's command line, parsed and checked. docs/probe-language.md, "Command lines".
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace egpu::load {

struct Options {
  std::string probe;  // .bpf.o, .c, or the name of an installed probe
  pid_t pid = 0;      // 0: start `command`
  std::vector<std::string> command;
  std::map<std::string, std::string> constants;  // -s NAME=VALUE
  uint32_t max_insns = 4096;                     // --max-insns
  std::optional<double> duration_s;              // -d
  std::string output;                            // -o; empty: stdout
  bool json = false;
  bool list = false;  // -l
  std::string list_glob = "*";
  bool dry_run = false;
  bool missing_is_error = true;  // --missing=error|warn
  bool dump = true;              // --no-dump clears
  std::string save_ptx;                          // --save-ptx; empty: not saved
  bool verbose = false;
  bool color = false;
};

// Fills *options. Returns the exit status if the program must end now (--help, bad usage: 125).
std::optional<int> parse_options(int argc, char **argv, Options *options);

}  // namespace egpu::load
