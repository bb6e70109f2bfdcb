#include "tools/common/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace egpu::cli {
namespace {

bool write_all(int fd, const void *data, size_t size_bytes) {
  const auto *bytes = static_cast<const char *>(data);
  while (size_bytes > 0) {
    ssize_t count = write(fd, bytes, size_bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes += count;
    size_bytes -= static_cast<size_t>(count);
  }
  return true;
}

bool is_regular_or_absent(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

}  // namespace

Result<std::vector<uint8_t>> read_file(const std::string &path) {
  bool standard = path == "-";
  int fd = standard ? 0 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path);
  std::vector<uint8_t> bytes;
  uint8_t buffer[65536];
  ssize_t count;
  while ((count = read(fd, buffer, sizeof buffer)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    bytes.insert(bytes.end(), buffer, buffer + count);
  }
  Error failure = count < 0 ? system_error(standard ? "stdin" : path) : Error{};
  if (!standard) close(fd);
  if (count < 0) return failure;
  return bytes;
}

Result<Ok> write_file(const std::string &path, const void *data, size_t size_bytes) {
  if (path == "-") {
    std::fflush(stdout);
    if (!write_all(1, data, size_bytes)) return system_error("stdout");
    return Ok{};
  }
  if (!is_regular_or_absent(path)) {  // a device or pipe cannot be replaced
    int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return system_error(path);
    bool written = write_all(fd, data, size_bytes);
    Error failure = written ? Error{} : system_error(path);
    close(fd);
    if (!written) return failure;
    return Ok{};
  }
  std::string temporary = path + ".XXXXXX";
  int fd = mkstemp(temporary.data());
  if (fd < 0) return system_error(path);
  mode_t mask = umask(0);
  umask(mask);
  bool written = fchmod(fd, 0666 & ~mask) == 0 && write_all(fd, data, size_bytes);
  Error failure = written ? Error{} : system_error(path);
  if (close(fd) != 0 && written) written = false, failure = system_error(path);
  if (written && rename(temporary.c_str(), path.c_str()) != 0) written = false, failure = system_error(path);
  if (!written) {
    unlink(temporary.c_str());
    return failure;
  }
  return Ok{};
}

Result<Ok> finish_stdout() {
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout);
  if (failed) return Error{std::string("stdout: ") + std::strerror(errno ? errno : EIO)};
  return Ok{};
}

}  // namespace egpu::cli
