// What ptxas says a module's functions take, compiled as cuLink* compiles it (`ptxas -c`:
// lib/loader/ptx/module.h, shared_alignment).
#pragma once
#include <cstddef>
#include <map>
#include <string>

namespace egpu::ptx::test {

struct Resources {
  int registers = 0;      // of a kernel; of a .func, what ptxas reports for it
  int local_bytes = 0;    // stack frame and spills
  size_t code_bytes = 0;  // of its section .text.NAME, padding included
};

struct Compiled {
  std::map<std::string, Resources> functions;  // kernels and .funcs by name
  double seconds = 0;                          // ptxas' own user time
  std::string failure;                         // ptxas' messages; empty: it compiled
};

/// For `arch` ("sm_90"). Needs ptxas: toolkit("ptxas").
Compiled compile(const std::string &ptx, const std::string &arch);

}  // namespace egpu::ptx::test
