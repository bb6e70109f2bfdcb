// What is known about a process before anything is done to it, from /proc.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/inject/process.h"

namespace egpu::inject {

struct TargetFacts {
  pid_t pid = 0;
  uid_t uid = 0;               // effective
  pid_t tracer = 0;            // a debugger that is attached already; 0: none
  char state = 'R';            // 'T': stopped, 'Z': ended and not waited for
  std::string executable;      // path as the process sees it; empty if not readable
  std::vector<pid_t> threads;  // ascending
  std::vector<Mapping> mappings;
  uint64_t libcuda = 0;                // base address; 0: not mapped
  uint64_t agent = 0;                  // base address of an agent from an earlier session; 0: none
  bool other_mount_namespace = false;  // paths of ours may mean other files there
};

/// Error: no such process, or not ours to look into.
Result<TargetFacts> inspect(pid_t pid);

/// Can and may we attach? The error says what is wrong and what to do: ended, not ours, stopped,
/// another debugger, no CUDA in it.
Result<TargetFacts> check_attachable(pid_t pid);

std::vector<pid_t> threads_of(pid_t pid);

/// Why ptrace said EPERM, with a hint (Yama, containers).
std::string refused_by_kernel(pid_t pid);

}  // namespace egpu::inject
