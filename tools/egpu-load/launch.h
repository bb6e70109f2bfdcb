// How the agent gets into a process: with the command's start, or into a running one.
#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "egpu/result.h"

namespace egpu::load {

/// Starts the command with the agent in its environment; its signal mask is the one egpu-load was started with.
Result<pid_t> spawn_command(const std::vector<std::string> &command, const std::string &socket_path);

/// Is the process there, ours, and one that uses CUDA?
Result<Ok> attachable(pid_t pid);

/// Loads the agent into a running process; it connects to `socket_path` on a thread of its own.
Result<Ok> attach_agent(pid_t pid, const std::string &socket_path);

/// libegpu-agent.so: $EGPU_AGENT, else beside this program, else ../lib/egpu.
Result<std::string> agent_path();

}  // namespace egpu::load
