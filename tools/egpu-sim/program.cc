#include "tools/egpu-sim/program.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "lib/loader/fatbin/elf_sections.h"

namespace egpu::sim {
namespace {

// nvcc's programs have this section. They get the runtime from a library, or carry one: ours has
// a mark (lib/sim/runtime/registry.cc), another one is NVIDIA's.
constexpr std::string_view kFatbinSection = ".nvFatBinSegment",
                           kOurRuntime = "egpu-cudart: CUDA runtime of eGPU", kSharedRuntime = "libcudart.so",
                           kOurLibrary = "libcudart.so.13";

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
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  auto image = fatbin::read_elf({reinterpret_cast<const uint8_t *>(content.data()), content.size()});
  if (!image) return;
  bool is_cuda = false;
  std::string_view libraries_needed;  // and other names of the dynamic linker
  for (const fatbin::Section &section : image->sections) {
    if (section.name == kFatbinSection) is_cuda = true;
    if (section.name == ".dynstr")
      libraries_needed = {reinterpret_cast<const char *>(section.bytes.data()), section.bytes.size()};
  }
  if (!is_cuda || content.find(kOurRuntime) != std::string::npos) return;
  if (libraries_needed.find(kOurLibrary) != std::string_view::npos) return;
  const bool is_shared = libraries_needed.find(kSharedRuntime) != std::string_view::npos;
  std::fprintf(
      stderr,
      "egpu-sim: warning: %s: %s\n"
      "egpu-sim: hint: relink it with CUDA 13's nvcc -cudart shared, or with NVCC_PREPEND_FLAGS=-L%s in "
      "its build's environment\n",
      command.c_str(),
      is_shared ? "needs another version of the CUDA runtime than libcudart.so.13"
                : "has NVIDIA's CUDA runtime linked into it, which runs on NVIDIA's driver only",
      libraries.c_str());
}

}  // namespace egpu::sim
