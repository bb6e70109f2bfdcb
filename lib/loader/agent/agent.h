// State of the agent that its parts share, and how one session with egpu-load goes.
//
// The agent (libegpu-agent.so) lives in the target. It comes by CUDA_INJECTION64_PATH (start
// mode: InitializeInjection runs inside cuInit) or by ptrace (attach: egpu_agent_attach). One
// session at a time; between sessions the agent is idle: no hook, no thread, no socket. Its
// code and its trampolines stay for good, because a thread of the target may be inside them.
//
//   entry     exports, connecting, fork and exit       socket   packets to and from egpu-load
//   thread    the agent's thread: handshake and loop    queue    what hooks tell the thread
//   hooks     entry points, trampolines, jumps          table    function -> what to launch
//   launch    launches redirected                       graph    kernel nodes redirected
//   modules   module loads and unloads, attributes      images   the bytes of a loaded image
//   contexts  what is kept per CUDA context             clock    %globaltimer to CLOCK_MONOTONIC
//   load      patched modules compiled and published    maps     device memory, snapshots
//   detach    draining, freeing, ending a session
//
// Rules: never exit, abort or throw; nothing on stdout; any failure means that the original
// kernel runs and egpu-load is told once. libc only: no libstdc++ symbol may be needed.
// State is in static storage that is never destroyed: hooks run until the process is gone.
#pragma once
#include <stdint.h>

#include <atomic>

#include "lib/loader/driver/driver.h"
#include "lib/loader/session/protocol.h"

namespace egpu::agent {

using driver::CUcontext;
using driver::CUdevice;
using driver::CUdeviceptr;
using driver::CUfunction;
using driver::CUkernel;
using driver::CUlibrary;
using driver::CUmodule;
using driver::CUresult;
using driver::CUstream;

/// The driver's functions; entry points that are hooked point to their trampolines.
extern driver::Driver cu;

struct State {
  // True from before the hooks are placed until the session ends: hooks look at functions.
  std::atomic<bool> active{false};
  // exit() has begun: the driver's own exit handlers may run at any time from now on, so the agent's
  // thread makes no driver call of its own accord any more.
  std::atomic<bool> exiting{false};
  std::atomic<uint32_t> mode{session::kAttach};
  // Captures that the target has begun and not ended, as far as the hooks have seen.
  std::atomic<int> captures_active{0};
};
extern State process;

// Written at every redirected launch, hence on cache lines of their own.
struct alignas(64) LaunchCounters {
  std::atomic<int64_t> in_flight{0};  // threads between the look-up and the driver's return
  std::atomic<uint64_t> probed{0};    // redirected launches that succeeded, this session
};
extern LaunchCounters counters;

constexpr uint64_t kNanosecondsPerSecond = 1000000000;
constexpr uint64_t kDrainLimitNs = 2 * kNanosecondsPerSecond;
constexpr uint64_t kVerdictLimitNs = 60 * kNanosecondsPerSecond;
constexpr uint64_t kHandshakeLimitNs = 10 * kNanosecondsPerSecond;

/// CLOCK_MONOTONIC.
uint64_t now_ns();
void sleep_ns(uint64_t duration_ns);

/// Sleeps while *word == expected, until woken or the (absolute) deadline; spurious returns happen.
void futex_wait(std::atomic<uint32_t> *word, uint32_t expected, uint64_t deadline_ns);
void futex_wake_all(std::atomic<uint32_t> *word);

/// Runs `body(argument)` on a detached thread that no signal of the target is delivered to.
bool start_thread(const char *name, void *(*body)(void *), void *argument);

}  // namespace egpu::agent
