// Starts a command with the agent in it (start mode).
//
// execvp semantics. The command gets CUDA_INJECTION64_PATH and EGPU_SOCKET, its standard streams
// are ours, its signal mask and dispositions are those egpu-load was started with. Error: with the
// exit status that env(1) would give: 126 found but not executable, 127 not found, 125 else.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/session/fd.h"

namespace egpu::inject {

struct Command {
  std::vector<std::string> arguments;                            // the first is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // set in addition
  sigset_t signal_mask = {};                                     // of the command
};

struct Spawned {
  pid_t pid = 0;        // 0: not started
  session::Fd pidfd;    // readable when it has ended; invalid on kernels before 5.3
  int exit_status = 0;  // of egpu-load when it was not started: 125, 126, 127
  std::string error;    // why, then
};

/// Never fails silently: either pid, or exit_status and error.
Spawned spawn(const Command &command);

/// The two variables that bring the agent in.
std::vector<std::pair<std::string, std::string>> agent_environment(const std::string &agent_path,
                                                                   const std::string &socket_path);

}  // namespace egpu::inject
