#include "lib/loader/agent/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace egpu::agent {
namespace {

std::atomic<int> session_socket{-1};
alignas(8) uint8_t receive_buffer[session::kMaxPacketBytes];

void close_descriptors(msghdr *message) {
  for (cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      close(fd);
    }
  }
}

// The one descriptor of a packet, or -1; more than one are closed and refused.
int take_descriptor(msghdr *message) {
  cmsghdr *c = CMSG_FIRSTHDR(message);
  if (!c) return -1;
  if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)) ||
      (message->msg_flags & MSG_CTRUNC)) {
    close_descriptors(message);
    return -1;
  }
  int fd;
  memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return fd;
}

}  // namespace

bool connect_session(const char *path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  // A session that stops reading must not hold the agent's thread for good.
  timeval limit = {5, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) {
    int saved = errno;
    close(fd);
    errno = saved;
    return false;
  }
  session_socket = fd;
  return true;
}

bool connected() { return session_socket >= 0; }
int session_fd() { return session_socket; }

// A Unix socket that is closed with packets unread gives its peer ECONNRESET instead of what we sent
// last (unix(7), net/unix/af_unix.c). So: no more from us, read away what comes until the peer
// closes, and give it up after a while.
void close_session() {
  constexpr uint64_t kLingerNs = 100 * 1000 * 1000;
  int fd = session_socket;
  if (fd < 0) return;
  shutdown(fd, SHUT_WR);
  Packet packet;
  for (uint64_t deadline = now_ns() + kLingerNs; receive_packet(&packet, deadline);)
    if (packet.fd >= 0) close(packet.fd);
  drop_session();
}

void drop_session() {
  int fd = session_socket.exchange(-1);
  if (fd >= 0) close(fd);
}

bool send_packet(session::Kind kind, const void *fixed, size_t fixed_bytes, const void *tail,
                 size_t tail_bytes, int fd) {
  int socket = session_socket;
  if (socket < 0 || fixed_bytes + tail_bytes + sizeof(session::Header) > session::kMaxPacketBytes)
    return false;
  session::Header header = {kind, static_cast<uint32_t>(fixed_bytes + tail_bytes)};
  iovec parts[3] = {{&header, sizeof header},
                    {const_cast<void *>(fixed), fixed_bytes},
                    {const_cast<void *>(tail), tail_bytes}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return true;
  shutdown(socket, SHUT_RDWR);  // the loop sees the end of file and ends the session
  return false;
}

bool receive_packet(Packet *packet, uint64_t deadline_ns) {
  int socket = session_socket;
  if (socket < 0) return false;
  for (;;) {
    uint64_t now = now_ns();
    pollfd wait = {socket, POLLIN, 0};
    int left_ms = now >= deadline_ns ? 0 : static_cast<int>((deadline_ns - now) / 1000000 + 1);
    int ready = poll(&wait, 1, left_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;

    iovec part = {receive_buffer, sizeof receive_buffer};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    session::Header header;
    if (static_cast<size_t>(got) < sizeof header || (message.msg_flags & MSG_TRUNC)) {
      close_descriptors(&message);
      return false;
    }
    memcpy(&header, receive_buffer, sizeof header);
    if (header.size_bytes != static_cast<size_t>(got) - sizeof header) {
      close_descriptors(&message);
      return false;
    }
    *packet = {header.kind, header.size_bytes, take_descriptor(&message), receive_buffer + sizeof header};
    return true;
  }
}

void send_warning(const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  size_t bytes = static_cast<size_t>(length) < sizeof text ? static_cast<size_t>(length) : sizeof text - 1;
  send_packet(session::Kind::warning, text, bytes + 1);
}

}  // namespace egpu::agent
