// The agent's thread: handshake, then packets from egpu-load and news from the hooks until the
// session ends.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/loader/agent/detach.h"
#include "lib/loader/agent/entry.h"
#include "lib/loader/agent/hooks.h"
#include "lib/loader/agent/load.h"
#include "lib/loader/agent/maps.h"
#include "lib/loader/agent/queue.h"
#include "lib/loader/agent/socket.h"
#include "lib/loader/agent/table.h"

namespace egpu::agent {

using session::Kind;

namespace {

// A packet's fixed part; false if the packet is too short for it.
template <class T>
bool read_fixed(const Packet &packet, T *fixed) {
  if (packet.size_bytes < sizeof(T)) return false;
  memcpy(fixed, packet.payload, sizeof(T));
  return true;
}
template <class T>
size_t tail_bytes(const Packet &packet) {
  return packet.size_bytes - sizeof(T);
}

void on_maps(const Packet &packet) {
  session::Maps maps;
  if (!read_fixed(packet, &maps) ||
      tail_bytes<session::Maps>(packet) / sizeof(session::MapBlock) < maps.count) {
    if (packet.fd >= 0) close(packet.fd);
    send_warning("maps: packet too short");
    return;
  }
  make_maps(maps, reinterpret_cast<const session::MapBlock *>(packet.payload + sizeof maps), packet.fd);
}

void on_want_globals(const Packet &packet) {
  session::WantGlobals want;
  if (read_fixed(packet, &want))
    look_up_globals(want, reinterpret_cast<const char *>(packet.payload) + sizeof want,
                    tail_bytes<session::WantGlobals>(packet));
}

// False: the session is over.
bool handle_packet(const Packet &packet) {
  session::Load load;
  session::RingTail tail;
  bool takes_fd = packet.kind == Kind::maps || packet.kind == Kind::load;
  if (packet.fd >= 0 && !takes_fd) close(packet.fd);
  switch (packet.kind) {
    case Kind::maps:
      on_maps(packet);
      return true;
    case Kind::want_globals:
      on_want_globals(packet);
      return true;
    case Kind::load:
      if (read_fixed(packet, &load))
        load_modules(load, packet.fd);
      else if (packet.fd >= 0)
        close(packet.fd);
      return true;
    case Kind::snapshot:
      snapshot_all(false);
      return true;
    case Kind::ring_tail:
      if (read_fixed(packet, &tail)) set_ring_tail(tail);
      return true;
    case Kind::detach:
      return false;
    default:
      send_warning("message %u is not known to this agent", static_cast<unsigned>(packet.kind));
      return true;
  }
}

// The last words about a context, or about all of them.
void last_snapshot(ContextState *context, bool final) {
  if (!context->maps || !enter_context(context->handle)) return;
  drain(context, now_ns() + kDrainLimitNs);
  snapshot_context(context, final);
}

void handle_node(Node *node) {
  ContextState *context = find_context(node->context);
  switch (node->told) {
    case Told::packet:
      if (node->context) {
        context = enter_context(node->context);
        if (context) announce(context);
      }
      send_packet(node->kind, node->payload(), node->size_bytes, nullptr, 0, node->fd);
      break;
    case Told::module_gone:
      collect_garbage();
      break;
    case Told::context_ending:
      if (!context) break;
      last_snapshot(context, false);
      cu.cuCtxSetCurrent(nullptr);
      context->ending = true;
      break;
    case Told::context_stays:
      if (context) context->ending = false;
      break;
    case Told::context_gone:
      if (!context) break;
      confirm_final(*context);
      drop_context(node->context);
      drop_garbage(node->context);
      forget_context(context);
      break;
    case Told::exiting:
      for (ContextState &c : contexts)
        if (c.handle) last_snapshot(&c, true);
      send_packet(Kind::ending, nullptr, 0);
      break;
  }
}

void handle_nodes() {
  for (Node *node = take_all(); node;) {
    Node *next = node->next;
    handle_node(node);
    free_node(node);
    node = next;
  }
}

// Until `detach` (true) or the end of the socket (false).
bool serve() {
  for (;;) {
    pollfd wait[2] = {{session_fd(), POLLIN, 0}, {queue_fd(), POLLIN, 0}};
    constexpr int kGarbagePollMs = 200;
    int ready = poll(wait, 2, has_garbage() ? kGarbagePollMs : -1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0) collect_garbage();
    if (ready <= 0) continue;
    // News first: what the hooks have seen is told before an answer that may be about it.
    if (wait[1].revents) handle_nodes();
    if (!wait[0].revents) continue;
    Packet packet;
    if (!receive_packet(&packet, now_ns())) return false;
    if (packet.kind == Kind::detach) handle_nodes();
    if (!handle_packet(packet)) return true;
  }
}

void run_session() {
  bool detached = serve();
  end_session(detached);
  close_session();
}

}  // namespace

const char *handshake(session::Mode mode) {
  if (const char *missing = cu.cuLaunchKernel ? nullptr : cu.resolve(mode == session::kStart)) {
    cu.cuLaunchKernel = nullptr;  // resolve again next time
    send_warning("the driver lacks %s", missing);
    return "this driver is too old";
  }
  if (queue_fd() < 0 || !prepare_hooks()) return "no memory for hooks";
  for (Node *node = take_all(); node;) {
    Node *next = node->next;
    free_node(node);
    node = next;
  }
  counters.probed = 0;
  process.captures_active = 0;
  process.mode = mode;
  epoch.fetch_add(1);
  // Before the first jump: whatever comes through a hook from now on is queued for this session.
  process.active.store(true);

  session::Hello hello = {session::kProtocolVersion, mode, getpid(), 0};
  if (!send_packet(Kind::hello, &hello, sizeof hello) || !send_entries()) return "egpu-load has gone";
  Packet packet;
  session::HooksReady fixed;
  if (!receive_packet(&packet, now_ns() + kHandshakeLimitNs)) return "no answer from egpu-load";
  if (packet.fd >= 0) close(packet.fd);
  if (packet.kind != Kind::hooks_ready || !read_fixed(packet, &fixed) ||
      tail_bytes<session::HooksReady>(packet) / sizeof(session::Hook) < fixed.count)
    return "egpu-load's answer is malformed";
  const session::Hook *hooks = reinterpret_cast<const session::Hook *>(packet.payload + sizeof fixed);
  return install_hooks(hooks, fixed.count) ? nullptr : "no entry point could be hooked";
}

void *run_attached(void *) {
  do {
    char path[108];
    if (!take_attach(path)) continue;
    if (connect_session(path) && !handshake(session::kAttach)) {
      run_session();
      continue;
    }
    // Never a word on the target's stderr: egpu-load sees the socket close.
    process.active.store(false);
    epoch.fetch_add(1);
    remove_hooks();
    close_session();
  } while (next_attach());
  return nullptr;
}

void *run_started(void *) {
  run_session();
  return next_attach() ? run_attached(nullptr) : nullptr;
}

}  // namespace egpu::agent
