// Another process's memory: what is mapped, and reading and writing it through /proc/PID/mem.
//
// Access is the kernel's to grant: same user and ptrace allowed (proc(5), ptrace(2) "access mode
// checking"). Writing through the file also changes pages that are mapped read-only (private
// copies are made), which is how code is patched.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/session/fd.h"

namespace egpu::inject {

struct Mapping {
  uint64_t begin, end;  // addresses
  bool read, write, execute, shared;
  uint64_t offset;   // in the file
  uint64_t inode;    // 0: anonymous
  std::string path;  // "/usr/lib/libc.so.6", "[heap]", "/memfd:x (deleted)", or empty
};

/// Ascending by address. Error: no such process, or not ours to read.
Result<std::vector<Mapping>> mappings_of(pid_t pid);
/// The mapping that holds an address, or null.
const Mapping *mapping_at(const std::vector<Mapping> &mappings, uint64_t address);

class Memory {
 public:
  static Result<Memory> open(pid_t pid, bool writable = false);
  /// All of it or an error naming the address.
  Result<Ok> read(uint64_t address, std::span<uint8_t> into) const;
  Result<Ok> write(uint64_t address, std::span<const uint8_t> from) const;
  /// As many bytes as can be read from the front; 0 if none.
  size_t read_some(uint64_t address, std::span<uint8_t> into) const;

  template <class T>
  Result<T> get(uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    auto done = read(address, {reinterpret_cast<uint8_t *>(&value), sizeof(T)});
    if (!done) return std::move(done).error();
    return value;
  }
  /// A NUL-ended string, cut at `limit_bytes`.
  Result<std::string> get_string(uint64_t address, size_t limit_bytes = 4096) const;

 private:
  explicit Memory(session::Fd fd) : fd_(std::move(fd)) {}
  session::Fd fd_;
};

}  // namespace egpu::inject
