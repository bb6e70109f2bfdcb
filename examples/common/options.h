// Command lines of the examples: a table of options, "--name value" or "--name" for flags.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace example {

struct Option {
  const char *name;  // "--size"
  const char *help;
  int64_t *number = nullptr;  // exactly one of the three is set
  std::string *text = nullptr;
  bool *flag = nullptr;
};

// What every example takes. `api` and `launch` choose among the driver's ways to do the same.
struct Common {
  int64_t repeat = 1, seed = 1, block = 256;
  std::string dump;  // file that gets all output memory; empty: none
  bool print_counts = false;
  std::string api = "module";    // module | library: how kernels are loaded
  std::string launch = "plain";  // plain | ex | cooperative | per-thread: how they are launched
};
Common &common();

// Fills `options` and common(); prints help or an error and exits where that ends the program.
void parse(int argc, char **argv, const char *what, std::vector<Option> options);

}  // namespace example
