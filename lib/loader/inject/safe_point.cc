#include "lib/loader/inject/safe_point.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "lib/loader/inject/symbols.h"

namespace egpu::inject {
namespace {

constexpr uint64_t kStrictStackBytes = 256 * 1024, kNearStackBytes = 2048;
// Static functions of malloc.o lie before and between its exported ones.
constexpr uint64_t kMallocMarginBytes = 16 * 1024;

// Which argument bounds the wait, and how "for ever" is spelled.
enum class Bound { never, always, null_pointer, negative_int, futex };
struct WaitRow {
  long number;
  Bound bound;
  int argument;
};
constexpr WaitRow kWaits[] = {
    {SYS_poll, Bound::negative_int, 2},
    {SYS_epoll_wait, Bound::negative_int, 3},
    {SYS_epoll_pwait, Bound::negative_int, 3},
    {SYS_epoll_pwait2, Bound::null_pointer, 3},
    {SYS_ppoll, Bound::null_pointer, 2},
    {SYS_select, Bound::null_pointer, 4},
    {SYS_pselect6, Bound::null_pointer, 4},
    {SYS_futex, Bound::futex, 3},
    {SYS_rt_sigtimedwait, Bound::null_pointer, 2},
    {SYS_semtimedop, Bound::null_pointer, 3},
    {SYS_read, Bound::never, 0},
    {SYS_recvfrom, Bound::never, 0},
    {SYS_recvmsg, Bound::never, 0},
    {SYS_accept, Bound::never, 0},
    {SYS_accept4, Bound::never, 0},
    {SYS_wait4, Bound::never, 0},
    {SYS_waitid, Bound::never, 0},
    {SYS_pause, Bound::never, 0},
    {SYS_rt_sigsuspend, Bound::never, 0},
    {SYS_semop, Bound::never, 0},
    {SYS_flock, Bound::never, 0},
    {SYS_nanosleep, Bound::always, 0},
    {SYS_clock_nanosleep, Bound::always, 0},
};

// Functions of libc during which a lock is held that dlopen needs, or which may call back.
constexpr const char *kLockHolders[] = {
    "dl_iterate_phdr", "dlopen",       "dlmopen", "dlclose",       "dlsym",
    "dladdr",          "dlerror",      "fork",    "vfork",         "_Fork",
    "pthread_create",  "pthread_exit", "exit",    "__cxa_finalize"};
constexpr const char *kMallocs[] = {"malloc",   "free",          "calloc",         "realloc",
                                    "memalign", "aligned_alloc", "posix_memalign", "malloc_usable_size"};

bool is_named(const Mapping &m, std::string_view prefix) {
  size_t slash = m.path.rfind('/');
  return slash != std::string::npos && m.path.compare(slash + 1, prefix.size(), prefix) == 0;
}

bool holds(const std::vector<Range> &ranges, uint64_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range &r) { return r.begin <= address && address < r.end; });
}

bool is_wait(long number) {
  return number == SYS_restart_syscall ||
         std::any_of(std::begin(kWaits), std::end(kWaits),
                     [&](const WaitRow &row) { return row.number == number; });
}

// "running", "-1 SP PC" (waits outside of a system call), or "NUMBER ARG0 ... ARG5 SP PC".
Wait read_wait(pid_t pid, pid_t tid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall");
  std::string line;
  std::getline(in, line);
  long number;
  unsigned long long a[6];
  if (std::sscanf(line.c_str(), "%ld %llx %llx %llx %llx %llx %llx", &number, a, a + 1, a + 2, a + 3, a + 4,
                  a + 5) != 7)
    return Wait::none;
  uint64_t arguments[6];
  std::copy(a, a + 6, arguments);
  return wait_of(number, arguments);
}

}  // namespace

Wait wait_of(long number, const uint64_t (&arguments)[6]) {
  for (const WaitRow &row : kWaits) {
    if (row.number != number) continue;
    uint64_t value = arguments[row.argument];
    bool unlimited = false;
    switch (row.bound) {
      case Bound::never:
        unlimited = true;
        break;
      case Bound::always:
        break;
      case Bound::null_pointer:
        unlimited = value == 0;
        break;
      case Bound::negative_int:
        unlimited = static_cast<int32_t>(value) < 0;
        break;
      case Bound::futex: {
        // FUTEX_WAIT_BITSET and FUTEX_LOCK_PI take absolute times: a restart changes nothing.
        uint64_t operation = arguments[1] & 0x7f;
        unlimited = value == 0 || operation == 9 || operation == 6;
        break;
      }
    }
    return unlimited ? Wait::unlimited : Wait::limited;
  }
  return Wait::limited;
}

std::vector<Candidate> candidates(pid_t pid) {
  std::vector<Candidate> all;
  for (pid_t tid : threads_of(pid)) all.push_back({tid, read_wait(pid, tid)});
  // The main thread last among equals: it is the one most likely to be in the user's way.
  std::stable_sort(all.begin(), all.end(), [&](const Candidate &a, const Candidate &b) {
    return std::pair(a.wait, a.tid == pid) < std::pair(b.wait, b.tid == pid);
  });
  return all;
}

