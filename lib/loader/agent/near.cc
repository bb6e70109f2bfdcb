#include "lib/loader/agent/near.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace egpu::agent {
namespace {

constexpr uint64_t kPageBytes = 4096;
// A little less than 2^31: the jump is relative to its own end, and trampolines jump back.
constexpr uint64_t kReachBytes = (uint64_t{1} << 31) - (uint64_t{1} << 20);
// Below this nothing is mapped (vm.mmap_min_addr); above it user addresses end.
constexpr uint64_t kLowestAddress = 0x10000, kHighestAddress = 0x7ffffffff000;
// Unmapped pages left between our pages and a neighbour, so that a stack above can still grow.
constexpr uint64_t kGuardBytes = 64 * kPageBytes;

uint64_t distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

// The best place in the free range [begin, end); 0 if none is in reach.
uint64_t place_in(uint64_t begin, uint64_t end, uint64_t low, uint64_t high, uint64_t size_bytes) {
  if (end < begin || end - begin < size_bytes + 2 * kGuardBytes) return 0;
  begin += kGuardBytes;
  uint64_t last = (end - kGuardBytes - size_bytes) & ~(kPageBytes - 1);
  uint64_t at = last < low ? last : begin;  // the end that faces the driver
  uint64_t farthest = distance(at, low) > distance(at + size_bytes, high) ? distance(at, low)
                                                                          : distance(at + size_bytes, high);
  if (distance(at, high) > farthest) farthest = distance(at, high);
  return farthest < kReachBytes ? at : 0;
}

// All of /proc/self/maps, NUL-ended, in pages of its own: malloc may be anything in a target.
constexpr size_t kMapsBytes = size_t{32} << 20;
char *read_maps() {
  void *memory =
      mmap(nullptr, kMapsBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char *text = static_cast<char *>(memory);
  size_t length = 0;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && length < kMapsBytes - 1) {
    ssize_t got = read(fd, text + length, kMapsBytes - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  if (fd >= 0) close(fd);
  return text;
}

}  // namespace

uint64_t find_gap(const char *maps, uint64_t low, uint64_t high, uint64_t size_bytes) {
  uint64_t best = 0, free_from = kLowestAddress;
  auto consider = [&](uint64_t begin, uint64_t end) {
    uint64_t at = place_in(begin, end, low, high, size_bytes);
    if (at && (!best || distance(at, low) < distance(best, low))) best = at;
  };
  for (const char *line = maps; *line;) {
    char *rest;
    uint64_t begin = strtoull(line, &rest, 16);
    if (*rest != '-') break;
    uint64_t end = strtoull(rest + 1, &rest, 16);
    if (begin >= kHighestAddress) break;  // [vsyscall]
    consider(free_from, begin);
    free_from = end;
    const char *newline = strchr(rest, '\n');
    if (!newline) break;
    line = newline + 1;
  }
  if (free_from < kHighestAddress) consider(free_from, kHighestAddress);
  return best;
}

uint64_t map_near(uint64_t low, uint64_t high, uint64_t size_bytes) {
  size_bytes = (size_bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  constexpr int kProtection = PROT_READ | PROT_WRITE | PROT_EXEC;
  constexpr int kAttempts = 4;  // another thread may take the gap first
  for (int i = 0; i < kAttempts; ++i) {
    char *maps = read_maps();
    if (!maps) break;
    uint64_t at = find_gap(maps, low, high, size_bytes);
    munmap(maps, kMapsBytes);
    if (!at) break;
    void *wanted = reinterpret_cast<void *>(at);
    void *got =
        mmap(wanted, size_bytes, kProtection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) return at;
    if (got != MAP_FAILED) munmap(got, size_bytes);
  }
  void *anywhere = mmap(nullptr, size_bytes, kProtection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return anywhere == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(anywhere);
}

}  // namespace egpu::agent
