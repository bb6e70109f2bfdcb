// Packets of protocol.h over a SEQPACKET Unix socket: egpu-load's side.
//
// A packet is a Header, size_bytes of payload and at most one file descriptor. Nothing that the
// peer sends is trusted: a packet whose length differs from its header's, that was cut, or that
// carries several descriptors is an error, and Reader checks every later length. Descriptors
// that come with a refused packet are closed. The peer's uid is checked at accept (SO_PEERCRED).
// Source: unix(7), cmsg(3).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/session/fd.h"
#include "lib/loader/session/protocol.h"

namespace egpu::session {

struct Packet {
  Kind kind;
  std::vector<uint8_t> payload;
  Fd fd;  // invalid if none came
};

/// "image" for Kind::image, for messages; "kind 77" for an unknown one.
std::string kind_name(Kind kind);

// One end of a connection.
class Channel {
 public:
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  Fd take_fd() { return std::move(fd_); }
  /// Sends one packet; `attached` stays the caller's. Never raises SIGPIPE; if the peer has closed,
  /// the packet is lost and receive() tells.
  Result<Ok> send(Kind kind, std::span<const uint8_t> payload, int attached = -1);
  /// The next packet, waiting for it; nullopt once the peer has closed.
  Result<std::optional<Packet>> receive();

 private:
  Fd fd_;
};

/// True if the descriptor can be read (or is at its end) within the time.
bool wait_readable(int fd, int timeout_ms);

struct Peer {
  Channel channel;
  pid_t pid;
};

// A listening socket; its file is removed with it.
class Listener {
 public:
  static Result<Listener> open(const std::string &path);
  Listener(Listener &&) noexcept = default;
  Listener &operator=(Listener &&) noexcept = default;
  ~Listener();

  int fd() const { return fd_.get(); }
  const std::string &path() const { return path_; }
  /// Waits for a peer. Error: the peer's uid is neither ours nor root's.
  Result<Peer> accept();

 private:
  Listener(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

Result<Channel> connect_to(const std::string &path);
bool socket_is_listening(const std::string &path);

/// An anonymous file with these bytes, offset 0, close-on-exec.
Result<Fd> make_memfd(const char *name, std::span<const uint8_t> bytes);
/// The whole content of a regular file or memfd. Read, not mapped: the peer could shrink it.
Result<std::vector<uint8_t>> read_fd(int fd, uint64_t limit_bytes);

// Takes the parts of a payload from front to back.
class Reader {
 public:
  explicit Reader(const Packet &packet) : what_(kind_name(packet.kind)), rest_(packet.payload) {}
  Reader(std::string what, std::span<const uint8_t> bytes) : what_(std::move(what)), rest_(bytes) {}

  template <class T>
  Result<T> take() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (rest_.size() < sizeof(T)) return too_short(sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  template <class T>
  Result<std::vector<T>> take_array(uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > rest_.size() / sizeof(T)) return too_short(count * sizeof(T));
    std::vector<T> values(count);
    if (count != 0) std::memcpy(values.data(), rest_.data(), count * sizeof(T));
    rest_ = rest_.subspan(count * sizeof(T));
    return values;
  }

  /// A NUL-ended string, without its NUL.
  Result<std::string> take_string();
  Result<std::vector<std::string>> take_strings(uint64_t count);
  /// Error: something is left over.
  Result<Ok> end() const;

 private:
  Error too_short(uint64_t wanted_bytes) const;
  std::string what_;
  std::span<const uint8_t> rest_;
};

// Puts the parts of a payload together.
class Writer {
 public:
  template <class T>
  Writer &put(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(&value, sizeof(T));
  }
  template <class T>
  Writer &put_array(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(values.data(), values.size_bytes());
  }
  Writer &put_string(std::string_view text);  // with its NUL
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  Writer &put_bytes(const void *data, size_t size);
  std::vector<uint8_t> bytes_;
};

/// A packet that is a T and nothing else.
template <class T>
Result<T> parse(const Packet &packet) {
  Reader reader(packet);
  TRY(T value, reader.take<T>());
  TRY([[maybe_unused]] auto ended, reader.end());
  return value;
}

template <class T>
struct WithArray {
  T head;
  std::vector<uint64_t> values;
};

/// A packet that is a T with a `count` and then that many u64: MapBlocks, Globals.
template <class T>
Result<WithArray<T>> parse_with_array(const Packet &packet) {
  Reader reader(packet);
  TRY(T head, reader.take<T>());
  TRY(auto values, reader.take_array<uint64_t>(head.count));
  TRY([[maybe_unused]] auto ended, reader.end());
  return WithArray<T>{head, std::move(values)};
}

template <class T>
struct WithText {
  T head;
  std::string text;
};

/// A packet that is a T and then a NUL-ended string: Kernel, Loaded.
template <class T>
Result<WithText<T>> parse_with_text(const Packet &packet) {
  Reader reader(packet);
  TRY(T head, reader.take<T>());
  TRY(std::string text, reader.take_string());
  TRY([[maybe_unused]] auto ended, reader.end());
  return WithText<T>{head, std::move(text)};
}

}  // namespace egpu::session
