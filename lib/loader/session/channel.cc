#include "lib/loader/session/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>

namespace egpu::session {
namespace {

struct KindName {
  Kind kind;
  const char *name;
};
constexpr KindName kKindNames[] = {
    {Kind::hello, "hello"},
    {Kind::entries, "entries"},
    {Kind::context, "context"},
    {Kind::map_blocks, "map_blocks"},
    {Kind::image, "image"},
    {Kind::kernel, "kernel"},
    {Kind::globals, "globals"},
    {Kind::loaded, "loaded"},
    {Kind::snapshot_done, "snapshot_done"},
    {Kind::ending, "ending"},
    {Kind::detached, "detached"},
    {Kind::warning, "warning"},
    {Kind::measured, "measured"},
    {Kind::hooks_ready, "hooks_ready"},
    {Kind::maps, "maps"},
    {Kind::want_globals, "want_globals"},
    {Kind::load, "load"},
    {Kind::snapshot, "snapshot"},
    {Kind::ring_tail, "ring_tail"},
    {Kind::detach, "detach"},
};

Result<sockaddr_un> address_of(const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return Error{path + ": too long for a socket (at most 107 bytes); choose a shorter EGPU_RUNTIME_DIR"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Descriptors of a message, each closed unless taken.
std::vector<Fd> take_descriptors(msghdr &message) {
  std::vector<Fd> fds;
  for (cmsghdr *c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

std::string kind_name(Kind kind) {
  for (const KindName &row : kKindNames)
    if (row.kind == kind) return row.name;
  return "kind " + std::to_string(static_cast<uint32_t>(kind));
}

Result<Ok> Channel::send(Kind kind, std::span<const uint8_t> payload, int attached) {
  if (payload.size() > kMaxPacketBytes - sizeof(Header))
    return Error{kind_name(kind) + ": message of " + std::to_string(payload.size()) + " bytes is too long"};
  Header header{kind, static_cast<uint32_t>(payload.size())};
  iovec parts[2] = {{&header, sizeof(header)}, {const_cast<uint8_t *>(payload.data()), payload.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = payload.empty() ? 1 : 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (attached >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &attached, sizeof(int));
  }
  ssize_t sent;
  do sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  // A peer that has closed is no error here either: receive() meets the end in its turn.
  if (sent < 0 && errno != EPIPE && errno != ECONNRESET) return system_error("sending " + kind_name(kind));
  return Ok{};
}

Result<std::optional<Packet>> Channel::receive() {
  std::vector<uint8_t> buffer(kMaxPacketBytes);
  iovec part = {buffer.data(), buffer.size()};
  // Room for more descriptors than we accept, so that surplus ones are seen and closed.
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t received;
  // ECONNRESET, said once: the peer closed before it read all that we sent. What it sent before is
  // still there, and the end of the stream comes after that.
  do received = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  while (received < 0 && (errno == EINTR || errno == ECONNRESET));
  if (received < 0) return system_error("receiving");
  std::vector<Fd> fds = take_descriptors(message);
  if (received == 0) return std::optional<Packet>();  // unix(7): end of stream; we send no empty packets
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Error{"packet is too long"};
  if (fds.size() > 1) return Error{"packet carries " + std::to_string(fds.size()) + " file descriptors"};
  auto size = static_cast<size_t>(received);
  if (size < sizeof(Header)) return Error{"packet of " + std::to_string(size) + " bytes is too short"};
  Header header;
  std::memcpy(&header, buffer.data(), sizeof(header));
  if (header.size_bytes != size - sizeof(Header))
    return Error{kind_name(header.kind) + ": header says " + std::to_string(header.size_bytes) +
                 " bytes, packet has " + std::to_string(size - sizeof(Header))};
  buffer.erase(buffer.begin(), buffer.begin() + sizeof(Header));
  buffer.resize(header.size_bytes);
  Packet packet{header.kind, std::move(buffer), fds.empty() ? Fd() : std::move(fds[0])};
  return std::optional<Packet>(std::move(packet));
}

bool wait_readable(int fd, int timeout_ms) {
  pollfd p = {fd, POLLIN, 0};
  int n;
  do n = ::poll(&p, 1, timeout_ms);
  while (n < 0 && errno == EINTR);
  return n > 0;
}

Result<Listener> Listener::open(const std::string &path) {
  TRY(sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return system_error(path);
  if (socket_is_listening(path)) return Error{path + ": in use by another process"};
  ::unlink(path.c_str());  // what a killed process left
  if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
    return system_error(path);
  Listener listener(std::move(fd), path);
  // The directory is 0700 already; this is for a runtime directory made by hand.
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(listener.fd(), 64) != 0) return system_error(path);
  return listener;
}

Listener::~Listener() {
  if (fd_) ::unlink(path_.c_str());
}

Result<Peer> Listener::accept() {
  int accepted;
  do accepted = ::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  while (accepted < 0 && errno == EINTR);
  if (accepted < 0) return system_error(path_);
  Fd fd(accepted);
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return system_error(path_);
  if (peer.uid != ::geteuid() && peer.uid != 0)
    return Error{path_ + ": refused a connection of user " + std::to_string(peer.uid)};
  return Peer{Channel(std::move(fd)), peer.pid};
}

Result<Channel> connect_to(const std::string &path) {
  TRY(sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return system_error(path);
  if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
    return system_error(path);
  return Channel(std::move(fd));
}

bool socket_is_listening(const std::string &path) {
  auto address = address_of(path);
  if (!address) return false;
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  // EAGAIN: its queue is full, so somebody has it open.
  return ::connect(fd.get(), reinterpret_cast<sockaddr *>(&*address), sizeof(*address)) == 0 ||
         errno == EAGAIN;
}

Result<Fd> make_memfd(const char *name, std::span<const uint8_t> bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd) return system_error("memfd_create");
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = ::pwrite(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("memfd");
    done += static_cast<size_t>(n);
  }
  return fd;
}

Result<std::vector<uint8_t>> read_fd(int fd, uint64_t limit_bytes) {
  struct stat st;
  if (fd < 0) return Error{"file descriptor is missing"};
  if (::fstat(fd, &st) != 0) return system_error("fstat");
  if (!S_ISREG(st.st_mode)) return Error{"file descriptor is not a file"};
  auto size = static_cast<uint64_t>(st.st_size);
  if (size > limit_bytes)
    return Error{"file of " + std::to_string(size) + " bytes is over the limit of " +
                 std::to_string(limit_bytes)};
  std::vector<uint8_t> bytes(size);
  for (uint64_t done = 0; done < size;) {
    ssize_t n = ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read");
    if (n == 0) return Error{"file shrank while it was read"};
    done += static_cast<uint64_t>(n);
  }
  return bytes;
}

Result<std::string> Reader::take_string() {
  const void *nul = rest_.empty() ? nullptr : std::memchr(rest_.data(), 0, rest_.size());
  if (nul == nullptr) return Error{what_ + ": string without end"};
  auto length = static_cast<size_t>(static_cast<const uint8_t *>(nul) - rest_.data());
  std::string text(reinterpret_cast<const char *>(rest_.data()), length);
  rest_ = rest_.subspan(length + 1);
  return text;
}

Result<std::vector<std::string>> Reader::take_strings(uint64_t count) {
  std::vector<std::string> strings;
  if (count > rest_.size()) return too_short(count);  // each has at least its NUL
  for (uint64_t i = 0; i < count; ++i) {
    TRY(std::string text, take_string());
    strings.push_back(std::move(text));
  }
  return strings;
}

Result<Ok> Reader::end() const {
  if (!rest_.empty()) return Error{what_ + ": " + std::to_string(rest_.size()) + " bytes too many"};
  return Ok{};
}

Error Reader::too_short(uint64_t wanted_bytes) const {
  return {what_ + ": too short: " + std::to_string(rest_.size()) + " bytes left, " +
          std::to_string(wanted_bytes) + " wanted"};
}

Writer &Writer::put_string(std::string_view text) {
  put_bytes(text.data(), text.size());
  return put<char>('\0');
}

Writer &Writer::put_bytes(const void *data, size_t size) {
  auto *begin = static_cast<const uint8_t *>(data);
  if (size != 0) bytes_.insert(bytes_.end(), begin, begin + size);
  return *this;
}

}  // namespace egpu::session
