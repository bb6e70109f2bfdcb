// A runtime directory of a test's own.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

struct ScratchDir {
  ScratchDir() {
    char name[] = "/tmp/egpu-test-XXXXXX";
    path = ::mkdtemp(name);
    runtime = path + "/run";
    ::setenv("EGPU_RUNTIME_DIR", runtime.c_str(), 1);
  }
  ~ScratchDir() {
    ::unsetenv("EGPU_RUNTIME_DIR");
    std::filesystem::remove_all(path);
  }
  std::string path, runtime;
};
