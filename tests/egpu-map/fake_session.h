// A live session without a GPU or egpu-load: directory, snapshot file and control socket.
#pragma once
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "lib/loader/map/snapshot_file.h"
#include "lib/loader/session/control.h"
#include "lib/loader/session/runtime_dir.h"
#include "tests/map/fake_maps.h"

namespace egpu::map_tool {

inline uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

class FakeSession {
 public:
  enum class Answer { snapshot, refuse, never };

  /// `on_snapshot` may change the maps before each copy.
  FakeSession(int pid, map::Snapshot snapshot, Answer answer = Answer::snapshot,
              std::function<void(map::Snapshot *)> on_snapshot = {})
      : pid_(pid), snapshot_(std::move(snapshot)), answer_(answer), on_snapshot_(std::move(on_snapshot)) {
    snapshot_.session.pid = pid;
    auto directory = session::process_dir(pid);
    if (!directory) return;
    std::vector<MapSpec> specs;
    for (const auto &map : snapshot_.maps) specs.push_back(map.spec);
    auto file =
        map::SnapshotFile::create(session::maps_path(*directory), snapshot_.session, specs, snapshot_.btf);
    auto server = session::ControlServer::open(pid);
    if (!file || !server) return;
    file_.emplace(*std::move(file)), server_.emplace(*std::move(server));
    bool fine = true;
    for (const auto &[id, name] : snapshot_.kernels)
      fine = fine && file_->add_kernel(id, name.mangled, name.printable);
    for (const auto &[id, site] : snapshot_.sites)
      fine = fine && file_->add_site(id, site.kernel, site.where);
    if (answer_ != Answer::snapshot) fine = fine && copy(monotonic_ns());
    if (!fine) return;
    ok_ = true;
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeSession() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
    session::remove_process_dir(pid_);
  }
  bool ok() const { return ok_; }
  std::string path() const { return file_->path(); }

 private:
  bool copy(uint64_t time_ns) {
    if (!file_->begin_update()) return false;
    for (size_t i = 0; i < snapshot_.maps.size(); i++) {
      const auto &block = snapshot_.maps[i].block;
      if (block.size() != file_->blocks()[i].size_bytes) return false;
      if (pwrite(file_->fd(), block.data(), block.size(),
                 static_cast<off_t>(file_->blocks()[i].file_offset)) < 0)
        return false;
    }
    return static_cast<bool>(file_->end_update(time_ns));
  }

  void serve() {
    std::vector<session::Request> kept;
    while (!stop_) {
      pollfd p{server_->fd(), POLLIN, 0};
      if (poll(&p, 1, 20) != 1) continue;
      auto request = server_->next();
      if (!request) continue;  // somebody looked whether we are alive
      if (answer_ == Answer::never) {
        kept.push_back(*std::move(request));
      } else if (answer_ == Answer::refuse) {
        request->reply_error("the target does not answer");
      } else {
        if (on_snapshot_) on_snapshot_(&snapshot_);
        copy(monotonic_ns());
        request->reply_ok();
      }
    }
  }

  int pid_;
  map::Snapshot snapshot_;
  Answer answer_;
  std::function<void(map::Snapshot *)> on_snapshot_;
  std::optional<map::SnapshotFile> file_;
  std::optional<session::ControlServer> server_;
  std::atomic<bool> stop_ = false;
  bool ok_ = false;
  std::thread thread_;
};

struct Outcome {
  std::string out, err;
  int status = -1;
};

/// Runs a shell command; `out` and `err` only of what it does not redirect.
inline Outcome run_command(const std::string &command) {
  char pattern[] = "/tmp/egpu-run-XXXXXX";
  std::string directory = mkdtemp(pattern);
  int status =
      std::system(("{ " + command + "\n} >" + directory + "/out 2>" + directory + "/err </dev/null").c_str());
  auto read = [&](const char *name) {
    std::ifstream file(directory + "/" + name, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  Outcome run{read("out"), read("err"), WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  std::filesystem::remove_all(directory);
  return run;
}

}  // namespace egpu::map_tool
