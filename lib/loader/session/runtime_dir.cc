#include "lib/loader/session/runtime_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "lib/loader/session/channel.h"

namespace egpu::session {
namespace {

// Makes `path` if it is not there, then checks it. O_NOFOLLOW and fstat on one descriptor, so
// that what was checked is what was opened.
Result<Ok> make_private_dir(const std::string &path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error(path);
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    // A link to a directory gives ENOTDIR under O_DIRECTORY, ELOOP otherwise.
    struct stat link;
    if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
      return Error{path + ": is a symbolic link"};
    return system_error(path);
  }
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) return system_error(path);
  if (st.st_uid != ::geteuid())
    return Error{path + ": belongs to user " + std::to_string(st.st_uid) + ", not to us"};
  if ((st.st_mode & 0077) != 0) return Error{path + ": is open to other users (chmod 700 it)"};
  return Ok{};
}

std::optional<pid_t> pid_of_name(std::string_view name) {
  pid_t pid = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || end != name.data() + name.size() || pid <= 0) return std::nullopt;
  return pid;
}

struct CloseDir {
  void operator()(DIR *dir) const { ::closedir(dir); }
};

std::vector<std::string> names_in(const std::string &path) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (!dir) return names;
  while (const dirent *entry = ::readdir(dir.get()))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  return names;
}

// The directory holds files and sockets only, so one level is enough.
void remove_dir(const std::string &path) {
  for (const std::string &name : names_in(path)) ::unlink((path + "/" + name).c_str());
  ::rmdir(path.c_str());
}

}  // namespace

Result<std::string> runtime_dir() {
  const char *chosen = std::getenv("EGPU_RUNTIME_DIR");
  std::string path = chosen != nullptr && *chosen != '\0' ? std::string(chosen)
                                                          : "/dev/shm/egpu-" + std::to_string(::geteuid());
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path[0] != '/') return Error{"EGPU_RUNTIME_DIR: not an absolute path: '" + path + "'"};
  TRY([[maybe_unused]] auto checked, make_private_dir(path));
  return path;
}

Result<std::string> process_dir(pid_t target) {
  TRY(std::string path, runtime_dir());
  path.append("/").append(std::to_string(target));  // g++ 12 warns of `"/" +` wrongly (-Wrestrict)
  TRY([[maybe_unused]] auto checked, make_private_dir(path));
  return path;
}

void remove_process_dir(pid_t target) {
  if (auto runtime = runtime_dir()) remove_dir(*runtime + "/" + std::to_string(target));
}

Result<std::string> agent_socket_path() {
  TRY(std::string path, runtime_dir());
  return path + "/load-" + std::to_string(::getpid()) + ".sock";
}

Result<std::vector<Live>> live_sessions() {
  TRY(std::string runtime, runtime_dir());
  std::vector<Live> live;
  for (const std::string &name : names_in(runtime)) {
    std::string path = runtime + "/" + name;
    if (auto pid = pid_of_name(name)) {
      if (socket_is_listening(control_path(path)))
        live.push_back({*pid, path});
      else if (::kill(*pid, 0) != 0 || ::access(control_path(path).c_str(), F_OK) == 0)
        // A directory without a socket whose target lives is a session that is just starting.
        remove_dir(path);
    } else if (name.starts_with("load-") && name.ends_with(".sock")) {
      auto load = pid_of_name(std::string_view(name).substr(5, name.size() - 10));
      if (load && ::kill(*load, 0) != 0 && errno == ESRCH) ::unlink(path.c_str());
    }
  }
  std::sort(live.begin(), live.end(), [](const Live &a, const Live &b) { return a.pid < b.pid; });
  return live;
}

}  // namespace egpu::session