Result<SafePoints> SafePoints::open(const Memory &memory, const TargetFacts &facts) {
  SafePoints points(memory, facts);
  uint64_t libc = library_base(facts.mappings, "libc.so.6");
  if (libc == 0) libc = library_base(facts.mappings, "libc-2.");
  if (libc == 0)
    return Error{"process " + std::to_string(facts.pid) +
                 ": has no glibc (static or musl programs are not supported)"};
  const Mapping *of_libc = mapping_at(facts.mappings, libc);
  for (const Mapping &m : facts.mappings) {
    if (m.execute && m.path == of_libc->path) points.libc_code_.push_back({m.begin, m.end});
    if (m.execute && (is_named(m, "ld-linux") || is_named(m, "ld-2.")))
      points.unsafe_.push_back({m.begin, m.end});
  }
  points.add_function_ranges(libc);
  points.add_other_mallocs(libc);
  if (!points.find_gadgets())
    return Error{"process " + std::to_string(facts.pid) + ": its libc is of an unknown kind"};
  return points;
}

void SafePoints::add_function_ranges(uint64_t libc) {
  auto library = Library::open(*memory_, libc);
  if (!library) return;
  for (const char *name : kLockHolders)
    if (auto symbol = library->find(name))
      unsafe_.push_back({symbol->address, symbol->address + std::max<uint64_t>(symbol->size, 16)});
  Range mallocs = {UINT64_MAX, 0};
  for (const char *name : kMallocs) {
    auto symbol = library->find(name);
    if (!symbol) continue;
    mallocs.begin = std::min(mallocs.begin, symbol->address);
    mallocs.end = std::max(mallocs.end, symbol->address + symbol->size);
  }
  if (mallocs.end != 0)
    unsafe_.push_back({mallocs.begin - kMallocMarginBytes, mallocs.end + kMallocMarginBytes});
}

// tcmalloc, jemalloc, a sanitizer: any other library that defines malloc, with all its code. In the
// program itself only the neighbourhood, since all else is there too.
void SafePoints::add_other_mallocs(uint64_t libc) {
  std::string last;
  for (const Mapping &m : facts_->mappings) {
    if (m.offset != 0 || m.inode == 0 || m.begin == libc || m.path == last || m.path.starts_with("/dev/"))
      continue;
    last = m.path;
    auto library = Library::open(*memory_, m.begin);
    if (!library) continue;
    auto symbol = library->find("malloc");
    if (!symbol) continue;
    if (m.path == facts_->executable) {
      unsafe_.push_back({symbol->address - kMallocMarginBytes, symbol->address + kMallocMarginBytes});
      continue;
    }
    for (const Mapping &code : facts_->mappings)
      if (code.execute && code.path == m.path && !is_named(code, "ld-linux"))
        unsafe_.push_back({code.begin, code.end});
  }
}

bool SafePoints::find_gadgets() {
  constexpr uint8_t kSyscallReturn[] = {0x0f, 0x05, 0xc3};
  constexpr uint8_t kRestorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  auto find = [](const std::vector<uint8_t> &code, std::span<const uint8_t> pattern) {
    auto at = std::search(code.begin(), code.end(), pattern.begin(), pattern.end());
    return at == code.end() ? std::optional<size_t>() : static_cast<size_t>(at - code.begin());
  };
  for (const Range &range : libc_code_) {
    std::vector<uint8_t> code(range.end - range.begin);
    code.resize(memory_->read_some(range.begin, code));
    if (syscall_return_ == 0)
      if (auto at = find(code, kSyscallReturn)) syscall_return_ = range.begin + *at;
    if (restorer_ == 0)
      if (auto at = find(code, kRestorer)) restorer_ = range.begin + *at;
  }
  return syscall_return_ != 0 && restorer_ != 0;
}

// Is there a call before this address? (e8 rel32, or ff /2 in its lengths.)
bool SafePoints::is_return_address(uint64_t word) const {
  uint8_t before[7];
  if (!memory_->read(word - sizeof(before), before)) return false;
  if (before[2] == 0xe8) return true;
  for (size_t length : {2, 3, 4, 6, 7}) {
    const uint8_t *at = before + sizeof(before) - length;
    if (at[0] == 0xff && ((at[1] >> 3) & 7) == 2) return true;
  }
  return false;
}

// For a thread that runs: code of the program or of a library that has nothing to do with locks.
bool SafePoints::runs_in_plain_code(uint64_t rip) const {
  const Mapping *m = mapping_at(facts_->mappings, rip);
  return m != nullptr && m->execute && m->path[0] != '[' && !holds(libc_code_, rip) && !holds(unsafe_, rip);
}

bool SafePoints::is_safe(const Registers &registers, bool strict) const {
  if (holds(unsafe_, registers.rip)) return false;
  bool in_system_call = static_cast<int64_t>(registers.orig_rax) >= 0;
  if (!in_system_call && !runs_in_plain_code(registers.rip)) return false;
  // Not in munmap, say, which libc calls with its stack cache locked.
  if (in_system_call && !is_wait(static_cast<long>(registers.orig_rax))) return false;
  const Mapping *stack = mapping_at(facts_->mappings, registers.rsp);
  // A frame is laid below the red zone; a stack that is about to end has no room for it.
  constexpr uint64_t kRoomBytes = 32 * 1024;
  if (stack != nullptr && registers.rsp - stack->begin < kRoomBytes) return false;
  uint64_t size = strict ? kStrictStackBytes : kNearStackBytes;
  if (stack != nullptr) size = std::min<uint64_t>(size, stack->end - registers.rsp);
  std::vector<uint8_t> bytes(size);
  bytes.resize(memory_->read_some(registers.rsp, bytes));
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    if (word == restorer_) return false;
    if (holds(unsafe_, word) && is_return_address(word)) return false;
  }
  return bytes.size() >= 8;
}

}  // namespace egpu::inject
