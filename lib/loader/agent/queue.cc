#include "lib/loader/agent/queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace egpu::agent {
namespace {

std::atomic<Node *> head{nullptr};
std::atomic<int> event_fd{-1};

void let_go(Request *request) {
  if (request->holders.fetch_sub(1) == 1) free(request);
}

}  // namespace

int queue_fd() {
  int fd = event_fd;
  if (fd >= 0) return fd;
  fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  event_fd = fd;
  return fd;
}

Node *new_node(Told told, session::Kind kind, size_t payload_bytes) {
  if (payload_bytes + sizeof(session::Header) > session::kMaxPacketBytes) return nullptr;
  Node *node = static_cast<Node *>(calloc(1, sizeof(Node) + payload_bytes));
  if (!node) return nullptr;
  node->told = told;
  node->kind = kind;
  node->fd = -1;
  node->size_bytes = static_cast<uint32_t>(payload_bytes);
  return node;
}

void push(Node *node) {
  Node *old = head.load(std::memory_order_relaxed);
  do {
    node->next = old;
  } while (!head.compare_exchange_weak(old, node, std::memory_order_release, std::memory_order_relaxed));
  if (old) return;  // whoever pushed onto the empty stack wakes the thread
  uint64_t one = 1;
  ssize_t ignored = write(event_fd, &one, sizeof one);
  (void)ignored;
}

void drop_queue() {
  head.store(nullptr);
  int fd = event_fd.exchange(-1);
  if (fd >= 0) close(fd);
}

Node *take_all() {
  uint64_t count;
  ssize_t ignored = read(event_fd, &count, sizeof count);
  (void)ignored;
  Node *stack = head.exchange(nullptr, std::memory_order_acquire), *list = nullptr;
  while (stack) {
    Node *next = stack->next;
    stack->next = list;
    list = stack;
    stack = next;
  }
  return list;
}

void free_node(Node *node) {
  if (node->fd >= 0) close(node->fd);
  if (node->request) finish(node->request);
  free(node);
}

void push_warning(const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  size_t bytes = strlen(text) + 1;
  Node *node = new_node(Told::packet, session::Kind::warning, bytes);
  if (!node) return;
  memcpy(node->payload(), text, bytes);
  push(node);
}

void push_and_wait(Told told, CUcontext context, uint64_t limit_ns) {
  Node *node = new_node(told, session::Kind::warning, 0);
  void *memory = calloc(1, sizeof(Request));
  if (!node || !memory) {
    free(node);
    free(memory);
    return;
  }
  Request *request = static_cast<Request *>(memory);
  request->holders = 2;
  node->context = context;
  node->request = request;
  push(node);
  // In slices: the session may end between our check of `active` and the push.
  constexpr uint64_t kSliceNs = 50 * 1000 * 1000;
  uint64_t deadline = now_ns() + limit_ns;
  while (request->done == 0 && process.active && now_ns() < deadline)
    futex_wait(&request->done, 0, now_ns() + kSliceNs);
  let_go(request);
}

void finish(Request *request) {
  request->done = 1;
  futex_wake_all(&request->done);
  let_go(request);
}

}  // namespace egpu::agent
