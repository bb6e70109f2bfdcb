#include "tools/egpu-load/launch.h"

#include <cstdlib>
#include <filesystem>

#include "lib/loader/inject/ptrace.h"
#include "lib/loader/inject/target.h"

namespace egpu::load {

inject::Spawned spawn_command(const std::vector<std::string> &command, const std::string &socket_path,
                              const sigset_t &signal_mask) {
  auto agent = agent_path();
  if (!agent) return {0, {}, 125, agent.error().message};
  return inject::spawn({command, inject::agent_environment(*agent, socket_path), signal_mask});
}

Result<Ok> attachable(pid_t pid) {
  TRY([[maybe_unused]] auto facts, inject::check_attachable(pid));
  return Ok{};
}

Result<std::string> attach_agent(pid_t pid, const std::string &socket_path) {
  TRY(std::string agent, agent_path());
  TRY(auto injection, inject::inject_agent(pid, agent, socket_path));
  return std::string(injection.was_there ? "agent of an earlier session woken" : "agent loaded") +
         " by thread " + std::to_string(injection.thread) + ", borrowed for " +
         std::to_string(injection.borrowed_us) + " us";
}

Result<std::string> agent_path() {
  namespace fs = std::filesystem;
  if (const char *variable = std::getenv("EGPU_AGENT")) return fs::absolute(variable).string();
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const char *name = "libegpu-agent.so";
  for (const fs::path &path : {here / name, here / "../lib" / name, here / "../lib/egpu" / name})
    if (fs::exists(path, ignored)) return fs::canonical(path, ignored).string();
  return Error{std::string(name) + ": not found beside egpu-load or in ../lib (EGPU_AGENT can say where)"};
}

}  // namespace egpu::load
