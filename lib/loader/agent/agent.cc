#include "lib/loader/agent/agent.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace egpu::agent {

constinit driver::Driver cu;
constinit State process;
constinit LaunchCounters counters;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(t.tv_nsec);
}

static timespec to_timespec(uint64_t ns) {
  return {static_cast<time_t>(ns / kNanosecondsPerSecond), static_cast<long>(ns % kNanosecondsPerSecond)};
}

void sleep_ns(uint64_t duration_ns) {
  timespec t = to_timespec(duration_ns);
  nanosleep(&t, nullptr);
}

// futex(2): FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time.
void futex_wait(std::atomic<uint32_t> *word, uint32_t expected, uint64_t deadline_ns) {
  timespec deadline = to_timespec(deadline_ns);
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake_all(std::atomic<uint32_t> *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX); }

bool start_thread(const char *name, void *(*body)(void *), void *argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The driver's PTX compiler runs on this stack; only touched pages cost memory.
  pthread_attr_setstacksize(&attributes, size_t{8} << 20);
  // A new thread inherits the mask: block everything while it is made.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  bool ok = pthread_create(&thread, &attributes, body, argument) == 0;
  if (ok) pthread_setname_np(thread, name);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return ok;
}

}  // namespace egpu::agent
