// What the hooks, on the target's threads, hand to the agent's thread.
//
// A lock-free stack that the agent's thread takes whole and turns around: push is one
// allocation, one compare-and-swap and, if the stack was empty, one write to an eventfd. Order
// of pushes is kept, so an image is always told before its kernels. Used off the fast path
// only: module loads, first launches of a function, context ends.
#pragma once
#include "lib/loader/agent/agent.h"

namespace egpu::agent {

// Something that a hook waits for, bounded. Freed by whoever lets go last.
struct Request {
  std::atomic<uint32_t> done{0};
  std::atomic<int> holders{2};
};

enum class Told : uint32_t {
  packet,          // send it; `context` (0: none) must be known to egpu-load before
  module_gone,     // entries were dropped: patched modules may be unused now
  context_ending,  // last snapshot of `context`, then hands off; `request`
  context_stays,   // it did not end after all; `request`
  context_gone,    // forget it; `request`
  exiting,         // last snapshot of all, and `ending`; `request`
};

struct Node {
  Node *next;
  Told told;
  session::Kind kind;
  int fd;  // attached to the packet, closed afterwards; -1: none
  uint32_t size_bytes;
  CUcontext context;
  Request *request;
  uint8_t *payload() { return reinterpret_cast<uint8_t *>(this + 1); }
};

/// A descriptor that polls readable when there is something; -1 if it cannot be made.
int queue_fd();
/// A node with room for the payload; null if memory is short. Not on the fast path.
Node *new_node(Told told, session::Kind kind, size_t payload_bytes);
void push(Node *node);
/// Gives up what is queued and the descriptor, which a forked child shares with its parent.
void drop_queue();
/// All nodes, oldest first; the caller frees them with free_node.
Node *take_all();
void free_node(Node *node);

/// A warning for the user, from any thread.
void push_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Pushes a request and waits until the agent's thread has done it, the limit is over or the session ends.
void push_and_wait(Told told, CUcontext context, uint64_t limit_ns);
void finish(Request *request);

}  // namespace egpu::agent
