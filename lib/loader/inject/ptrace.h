// Puts the agent into a running process (attach mode).
//
// A thread that waits at a safe point (safe_point.h) is borrowed (borrowed.h): it makes a memfd,
// which we fill with the agent, dlopens it, calls egpu_agent_attach(socket path), and goes on as
// if nothing had been. All other threads run meanwhile. An agent that an earlier session left in
// the process is used again. The process keeps the agent's mapping and nothing else: no tracer,
// no descriptor, no signal, registers and memory as before. If we are killed in the middle, the
// thread returns by itself.
//
// Error: what check_attachable says; the kernel refuses; no thread at a safe point; dlopen's own
// text; the agent's error.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "egpu/result.h"
#include "lib/loader/inject/write_hooks.h"

namespace egpu::inject {

struct Injection {
  pid_t thread;    // the one that was borrowed
  bool was_there;  // the agent was loaded by an earlier session
  uint64_t borrowed_us;
};

// How long dlopen and the agent may take, locks that other threads hold included. When it is over
// the borrowed thread is let go; it comes back by itself when they are done.
constexpr std::chrono::milliseconds kCallLimit{30000};

Result<Injection> inject_agent(pid_t pid, std::span<const uint8_t> agent, const std::string &socket_path,
                               std::chrono::milliseconds call_limit = kCallLimit);
Result<Injection> inject_agent(pid_t pid, const std::string &agent_path, const std::string &socket_path,
                               std::chrono::milliseconds call_limit = kCallLimit);

}  // namespace egpu::inject
