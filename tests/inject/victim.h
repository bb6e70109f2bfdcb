// What the victim process, its agent and the test see of each other: a file mapped by all.
#pragma once
#include <stdint.h>

// What a thread of the victim does, over and over; each checks that nothing was done to it.
enum Kind {
  kPoll,       // waits in poll for ever (never progresses)
  kSleep,      // nanosleep: never EINTR, right length
  kEpoll,      // epoll_wait: never EINTR, no event lost
  kCondition,  // condition variables: ping-pong with exact counts
  kMalloc,     // malloc, free, realloc with checked contents
  kVector,     // AVX registers keep their values
  kLaunch,     // cuLaunchKernel with checked result
  kRead,       // blocking read of a pipe: never EINTR, no byte lost
  kSigwait,    // queued real-time signals by sigwaitinfo: none lost
  kHandler,    // queued real-time signals by a handler that mallocs nothing: none lost
  kLongSleep,  // nanosleep of a second
  kKinds
};
constexpr const char *kKindNames[kKinds] = {"poll",   "sleep", "epoll",   "condition", "malloc",    "vector",
                                            "launch", "read",  "sigwait", "handler",   "long_sleep"};

struct Shared {
  uint32_t started;           // main has mapped this
  uint64_t progress[kKinds];  // rounds done
  uint64_t hooked_launches, agent_threads, attaches;
  uint64_t launch_address, trampoline, replacement;
  double noise;
  uint64_t longest_sleep_us;
  // epoll_wait and sigwaitinfo may end with EINTR, as after SIGSTOP and SIGCONT (signal(7)): a tracer
  // that is killed within the microseconds that it takes to put this right cannot help it.
  uint32_t may_be_interrupted;
  uint32_t failed;
  char failure[200];
};
