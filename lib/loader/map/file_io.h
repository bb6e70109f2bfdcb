// Exact reads and writes at an offset, with errors as values.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "egpu/result.h"

namespace egpu::map {

inline Result<Ok> read_at(int fd, uint64_t offset, void *to, uint64_t bytes) {
  auto *p = static_cast<char *>(to);
  while (bytes > 0) {
    ssize_t n = pread(fd, p, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error{std::strerror(errno)};
    if (n == 0) return Error{"is shorter than it says; it was truncated"};
    p += n, offset += static_cast<uint64_t>(n), bytes -= static_cast<uint64_t>(n);
  }
  return Ok{};
}

inline Result<Ok> write_at(int fd, uint64_t offset, const void *from, uint64_t bytes) {
  auto *p = static_cast<const char *>(from);
  while (bytes > 0) {
    ssize_t n = pwrite(fd, p, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error{std::strerror(errno)};
    p += n, offset += static_cast<uint64_t>(n), bytes -= static_cast<uint64_t>(n);
  }
  return Ok{};
}

}  // namespace egpu::map
