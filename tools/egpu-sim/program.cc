#include "tools/egpu-sim/program.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace egpu::sim {
namespace {

// NVIDIA's runtime has the id of the table by which it checks the driver (docs/cuda-formats.md,
// head); ours has not.
constexpr char kGenuinenessCheck[] = "\x6b\xd5\xfb\x6c\xf4\x5b\x4a\xe7\x89\x87\xd9\x39\x12\xfd\x9d\xf9";

std::string path_of(const std::string &command) {
  if (command.find('/') != std::string::npos) return command;
  const char *path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + command;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return command;
}

}  // namespace

void explain_program(const std::string &command, const std::string &libraries) {
  std::ifstream file(path_of(command), std::ios::binary);
  char magic[4] = {};
  if (!file.read(magic, 4) || std::string(magic, 4) !=
                                  "\x7f"
                                  "ELF")
    return;
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (content.find(std::string(kGenuinenessCheck, 16)) == std::string::npos) return;
  std::fprintf(stderr,
               "egpu-sim: warning: %s: has NVIDIA's CUDA runtime linked into it, which runs on NVIDIA's "
               "driver only\n"
               "egpu-sim: hint: relink it: nvcc -cudart shared, or NVCC_PREPEND_FLAGS=-L%s in its build's "
               "environment\n",
               command.c_str(), libraries.c_str());
}

}  // namespace egpu::sim
