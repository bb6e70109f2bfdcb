// A probe's C source to a BPF object: clang as a process.
//
// The compiler is $EGPU_CLANG, else clang-19, else clang. The include directories are the
// caller's, then this project's (EGPU_INCLUDE, else ../include beside the running program's
// directory, else the source tree it was built from), then the system's /usr/include for
// libbpf's headers. clang's messages go to stderr as they are.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu {

struct ProbeCompileOptions {
  std::vector<std::string> include_dirs, defines;  // -I, -D
  int opt_level = 2;
  std::string depfile;         // -MD: where to write make rules; empty: nowhere
  std::string depfile_target;  // the rules' target
  bool print_command = false;  // to stderr
};

/// The object's bytes. On a compile error clang has printed its diagnostics; the Error then
/// is only the summary, "FILE: clang reported errors".
Result<std::vector<uint8_t>> compile_probe(const std::string &path, const ProbeCompileOptions &options = {});

}  // namespace egpu
