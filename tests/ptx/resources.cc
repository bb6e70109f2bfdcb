#include "tests/ptx/resources.h"

#include <elf.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

double children_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6;
}

// "ptxas info    : Function properties for NAME", then "N bytes stack frame, N bytes spill
// stores, N bytes spill loads"; "Compiling entry function 'NAME' for ...", then "Used N registers".
void read_report(const std::string &report, std::map<std::string, Resources> *functions) {
  std::istringstream lines(report);
  std::string properties_of, kernel;
  for (std::string line; std::getline(lines, line);) {
    size_t at;
    if ((at = line.find("Function properties for ")) != std::string::npos)
      properties_of = line.substr(at + 24);
    if ((at = line.find("Compiling entry function '")) != std::string::npos)
      kernel = line.substr(at + 26, line.find('\'', at + 26) - at - 26);
    int frame = 0, stores = 0;
    if (std::sscanf(line.c_str(), " %d bytes stack frame, %d bytes spill stores", &frame, &stores) == 2)
      (*functions)[properties_of].local_bytes = frame + stores;
    if ((at = line.find("Used ")) != std::string::npos)
      (*functions)[kernel].registers = std::atoi(line.c_str() + at + 5);
  }
}

void read_code_sizes(const std::string &cubin, std::map<std::string, Resources> *functions) {
  Elf64_Ehdr header;
  if (cubin.size() < sizeof header) return;
  std::memcpy(&header, cubin.data(), sizeof header);
  auto section = [&](size_t index) {
    Elf64_Shdr out{};
    size_t at = header.e_shoff + index * sizeof out;
    if (at + sizeof out <= cubin.size()) std::memcpy(&out, cubin.data() + at, sizeof out);
    return out;
  };
  Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr s = section(i);
    std::string name = cubin.c_str() + names.sh_offset + s.sh_name;
    if (name.starts_with(".text.")) (*functions)[name.substr(6)].code_bytes = s.sh_size;
  }
}

}  // namespace

Compiled compile(const std::string &ptx, const std::string &arch) {
  TemporaryFile source(".ptx"), cubin(".cubin");
  std::ofstream(source.path) << ptx;
  Compiled out;
  double before = children_seconds();
  int status = 0;
  std::string report =
      output_of(toolkit("ptxas") + " -c -v -arch=" + arch + " -o " + cubin.path + " " + source.path, &status);
  out.seconds = children_seconds() - before;
  if (status != 0) {
    out.failure = report;
    return out;
  }
  read_report(report, &out.functions);
  read_code_sizes(read_file(cubin.path), &out.functions);
  return out;
}

}  // namespace egpu::ptx::test
