#include "lib/loader/session/control.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "lib/loader/session/runtime_dir.h"

namespace egpu::session {
namespace {

constexpr int kSilentAskerMs = 200;

// One packet of text. Error: nothing came in time, or it is too long.
Result<std::string> receive_text(int fd, int timeout_ms) {
  if (!wait_readable(fd, timeout_ms)) return Error{"no answer after " + std::to_string(timeout_ms) + " ms"};
  std::string text(kMaxControlBytes, '\0');
  iovec part = {text.data(), text.size()};
  msghdr message{};  // no room for descriptors: the kernel drops what a peer attaches
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t n;
  do n = ::recvmsg(fd, &message, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) return Error{std::strerror(errno)};
  if (n == 0) return Error{"connection closed"};
  if ((message.msg_flags & MSG_TRUNC) != 0) return Error{"message is too long"};
  text.resize(static_cast<size_t>(n));
  return text;
}

Result<Ok> send_text(int fd, const std::string &text) {
  if (text.size() > kMaxControlBytes) return Error{"message is too long"};
  ssize_t n;
  do n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n < 0) return Error{std::strerror(errno)};
  return Ok{};
}

}  // namespace

Result<std::string> ask(pid_t target, std::string_view request, int timeout_ms) {
  std::string object = "session of process " + std::to_string(target);
  TRY(std::string runtime, runtime_dir());
  auto channel = connect_to(control_path(runtime + "/" + std::to_string(target)));
  if (!channel) return Error{"no egpu-load runs for process " + std::to_string(target)};
  if (auto sent = send_text(channel->fd(), std::string(request)); !sent)
    return std::move(sent).error().in(object);
  auto reply = receive_text(channel->fd(), timeout_ms);
  if (!reply) return std::move(reply).error().in(object);
  if (*reply == "ok") return std::string();
  if (reply->starts_with("ok ")) return reply->substr(3);
  if (reply->starts_with("error ")) return Error{object + ": " + reply->substr(6)};
  return Error{object + ": answer is not understood"};
}

void Request::reply_ok(std::string_view text) { reply(text.empty() ? "ok" : "ok " + std::string(text)); }
void Request::reply_error(std::string_view reason) { reply("error " + std::string(reason)); }

void Request::reply(std::string text) {
  if (!fd_) return;
  if (text.size() > kMaxControlBytes) text = "error answer is too long";
  [[maybe_unused]] auto sent = send_text(fd_.get(), text);
  fd_.reset();
}

Result<ControlServer> ControlServer::open(pid_t target) {
  TRY(std::string directory, process_dir(target));
  TRY(Listener listener, Listener::open(control_path(directory)));
  return ControlServer(std::move(listener));
}

Result<Request> ControlServer::next() {
  TRY(Peer peer, listener_.accept());
  TRY(std::string text, receive_text(peer.channel.fd(), kSilentAskerMs));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return Request(peer.channel.take_fd(), std::move(text));
}

}  // namespace egpu::session
