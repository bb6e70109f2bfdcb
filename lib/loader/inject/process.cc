#include "lib/loader/inject/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace egpu::inject {
namespace {

std::string hex(uint64_t n) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

Error process_error(pid_t pid) {
  std::string object = "process " + std::to_string(pid);
  if (errno == ENOENT || errno == ESRCH) return {object + ": no such process"};
  if (errno == EACCES || errno == EPERM) return {object + ": not allowed to look into it"};
  return system_error(object);
}

Result<std::vector<Mapping>> read_mappings(pid_t pid) {
  std::vector<Mapping> mappings;
  std::ifstream in("/proc/" + std::to_string(pid) + "/maps");
  if (!in) return process_error(pid);
  for (std::string line; std::getline(in, line);) {
    unsigned long long begin, end, offset, inode;
    char flags[5];
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %llu %n", &begin, &end, flags, &offset, &inode,
                    &path_at) != 5)
      return Error{"/proc/" + std::to_string(pid) + "/maps: line is not understood: " + line};
    mappings.push_back({begin, end, flags[0] == 'r', flags[1] == 'w', flags[2] == 'x', flags[3] == 's',
                        offset, inode, line.substr(std::min(line.size(), static_cast<size_t>(path_at)))});
  }
  return mappings;
}

}  // namespace

Result<std::vector<Mapping>> mappings_of(pid_t pid) {
  // Opening succeeds for every process that exists; reading gives nothing once it is a zombie, and
  // for the memory from before an exec: then the next look is at the new program.
  for (int looks = 0; looks < 3; ++looks) {
    TRY(auto mappings, read_mappings(pid));
    if (!mappings.empty()) return mappings;
  }
  return Error{"process " + std::to_string(pid) + ": has ended, or is not allowed to be looked into"};
}

const Mapping *mapping_at(const std::vector<Mapping> &mappings, uint64_t address) {
  for (const Mapping &m : mappings)
    if (m.begin <= address && address < m.end) return &m;
  return nullptr;
}

Result<Memory> Memory::open(pid_t pid, bool writable) {
  std::string path = "/proc/" + std::to_string(pid) + "/mem";
  session::Fd fd(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (!fd) return process_error(pid);
  return Memory(std::move(fd));
}

size_t Memory::read_some(uint64_t address, std::span<uint8_t> into) const {
  size_t done = 0;
  while (done < into.size()) {
    ssize_t n =
        ::pread(fd_.get(), into.data() + done, into.size() - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<Ok> Memory::read(uint64_t address, std::span<uint8_t> into) const {
  if (read_some(address, into) != into.size())
    return Error{"memory at " + hex(address) + ": cannot read " + std::to_string(into.size()) + " bytes"};
  return Ok{};
}

Result<Ok> Memory::write(uint64_t address, std::span<const uint8_t> from) const {
  size_t done = 0;
  while (done < from.size()) {
    ssize_t n =
        ::pwrite(fd_.get(), from.data() + done, from.size() - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return Error{"memory at " + hex(address) + ": cannot write " + std::to_string(from.size()) + " bytes"};
    done += static_cast<size_t>(n);
  }
  return Ok{};
}

Result<std::string> Memory::get_string(uint64_t address, size_t limit_bytes) const {
  std::string text;
  uint8_t chunk[256];
  while (text.size() < limit_bytes) {
    // Up to the next page, since the page after it need not be mapped.
    size_t size = std::min<size_t>(sizeof(chunk), 4096 - (address + text.size()) % 4096);
    size_t n = read_some(address + text.size(), {chunk, size});
    if (n == 0) return Error{"memory at " + hex(address) + ": no string there"};
    auto *nul = static_cast<uint8_t *>(std::memchr(chunk, 0, n));
    text.append(reinterpret_cast<char *>(chunk), nul != nullptr ? static_cast<size_t>(nul - chunk) : n);
    if (nul != nullptr) return text;
  }
  text.resize(limit_bytes);
  return text;
}

}  // namespace egpu::inject
