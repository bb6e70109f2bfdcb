// One process with an agent in it: the conversation of protocol.h, from hello to detached.
//
// Owns the connection, the process's images, its snapshot file and its control socket. Driven by
// Session's loop: on_packet when the agent's socket is readable, tick now and then. An Error from
// on_packet means that the connection cannot go on; the agent then detaches by itself.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/loader/map/snapshot_file.h"
#include "lib/loader/session/channel.h"
#include "lib/loader/session/control.h"
#include "tools/egpu-load/batch.h"
#include "tools/egpu-load/images.h"
#include "tools/egpu-load/shared.h"

namespace egpu::load {

class Target {
 public:
  /// `images`: what is known of the process already.
  Target(session::Peer peer, Images images, Shared &shared);

  pid_t pid() const { return pid_; }
  int agent_fd() const { return channel_.fd(); }
  std::optional<int> control_fd() const;
  bool connected() const { return connected_; }
  bool detached() const { return detached_; }
  bool has_snapshot() const { return file_.has_value(); }

  Result<Ok> on_packet();
  Result<Ok> on_control();
  /// Work that waits for time rather than for a packet; returns when to call again (ms), if at all.
  Result<std::optional<int>> tick();
  /// The agent's socket is gone.
  void on_disconnect();

  Result<Ok> start_detach();
  /// The maps as the last snapshot left them, for the end of the session.
  Result<map::Snapshot> read_snapshot();
  void remove_files();

 private:
  using SnapshotDone = std::function<void(Result<uint64_t> time_ns)>;

  Result<Ok> send(session::Kind kind, const session::Writer &payload, int fd = -1);
  Result<Ok> on_hello(const session::Packet &packet);
  Result<Ok> on_entries(const session::Packet &packet);
  Result<Ok> on_context(const session::Packet &packet);
  Result<Ok> on_map_blocks(const session::Packet &packet);
  Result<Ok> on_image(session::Packet &packet);
  Result<Ok> on_kernel(const session::Packet &packet);
  Result<Ok> on_globals(const session::Packet &packet);
  Result<Ok> on_measured(const session::Packet &packet);
  Result<Ok> on_loaded(const session::Packet &packet);
  Result<Ok> on_snapshot_done(const session::Packet &packet);
  Result<Ok> on_detached(const session::Packet &packet);

  Result<Ok> advance();
  Result<Ok> start_batch();
  Result<Ok> continue_batch();
  void name_sites(const std::string &name, const ptx::Plan &plan);
  Result<Ok> refuse_context(const session::Kernel &kernel);
  Result<Ok> request_snapshot(SnapshotDone done);
  void finish_snapshots(Result<uint64_t> time_ns);
  Result<Ok> drain_printk();
  Result<Ok> create_file(const session::Context &context);

  Shared &shared_;
  session::Channel channel_;
  pid_t pid_;
  bool connected_ = true, detached_ = false, ended_ = false, detaching_ = false;
  uint32_t mode_ = 0;

  std::optional<session::Context> context_;
  std::optional<map::SnapshotFile> file_;
  std::optional<session::ControlServer> control_;
  std::map<std::string, uint64_t> constants_;  // Bindings::constants, once the map blocks are known
  bool maps_ready_ = false;

  Images images_;
  std::vector<SeenKernel> queue_;  // kernels that wait for a batch
  uint64_t last_kernel_ns_ = 0;
  std::optional<Batch> batch_;  // the batch in work
  std::vector<Group> loading_;  // by module index of the load in flight
  size_t loads_missing_ = 0;
  std::map<uint64_t, session::Measured> footprints_;  // by function, with -v
  struct {
    uint64_t module = 0;
    std::vector<std::string> names;
  } wanted_;                                                     // globals asked for
  std::map<uint64_t, std::map<std::string, uint64_t>> globals_;  // by module

  std::map<size_t, uint64_t> printk_tails_;  // next position, by ring's map index
  uint64_t printk_dropped_ = 0;
  std::vector<SnapshotDone> snapshot_waiters_;
  bool snapshot_in_flight_ = false, final_snapshot_ = false;
  uint64_t snapshot_time_ns_ = 0, next_snapshot_ns_ = 0;
};

}  // namespace egpu::load
