#include "tools/egpu-load/probes.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tools/common/clang.h"
#include "tools/common/files.h"
#include "tools/common/messages.h"

namespace egpu::load {
namespace {

namespace fs = std::filesystem;

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Where probes are installed, first match wins.
std::vector<fs::path> probe_directories() {
  std::vector<fs::path> directories;
  if (const char *variable = std::getenv("EGPU_PROBES")) directories.emplace_back(variable);
  std::error_code ignored;
  fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  if (!self.empty()) directories.push_back(self.parent_path().parent_path() / "share/egpu/probes");
  directories.emplace_back(EGPU_SOURCE_PROBES);
  return directories;
}

// PROBE as a file: itself, or NAME.bpf.o or NAME.bpf.c in a probe directory.
Result<std::string> probe_path(const std::string &probe) {
  std::error_code ignored;
  if (fs::is_regular_file(probe, ignored)) return probe;
  if (probe.find('/') != std::string::npos || ends_with(probe, ".o") || ends_with(probe, ".c"))
    return Error{probe + ": no such file"};
  std::string looked;
  for (const auto &directory : probe_directories()) {
    for (const char *ending : {".bpf.o", ".bpf.c"})
      if (fs::path path = directory / (probe + ending); fs::is_regular_file(path, ignored))
        return path.string();
    looked += (looked.empty() ? "" : ", ") + directory.string();
  }
  return Error{probe + ": neither a file nor an installed probe (looked in " + looked + ")"};
}

}  // namespace

Result<CompiledObject> load_object(const Options &options) {
  TRY(std::string path, probe_path(options.probe));
  std::vector<uint8_t> elf;
  if (ends_with(path, ".c")) {
    TRY(elf, compile_probe(path));
  } else {
    TRY(elf, cli::read_file(path));
  }
  CompileOptions compile;
  compile.constants = options.constants;
  compile.max_insns = options.max_insns;
  TRY(auto object, compile_object(fs::path(path).filename().string(), elf, compile));
  for (const auto &program : object.programs)
    for (const auto &note : program.notes) cli::note(note);
  return object;
}

std::vector<ptx::Probe> probes_of(const CompiledObject &object) {
  std::vector<ptx::Probe> probes;
  for (const auto &program : object.programs) {
    ptx::Probe probe;
    probe.name = program.name;
    probe.event = program.event;
    probe.body = program.body;
    probe.symbols = program.symbols;
    probe.writes_cookie = program.writes_cookie;
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace egpu::load
