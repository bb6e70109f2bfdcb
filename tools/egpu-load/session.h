// One run of egpu-load: the loop that serves agents, egpu-map, signals, the command and the clock.
#pragma once
#include <poll.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <vector>

#include "lib/loader/session/channel.h"
#include "lib/loader/session/fd.h"
#include "tools/egpu-load/shared.h"
#include "tools/egpu-load/target.h"

namespace egpu::load {

class Session {
 public:
  explicit Session(Shared &shared) : shared_(shared) {}
  ~Session();

  /// Starts COMMAND, or attaches to the process.
  Result<Ok> start();
  /// After start() failed: the exit status that env(1) would give.
  int start_status() const { return start_status_; }
  /// Serves until the command ends, the target ends, the time is up, or Ctrl-C; then detaches.
  Result<Ok> serve();
  /// The maps of all processes that launched a kernel.
  Result<std::vector<map::Snapshot>> snapshots();
  /// waitpid status of COMMAND, if it has ended.
  std::optional<int> command_status() const { return command_status_; }
  bool second_interrupt() const { return interrupts_ > 1; }

 private:
  Result<Ok> open_signals();
  Result<Ok> start_command();
  Result<Ok> attach();
  Result<Ok> check_matches(Images &images) const;
  Result<Ok> poll_once();
  void serve_ready(const std::vector<pollfd> &ready);
  void drop(Target &target, const Error &error);
  void accept_agent(std::optional<Images> images = std::nullopt);
  void on_signal();
  void reap();
  bool finished() const;
  void begin_end();

  Shared &shared_;
  std::optional<session::Listener> listener_;
  session::Fd signals_;
  sigset_t command_mask_ = {};  // signal mask we were started with
  int start_status_ = 125;
  std::vector<std::unique_ptr<Target>> targets_;
  pid_t command_pid_ = 0;
  std::optional<int> command_status_;
  int interrupts_ = 0;
  bool ending_ = false;
  uint64_t deadline_ns_ = 0;      // of -d; 0: none
  uint64_t end_deadline_ns_ = 0;  // when to stop waiting for agents that detach
  int timeout_ms_ = 100;
};

}  // namespace egpu::load
