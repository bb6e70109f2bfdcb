#include "lib/loader/inject/target.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace egpu::inject {
namespace {

std::string proc_path(pid_t pid, const char *name) { return "/proc/" + std::to_string(pid) + "/" + name; }
std::string object_of(pid_t pid) { return "process " + std::to_string(pid); }

std::string link_of(const std::string &path) {
  char text[PATH_MAX];
  ssize_t n = ::readlink(path.c_str(), text, sizeof(text));
  return n > 0 ? std::string(text, static_cast<size_t>(n)) : std::string();
}

// The lines of /proc/PID/status that concern us.
Result<Ok> read_status(pid_t pid, TargetFacts &facts) {
  std::ifstream in(proc_path(pid, "status"));
  if (!in) return Error{object_of(pid) + ": no such process"};
  for (std::string line; std::getline(in, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    const char *value = line.c_str() + colon + 1;
    value += std::strspn(value, " \t");
    if (name == "State") facts.state = *value;
    if (name == "TracerPid") facts.tracer = static_cast<pid_t>(std::strtol(value, nullptr, 10));
    if (name == "Uid") {
      char *end;
      std::strtoul(value, &end, 10);  // real; then effective
      facts.uid = static_cast<uid_t>(std::strtoul(end, nullptr, 10));
    }
  }
  return Ok{};
}

bool has_name(const Mapping &m, const char *prefix) {
  size_t slash = m.path.rfind('/');
  return slash != std::string::npos && m.path.compare(slash + 1, std::strlen(prefix), prefix) == 0;
}

}  // namespace

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  DIR *dir = ::opendir(proc_path(pid, "task").c_str());
  if (dir == nullptr) return threads;
  while (const dirent *entry = ::readdir(dir))
    if (entry->d_name[0] != '.')
      threads.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
  ::closedir(dir);
  std::sort(threads.begin(), threads.end());
  return threads;
}

Result<TargetFacts> inspect(pid_t pid) {
  TargetFacts facts;
  facts.pid = pid;
  TRY([[maybe_unused]] auto read, read_status(pid, facts));
  if (facts.state == 'Z' || facts.state == 'X') return Error{object_of(pid) + ": has ended"};
  facts.threads = threads_of(pid);
  facts.executable = link_of(proc_path(pid, "exe"));
  std::string mount = link_of(proc_path(pid, "ns/mnt"));
  facts.other_mount_namespace = !mount.empty() && mount != link_of("/proc/self/ns/mnt");
  TRY(facts.mappings, mappings_of(pid));
  for (const Mapping &m : facts.mappings) {
    if (facts.libcuda == 0 && has_name(m, "libcuda.so")) facts.libcuda = m.begin;
    if (facts.agent == 0 && (has_name(m, "libegpu-agent.so") || has_name(m, "memfd:egpu-agent")))
      facts.agent = m.begin;
  }
  return facts;
}

Result<TargetFacts> check_attachable(pid_t pid) {
  if (pid <= 0) return Error{object_of(pid) + ": no such process"};
  if (pid == ::getpid()) return Error{object_of(pid) + ": is this program itself"};
  TargetFacts status;
  TRY([[maybe_unused]] auto read, read_status(pid, status));
  if (status.uid != ::geteuid())
    return Error{object_of(pid) + ": belongs to user " + std::to_string(status.uid) + ", not to us (user " +
                 std::to_string(::geteuid()) + "); run this command as that user"};
  TRY(TargetFacts facts, inspect(pid));
  if (facts.libcuda == 0)
    return Error{object_of(pid) + ": does not use CUDA (libcuda.so.1 is not loaded" +
                 (facts.executable.empty() ? "" : " in " + facts.executable) + ")"};
  if (facts.tracer != 0)
    return Error{object_of(pid) + ": another debugger is attached to it (process " +
                 std::to_string(facts.tracer) + ")"};
  if (facts.state == 'T')
    return Error{object_of(pid) + ": is stopped; continue it first (kill -CONT " + std::to_string(pid) + ")"};
  return facts;
}

std::string refused_by_kernel(pid_t pid) {
  std::string text = object_of(pid) + ": the kernel does not allow us to attach";
  int scope = 0;
  if (std::ifstream in("/proc/sys/kernel/yama/ptrace_scope"); in >> scope && scope > 0)
    return text + (scope == 3 ? " (kernel.yama.ptrace_scope is 3: nobody may, until the next boot)"
                              : " (kernel.yama.ptrace_scope is " + std::to_string(scope) +
                                    "): run as root, or sysctl kernel.yama.ptrace_scope=0");
  return text + ": run as root, or with CAP_SYS_PTRACE (container: --cap-add SYS_PTRACE)";
}

}  // namespace egpu::inject
