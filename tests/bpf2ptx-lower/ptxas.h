// Assembles PTX bodies with NVIDIA's ptxas, where it is installed.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace egpu::test {

inline std::string find_ptxas() {
  if (std::system("command -v ptxas >/dev/null 2>&1") == 0) return "ptxas";
  return access("/usr/local/cuda/bin/ptxas", X_OK) == 0 ? "/usr/local/cuda/bin/ptxas" : "";
}

/// "b32" or "b64", as the body ABI says.
inline std::string symbol_type(const std::string &name) {
  for (const char *wide : {"egpu_map_", "egpu_shard_", "egpu_launch_ns", "egpu_arg_", "egpu_ktime_offset",
                           "egpu_addr", "egpu_cookie"})
    if (name.rfind(wide, 0) == 0) return "b64";
  return "b32";
}

/// A kernel with the body in two scopes; the symbols are its registers, set from parameters
/// or from memory so that nothing is folded away.
inline std::string kernel_around(const std::string &body, const std::set<std::string> &symbols,
                                 const std::string &arch) {
  bool recent = arch != "sm_75";
  std::string text = std::string(".version ") + (recent ? "7.8" : "6.3") + "\n.target " + arch +
                     "\n.address_size 64\n.visible .entry kernel(.param .u64 data)\n{\n\t.reg .b64 %rd<2>;\n"
                     "\tld.param.u64 %rd1, [data];\n";
  size_t offset = 0;
  for (const std::string &symbol : symbols) {
    text += "\t.reg ." + symbol_type(symbol) + " " + symbol + ";\n\tld.global." + symbol_type(symbol) + " " +
            symbol + ", [%rd1+" + std::to_string(offset) + "];\n";
    offset += 8;
  }
  for (int site = 0; site < 2; ++site) text += "\t{\n" + body + "\t}\n";
  return text + "\tret;\n}\n";
}

struct Assembled {
  bool ok = false;
  std::string log;  // ptxas -v
  int registers = 0;
};

inline Assembled assemble(const std::string &ptx, const std::string &arch) {
  char path[] = "/tmp/egpu-test-XXXXXX.ptx";
  int fd = mkstemps(path, 4);
  if (fd < 0) return {};
  close(fd);
  std::ofstream(path) << ptx;
  std::string command = find_ptxas() + " -v -arch=" + arch + " -o /dev/null " + path + " 2>&1";
  Assembled result;
  if (FILE *pipe = popen(command.c_str(), "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, pipe)) result.log += line;
    result.ok = pclose(pipe) == 0;
  }
  size_t used = result.log.find("Used ");
  if (used != std::string::npos) result.registers = std::atoi(result.log.c_str() + used + 5);
  unlink(path);
  return result;
}

}  // namespace egpu::test
