// How the agent gets into a process: with the command's start, or into a running one.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/inject/spawn.h"

namespace egpu::load {

/// Starts the command with the agent in its environment.
inject::Spawned spawn_command(const std::vector<std::string> &command, const std::string &socket_path,
                              const sigset_t &signal_mask);

/// Is the process there, ours, and one that uses CUDA?
Result<Ok> attachable(pid_t pid);

/// Loads the agent into a running process; it connects to `socket_path` on a thread of its own.
/// Returns what to say with -v.
Result<std::string> attach_agent(pid_t pid, const std::string &socket_path);

/// libegpu-agent.so: $EGPU_AGENT, else beside this program, else ../lib or ../lib/egpu.
Result<std::string> agent_path();

}  // namespace egpu::load
