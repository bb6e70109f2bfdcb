#include "lib/loader/inject/spawn.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace egpu::inject {
namespace {

constexpr int kOwnFailure = 125, kNotExecutable = 126, kNotFound = 127;

// In the child, which has one thread and a copy of all our memory.
[[noreturn]] void run(const Command &command, std::vector<char *> &arguments, int report) {
  for (const auto &[name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::sigprocmask(SIG_SETMASK, &command.signal_mask, nullptr);
  ::execvp(arguments[0], arguments.data());
  int error = errno;
  [[maybe_unused]] ssize_t n = ::write(report, &error, sizeof(error));
  ::_exit(kNotFound);
}

}  // namespace

Spawned spawn(const Command &command) {
  Spawned spawned;
  auto fail = [&](int status, const std::string &what, int error) {
    spawned.exit_status = status;
    spawned.error = what + ": " + std::strerror(error);
  };
  std::vector<char *> arguments;
  for (const std::string &a : command.arguments) arguments.push_back(const_cast<char *>(a.c_str()));
  arguments.push_back(nullptr);
  if (arguments.size() == 1) {
    fail(kOwnFailure, "command", EINVAL);
    return spawned;
  }
  // Closed by a successful exec; else it brings the reason.
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    fail(kOwnFailure, "pipe", errno);
    return spawned;
  }
  session::Fd from_child(fds[0]), to_parent(fds[1]);
  pid_t pid = ::fork();
  if (pid == 0) run(command, arguments, to_parent.get());
  if (pid < 0) {
    fail(kOwnFailure, "fork", errno);
    return spawned;
  }
  to_parent.reset();
  int error = 0;
  ssize_t n;
  do n = ::read(from_child.get(), &error, sizeof(error));
  while (n < 0 && errno == EINTR);
  if (n == sizeof(error)) {
    ::waitpid(pid, nullptr, 0);
    fail(error == ENOENT ? kNotFound : kNotExecutable, command.arguments[0], error);
    return spawned;
  }
  spawned.pid = pid;
  spawned.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return spawned;
}

std::vector<std::pair<std::string, std::string>> agent_environment(const std::string &agent_path,
                                                                   const std::string &socket_path) {
  return {{"CUDA_INJECTION64_PATH", agent_path}, {"EGPU_SOCKET", socket_path}};
}

}  // namespace egpu::inject
