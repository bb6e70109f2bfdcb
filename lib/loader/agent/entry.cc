#include "lib/loader/agent/entry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/loader/agent/hooks.h"
#include "lib/loader/agent/queue.h"
#include "lib/loader/agent/socket.h"
#include "lib/loader/agent/table.h"

namespace egpu::agent {

namespace {

std::atomic<bool> busy{false};     // a thread has the agent
std::atomic<bool> pending{false};  // attach_path waits for the agent
constinit char attach_path[108] = {};

// A child has our hooks in its memory but no thread of ours, and the session's socket is its parent's.
void in_forked_child() {
  process.active.store(false);
  epoch.fetch_add(1);
  drop_session();
  drop_queue();
  pending.store(false);
  busy.store(false);
}

bool begin() {
  if (busy.exchange(true)) return false;
  static bool registered;
  if (!registered) {
    registered = true;
    pthread_atfork(nullptr, nullptr, in_forked_child);
  }
  return true;
}

// Bounded: two seconds for the device, two for the copy.
void at_exit() {
  if (process.exiting.exchange(true)) return;
  if (process.active) push_and_wait(Told::exiting, nullptr, kDrainLimitNs + 2 * kNanosecondsPerSecond);
}

void warn_on_stderr(const char *path, const char *why) {
  fprintf(stderr, "egpu-agent: %s: %s; the program runs without probes\n", path, why);
}

}  // namespace

void register_exit_handler() { atexit(at_exit); }

bool take_attach(char *path) {
  if (!pending.load()) return false;
  strcpy(path, attach_path);
  pending.store(false);
  return true;
}

bool next_attach() {
  busy.store(false);
  return pending.load() && begin();
}

}  // namespace egpu::agent

using namespace egpu;
using namespace egpu::agent;

// Called by the driver inside cuInit, with its locks held: no CUDA call that needs an initialised
// driver may be made here.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  const char *path = getenv("EGPU_SOCKET");
  if (!path || !*path || !begin()) return 1;
  const char *why = nullptr;
  if (!connect_session(path)) {
    why = strerror(errno);
  } else {
    why = handshake(session::kStart);
    if (!why && !start_thread("egpu-agent", run_started, nullptr)) why = "no thread can be made";
  }
  if (!why) return 1;
  warn_on_stderr(path, why);
  process.active.store(false);
  epoch.fetch_add(1);
  remove_hooks();
  close_session();
  if (next_attach()) start_thread("egpu-agent", run_attached, nullptr);
  return 1;
}

// Called through ptrace in a thread of the running target: everything that takes time, connecting
// included, is done on the agent's own thread. 0: the thread runs.
extern "C" __attribute__((visibility("default"))) int egpu_agent_attach(const char *socket_path) {
  if (!socket_path || strlen(socket_path) >= sizeof attach_path) return EINVAL;
  if (process.active || pending) return EBUSY;
  strcpy(attach_path, socket_path);
  pending.store(true);
  // The last session's thread may still be ending it; then it takes this one over.
  if (!begin()) return 0;
  if (start_thread("egpu-agent", run_attached, nullptr)) return 0;
  pending.store(false);
  next_attach();
  return EAGAIN;
}
