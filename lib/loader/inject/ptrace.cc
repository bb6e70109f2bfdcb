#include "lib/loader/inject/ptrace.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "lib/loader/inject/borrowed.h"
#include "lib/loader/inject/symbols.h"
#include "lib/loader/inject/target.h"

namespace egpu::inject {
namespace {

constexpr auto kSafePointLimit = std::chrono::seconds(10);
constexpr auto kStartUpLimit = std::chrono::seconds(1);  // for libc to be mapped
constexpr auto kStopLimit = std::chrono::seconds(2);
constexpr auto kStrictLimit = std::chrono::milliseconds(200);  // then stale words on stacks are forgiven
constexpr useconds_t kRoundPauseUs = 5000;

struct Functions {
  uint64_t dlopen, dlsym, dlerror, errno_location;
};

Result<Functions> find_functions(const Memory &memory, const TargetFacts &facts) {
  Functions f{};
  // dlopen is in libc since glibc 2.34, in libdl before.
  for (const char *prefix : {"libc.so.6", "libc-2.", "libdl.so.2", "libdl-2."}) {
    uint64_t base = library_base(facts.mappings, prefix);
    if (base == 0) continue;
    auto library = Library::open(memory, base);
    if (!library) continue;
    auto fill = [&](uint64_t &place, const char *name) {
      if (auto symbol = library->find(name); symbol && place == 0) place = symbol->address;
    };
    fill(f.dlopen, "dlopen");
    fill(f.dlsym, "dlsym");
    fill(f.dlerror, "dlerror");
    fill(f.errno_location, "__errno_location");
  }
  if (f.dlopen == 0 || f.dlsym == 0 || f.dlerror == 0 || f.errno_location == 0)
    return Error{"process " + std::to_string(facts.pid) + ": its libc has no dlopen that we can find"};
  return f;
}

// The process as it is at one moment. A process that starts up goes on to map libraries, so a look
// is good for one round only.
struct Look {
  Memory memory;
  TargetFacts facts;
  Functions functions{};
  std::optional<SafePoints> points;
};

Result<std::unique_ptr<Look>> look_into(TargetFacts facts) {
  TRY(Memory memory, Memory::open(facts.pid, true));
  auto look = std::make_unique<Look>(Look{std::move(memory), std::move(facts), {}, {}});
  TRY(look->points, SafePoints::open(look->memory, look->facts));
  TRY(look->functions, find_functions(look->memory, look->facts));
  return look;
}

// The first thread, best first, that stops at a safe point; nothing if none does now.
Result<std::optional<Tracee>> stop_one(const Look &look, bool strict) {
  for (const Candidate &candidate : candidates(look.facts.pid)) {
    int error = 0;
    auto thread = Tracee::seize(candidate.tid, &error);
    if (!thread && error == EPERM) return Error{refused_by_kernel(look.facts.pid)};
    if (!thread) continue;  // it has just ended
    if (thread->stop(Clock::now() + kStopLimit) != Stopped::interrupted) continue;
    auto registers = thread->registers();
    if (registers && look.points->is_safe(*registers, strict || candidate.wait == Wait::none))
      return std::optional(std::move(*thread));
    keep_system_call(*thread);
  }
  return std::optional<Tracee>();
}

struct Stop {
  std::unique_ptr<Look> look;
  Tracee thread;
};

Result<Stop> stop_at_safe_point(pid_t pid) {
  for (auto begin = Clock::now();; ::usleep(kRoundPauseUs)) {
    auto waited = Clock::now() - begin;
    TRY(TargetFacts facts, check_attachable(pid));
    auto look = look_into(std::move(facts));
    // ld.so maps libcuda before libc, if the program is linked with both.
    if (!look && waited <= kStartUpLimit) continue;
    if (!look) return std::move(look).error();
    TRY(auto thread, stop_one(**look, waited < kStrictLimit));
    if (thread) return Stop{std::move(*look), std::move(*thread)};
    if (waited > kSafePointLimit)
      return Error{"process " + std::to_string(pid) +
                   ": no thread came to a point where the agent can be loaded; try again"};
  }
}

Result<Ok> fill_memfd(pid_t pid, uint64_t fd, std::span<const uint8_t> bytes) {
  std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  session::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return system_error(path);
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error(path);
    done += static_cast<size_t>(n);
  }
  return Ok{};
}

// Address of egpu_agent_attach after loading the agent through a memfd.
Result<uint64_t> load_agent(Borrowed &thread, const Memory &memory, const Functions &f, pid_t pid,
                            std::span<const uint8_t> agent, Clock::time_point deadline) {
  TRY(uint64_t name, thread.put("egpu-agent"));
  TRY(uint64_t fd, thread.call_system("memfd_create", SYS_memfd_create, {name, MFD_CLOEXEC}));
  Result<uint64_t> handle = uint64_t{0};
  Result<Ok> filled = fill_memfd(pid, fd, agent);
  if (filled) {
    TRY(uint64_t path, thread.put("/proc/self/fd/" + std::to_string(fd)));
    handle = thread.call("dlopen", f.dlopen, {path, RTLD_NOW | RTLD_LOCAL}, deadline);
  }
  if (handle) {
    TRY([[maybe_unused]] auto closed, thread.call_system("close", SYS_close, {fd}));
  }
  if (!filled) return std::move(filled).error();
  if (!handle) return std::move(handle).error();
  if (*handle == 0) {
    TRY(uint64_t text, thread.call("dlerror", f.dlerror, {}, deadline));
    TRY(std::string reason, memory.get_string(text));
    return Error{"the agent cannot be loaded: " + reason};
  }
  TRY(uint64_t symbol, thread.put("egpu_agent_attach"));
  TRY(uint64_t attach, thread.call("dlsym", f.dlsym, {*handle, symbol}, deadline));
  if (attach == 0) return Error{"the agent has no egpu_agent_attach; it is another library"};
  return attach;
}

Result<Ok> run_agent(Borrowed &thread, const Memory &memory, const Functions &f, const TargetFacts &facts,
                     std::span<const uint8_t> agent, const std::string &socket_path,
                     Clock::time_point deadline) {
  TRY([[maybe_unused]] auto prepared, thread.prepare());
  TRY(uint64_t errno_address, thread.call("__errno_location", f.errno_location, {}, deadline));
  TRY(auto saved_errno, memory.get<uint32_t>(errno_address));
  uint64_t attach = 0;
  if (facts.agent != 0) {
    TRY(Library library, Library::open(memory, facts.agent));
    if (auto symbol = library.find("egpu_agent_attach")) attach = symbol->address;
  }
  if (attach == 0) {
    TRY(attach, load_agent(thread, memory, f, facts.pid, agent, deadline));
  }
  TRY(uint64_t path, thread.put(socket_path));
  TRY(uint64_t result, thread.call("egpu_agent_attach", attach, {path}, deadline));
  TRY([[maybe_unused]] auto restored,
      memory.write(errno_address, {reinterpret_cast<const uint8_t *>(&saved_errno), sizeof(saved_errno)}));
  if (auto code = static_cast<int32_t>(result); code == EBUSY)
    return Error{"another egpu-load probes it already"};
  else if (code != 0)
    return Error{std::string("the agent cannot start: ") + std::strerror(std::abs(code))};
  return Ok{};
}

}  // namespace

Result<Injection> inject_agent(pid_t pid, std::span<const uint8_t> agent, const std::string &socket_path,
                               std::chrono::milliseconds call_limit) {
  std::string object = "process " + std::to_string(pid);
  TRY(Stop stop, stop_at_safe_point(pid));
  const auto &[memory, facts, functions, points] = *stop.look;
  auto begin = Clock::now();
  auto borrowed = Borrowed::borrow(stop.thread, memory, *points);
  if (!borrowed) return std::move(borrowed).error().in(object);
  auto ran = run_agent(*borrowed, memory, functions, facts, agent, socket_path, begin + call_limit);
  auto given_back = borrowed->give_back();
  stop.thread.detach();
  if (!ran) return std::move(ran).error().in(object);
  if (!given_back) return std::move(given_back).error().in(object);
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
  return Injection{stop.thread.tid(), facts.agent != 0, static_cast<uint64_t>(us)};
}

Result<Injection> inject_agent(pid_t pid, const std::string &agent_path, const std::string &socket_path,
                               std::chrono::milliseconds call_limit) {
  std::ifstream in(agent_path, std::ios::binary);
  if (!in) return system_error(agent_path);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return inject_agent(pid, bytes, socket_path, call_limit);
}

}  // namespace egpu::inject
