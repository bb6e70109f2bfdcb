// What egpu-map asks a running egpu-load, over <runtime>/PID/control.
//
// SEQPACKET, one request of one line of text ("snapshot", "info"), one reply: "ok", or "ok " and
// text, or "error " and the reason. Then the connection closes. A request may be answered later:
// egpu-load keeps the Request until the agent's copy is done.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "egpu/result.h"
#include "lib/loader/session/channel.h"

namespace egpu::session {

constexpr size_t kMaxControlBytes = 16 * 1024;

/// The text after "ok" of the session of `target`. Error: no session, its reason, or no answer in time.
Result<std::string> ask(pid_t target, std::string_view request, int timeout_ms = 5000);

class Request {
 public:
  Request(Fd fd, std::string text) : fd_(std::move(fd)), text_(std::move(text)) {}
  const std::string &text() const { return text_; }
  /// At most one of these; the connection closes with the Request. An asker who left is no error.
  void reply_ok(std::string_view text = {});
  void reply_error(std::string_view reason);

 private:
  void reply(std::string text);
  Fd fd_;
  std::string text_;
};

class ControlServer {
 public:
  static Result<ControlServer> open(pid_t target);
  /// Readable when somebody asks.
  int fd() const { return listener_.fd(); }
  /// The next request. Waits at most 200 ms for a connected asker that says nothing.
  Result<Request> next();

 private:
  explicit ControlServer(Listener listener) : listener_(std::move(listener)) {}
  Listener listener_;
};

}  // namespace egpu::session
