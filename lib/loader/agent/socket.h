// Packets between the agent and egpu-load (lib/loader/session/protocol.h).
//
// Every send is bounded by a time-out; a failed one closes the session at the next poll. Only
// the agent's thread (in start mode's handshake: the thread inside cuInit) uses the socket.
#pragma once
#include "lib/loader/agent/agent.h"

namespace egpu::agent {

struct Packet {
  session::Kind kind;
  uint32_t size_bytes;
  int fd;  // -1: none; owned by the receiver
  const uint8_t *payload;
};

/// Connects to the session's SEQPACKET socket; false with errno.
bool connect_session(const char *path);
bool connected();
/// The descriptor for poll; -1 if not connected.
int session_fd();
/// Closes so that the peer gets all that was sent; may take a tenth of a second.
void close_session();
/// Closes at once.
void drop_session();

/// One packet whose payload is `fixed` and then `tail`. `fd` is attached, not closed.
bool send_packet(session::Kind kind, const void *fixed, size_t fixed_bytes, const void *tail = nullptr,
                 size_t tail_bytes = 0, int fd = -1);

/// The next packet, waiting until the deadline. False: end of file, error or time-out. The
/// payload is valid until the next call, 8-aligned.
bool receive_packet(Packet *packet, uint64_t deadline_ns);

/// Tells egpu-load something for the user. From the agent's thread only; hooks use queue.h.
void send_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace egpu::agent
