// BPF objects for tests: C text or a probe of the tree, compiled by clang-19.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace egpu::test {

inline std::vector<uint8_t> read_bytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The object of a C file; empty if clang fails.
inline std::vector<uint8_t> compile_file(const std::string &path, const std::string &flags = "-O2 -g") {
  char out[] = "/tmp/egpu-test-XXXXXX";
  int fd = mkstemp(out);
  if (fd < 0) return {};
  close(fd);
  std::string command = "clang-19 -target bpf -mcpu=v3 -Wall " + flags +
                        " -I" EGPU_SOURCE_DIR "/include -c -o " + out + " " + path;
  std::vector<uint8_t> bytes;
  if (std::system(command.c_str()) == 0) bytes = read_bytes(out);
  unlink(out);
  return bytes;
}

/// The same for C text; the three headers of the probe language are included first.
inline std::vector<uint8_t> compile_text(const std::string &text, const std::string &flags = "-O2 -g") {
  char source[] = "/tmp/egpu-test-XXXXXX.c";
  int fd = mkstemps(source, 2);
  if (fd < 0) return {};
  close(fd);
  std::ofstream(source) << text;
  std::vector<uint8_t> bytes = compile_file(
      source, flags + " -include egpu/vmgpu.h -include bpf/bpf_helpers.h -include egpu/gpu.bpf.h");
  unlink(source);
  return bytes;
}

inline std::string probe_path(const std::string &name) {
  return EGPU_SOURCE_DIR "/probes/" + name + ".bpf.c";
}

constexpr const char *kProbes[] = {"args", "blockdur", "diverge", "kcount", "launchlat", "memheat", "smload"};

}  // namespace egpu::test
