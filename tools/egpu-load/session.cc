#include "tools/egpu-load/session.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/loader/session/runtime_dir.h"
#include "tools/egpu-load/clock.h"
#include "tools/egpu-load/launch.h"
#include "tools/egpu-load/list.h"

namespace egpu::load {
namespace {

constexpr uint64_t kDetachWaitNs = 5'000'000'000;
constexpr uint64_t kAgentWaitNs = 10'000'000'000;

}  // namespace

Session::~Session() {
  for (auto &target : targets_) target->remove_files();
}

Result<Ok> Session::start() {
  if (shared_.options.pid != 0) {
    TRY([[maybe_unused]] auto possible, attachable(shared_.options.pid));
  }
  TRY(std::string path, session::agent_socket_path());
  TRY(auto listener, session::Listener::open(path));
  listener_ = std::move(listener);
  TRY([[maybe_unused]] auto opened, open_signals());
  TRY([[maybe_unused]] auto begun, shared_.options.pid != 0 ? attach() : start_command());
  if (shared_.options.duration_s)
    deadline_ns_ = monotonic_ns() + static_cast<uint64_t>(*shared_.options.duration_s * 1e9);
  return Ok{};
}

Result<Ok> Session::open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &command_mask_);
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return system_error("signalfd");
  return Ok{};
}

Result<Ok> Session::start_command() {
  auto spawned = spawn_command(shared_.options.command, listener_->path(), command_mask_);
  if (spawned.pid == 0) {
    start_status_ = spawned.exit_status;
    return Error{spawned.error};
  }
  command_pid_ = spawned.pid;
  return Ok{};
}

Result<Ok> Session::attach() {
  Images images(shared_.options.pid);
  TRY([[maybe_unused]] auto matches, check_matches(images));
  shared_.verbose("process " + std::to_string(shared_.options.pid) + ": attaching");
  TRY(std::string how, attach_agent(shared_.options.pid, listener_->path()));
  shared_.verbose("process " + std::to_string(shared_.options.pid) + ": " + how);
  if (!session::wait_readable(listener_->fd(), static_cast<int>(kAgentWaitNs / 1'000'000)))
    return Error{"process " + std::to_string(shared_.options.pid) +
                 ": the agent was loaded but did not connect"};
  accept_agent(std::move(images));
  if (targets_.empty())
    return Error{"process " + std::to_string(shared_.options.pid) + ": the agent could not connect"};
  return Ok{};
}

// Before anything is touched: does any program match a kernel that the process has?
Result<Ok> Session::check_matches(Images &images) const {
  if (!shared_.options.missing_is_error) return Ok{};
  TRY([[maybe_unused]] auto scanned, images.scan());
  auto kernels = images.scanned_kernels();
  // A process without any PTX may still compile some at run time (Triton): wait for it.
  if (kernels.empty()) return Ok{};
  return some_match(kernels, shared_.patcher.probes());
}

void Session::accept_agent(std::optional<Images> images) {
  auto peer = listener_->accept();
  if (!peer) return shared_.warn("agent: " + peer.error().message);
  if (!images) images.emplace(peer->pid);
  targets_.push_back(std::make_unique<Target>(*std::move(peer), *std::move(images), shared_));
}

bool Session::finished() const {
  auto gone = [](const auto &target) { return !target->connected() || target->detached(); };
  bool all_gone = std::all_of(targets_.begin(), targets_.end(), gone);
  if (interrupts_ > 1) return true;
  if (ending_) return all_gone || monotonic_ns() > end_deadline_ns_;
  // Attached: the session ends with its target. Started: with the command (reap() sets ending_).
  return command_pid_ == 0 && all_gone;
}

void Session::begin_end() {
  if (ending_) return;
  ending_ = true;
  end_deadline_ns_ = monotonic_ns() + kDetachWaitNs;
  for (auto &target : targets_) {
    auto started = target->start_detach();
    if (!started) drop(*target, started.error());
  }
}

void Session::drop(Target &target, const Error &error) {
  if (!target.connected()) return;
  shared_.warn("process " + std::to_string(target.pid()) + ": " + error.message +
               "; its kernels run unprobed from here on");
  target.on_disconnect();
}

Result<Ok> Session::serve() {
  while (!finished()) {
    TRY([[maybe_unused]] auto polled, poll_once());
    if (deadline_ns_ != 0 && monotonic_ns() >= deadline_ns_) begin_end();
  }
  return Ok{};
}

Result<Ok> Session::poll_once() {
  std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}, {listener_->fd(), POLLIN, 0}};
  for (const auto &target : targets_) {
    fds.push_back({target->connected() ? target->agent_fd() : -1, POLLIN, 0});
    fds.push_back({target->control_fd().value_or(-1), POLLIN, 0});
  }
  if (poll(fds.data(), fds.size(), timeout_ms_) < 0 && errno != EINTR)
    return system_error("poll");
  serve_ready(fds);
  return Ok{};
}

void Session::serve_ready(const std::vector<pollfd> &ready) {
  size_t polled = (ready.size() - 2) / 2;
  timeout_ms_ = 100;
  for (size_t i = 0; i < polled; i++) {
    Target &target = *targets_[i];
    auto check = [&](Result<Ok> result) {
      if (!result) drop(target, result.error());
    };
    if (target.connected() && ready[2 + 2 * i].revents != 0) check(target.on_packet());
    if (ready[3 + 2 * i].revents != 0 && target.control_fd()) check(target.on_control());
    auto next = target.tick();
    if (!next)
      drop(target, next.error());
    else if (*next)
      timeout_ms_ = std::min(timeout_ms_, **next);
  }
  if (ready[0].revents != 0) on_signal();
  if (ready[1].revents != 0) accept_agent();
}

void Session::on_signal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) {
      reap();
      continue;
    }
    interrupts_++;
    begin_end();
  }
}

void Session::reap() {
  int status = 0;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != command_pid_) continue;
    command_status_ = status;
    begin_end();
  }
}

Result<std::vector<map::Snapshot>> Session::snapshots() {
  std::vector<map::Snapshot> snapshots;
  for (auto &target : targets_) {
    if (!target->has_snapshot()) continue;
    TRY(auto snapshot, target->read_snapshot());
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

}  // namespace egpu::load
