#include "tools/common/clang.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char **environ;

namespace egpu {
namespace {

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

// The first program of that name in PATH; a name with a slash is taken as it is.
std::string find_program(const std::string &name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char *path = std::getenv("PATH");
  std::string rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    size_t colon = rest.find(':');
    std::string candidate = rest.substr(0, colon) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

Result<std::string> find_clang() {
  if (const char *chosen = std::getenv("EGPU_CLANG"); chosen && *chosen) {
    std::string found = find_program(chosen);
    if (found.empty()) return Error{std::string("EGPU_CLANG: no such program: '") + chosen + "'"};
    return found;
  }
  for (const char *name : {"clang-19", "clang"})
    if (std::string found = find_program(name); !found.empty()) return found;
  return Error{"clang is needed to compile C and was not found; install clang-19 or set EGPU_CLANG"};
}

std::string find_include_dir() {
  if (const char *chosen = std::getenv("EGPU_INCLUDE"); chosen && *chosen) return chosen;
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0) {
    std::string directory(self, static_cast<size_t>(length));
    directory.erase(directory.rfind('/'));
    std::string beside = directory + "/../include";
    if (exists(beside + "/egpu/vmgpu.h")) return beside;
  }
  return EGPU_SOURCE_INCLUDE;
}

struct Command {
  std::vector<std::string> words;

  std::string text() const {
    std::string line;
    for (const std::string &word : words) line += (line.empty() ? "" : " ") + word;
    return line;
  }
};

// Runs the command and waits; its exit status, 128 + signal, or an Error if it cannot start.
Result<int> run(const Command &command) {
  std::vector<char *> arguments;
  for (const std::string &word : command.words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid;
  if (int code = posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ); code != 0)
    return Error{command.words[0] + ": " + std::strerror(code)};
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return system_error(command.words[0]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The whole contents of an open memfd.
Result<std::vector<uint8_t>> contents(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return system_error("clang's output");
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t count = pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (count <= 0) return Error{"clang's output cannot be read"};
    at += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace

Result<std::vector<uint8_t>> compile_probe(const std::string &path, const ProbeCompileOptions &options) {
  if (access(path.c_str(), R_OK) != 0) return system_error(path);
  TRY(std::string clang, find_clang());
  // clang writes to a temporary file and renames it unless the output is a device-like file,
  // so the object comes through a directory of our own.
  char directory[] = "/tmp/egpu-cc-XXXXXX";
  if (!mkdtemp(directory)) return system_error("/tmp");
  std::string object = std::string(directory) + "/probe.bpf.o";

  Command command{{clang, "-target", "bpf", "-mcpu=v3", "-O" + std::to_string(options.opt_level), "-g",
                   "-Wall",
                   // Line information names the source as the user did, not by its full path.
                   "-fdebug-compilation-dir=."}};
  auto add = [&](std::initializer_list<std::string> words) {
    command.words.insert(command.words.end(), words.begin(), words.end());
  };
  for (const std::string &define : options.defines) add({"-D" + define});
  for (const std::string &include : options.include_dirs) add({"-I" + include});
  add({"-I" + find_include_dir()});
  if (!options.depfile.empty()) add({"-MD", "-MF", options.depfile, "-MT", options.depfile_target});
  add({"-c", "-o", object, "-x", "c", path});
  if (options.print_command) std::fprintf(stderr, "%s\n", command.text().c_str());

  auto status = run(command);
  int fd = open(object.c_str(), O_RDONLY | O_CLOEXEC);
  unlink(object.c_str());
  rmdir(directory);
  Result<std::vector<uint8_t>> result = Error{path + ": clang reported errors"};
  if (!status)
    result = std::move(status).error();
  else if (*status > 128)
    result = Error{path + ": clang ended by signal " + std::to_string(*status - 128)};
  else if (*status == 0 && fd < 0)
    result = Error{path + ": clang wrote no object"};
  else if (*status == 0)
    result = contents(fd);
  if (fd >= 0) close(fd);
  return result;
}

}  // namespace egpu
