#include "tools/egpu-load/target.h"

#include <algorithm>

#include "lib/loader/map/printk.h"
#include "lib/loader/session/runtime_dir.h"
#include "tools/egpu-load/clock.h"
#include "tools/egpu-load/hooks.h"

namespace egpu::load {
namespace {

using session::Kind;

// Kernels seen within this time go into one load (attach); a waiting launch (start) is served at once.
constexpr uint64_t kGatherNs = 20'000'000;
// Small maps are copied out this often, so that little is lost if the target is killed.
constexpr uint64_t kBackgroundSnapshotNs = 1'000'000'000;
constexpr uint64_t kBackgroundLimitBytes = 16 << 20;
constexpr uint64_t kPrintkPeriodNs = 100'000'000;
constexpr uint64_t kImageLimitBytes = uint64_t{1} << 31;
constexpr size_t kGlobalNamesPerPacket = 32 * 1024;

std::string process_command(pid_t pid);

}  // namespace

Target::Target(session::Peer peer, Images images, Shared &shared)
    : shared_(shared), channel_(std::move(peer.channel)), pid_(peer.pid), images_(std::move(images)) {}

std::optional<int> Target::control_fd() const {
  if (!control_) return std::nullopt;
  return control_->fd();
}

Result<Ok> Target::send(Kind kind, const session::Writer &payload, int fd) {
  return channel_.send(kind, payload.bytes(), fd);
}

Result<Ok> Target::on_packet() {
  TRY(auto received, channel_.receive());
  if (!received) {
    on_disconnect();
    return Ok{};
  }
  session::Packet &packet = *received;
  switch (packet.kind) {
    case Kind::hello:
      return on_hello(packet);
    case Kind::entries:
      return on_entries(packet);
    case Kind::context:
      return on_context(packet);
    case Kind::map_blocks:
      return on_map_blocks(packet);
    case Kind::image:
      return on_image(packet);
    case Kind::kernel:
      return on_kernel(packet);
    case Kind::globals:
      return on_globals(packet);
    case Kind::measured:
      return on_measured(packet);
    case Kind::loaded:
      return on_loaded(packet);
    case Kind::snapshot_done:
      return on_snapshot_done(packet);
    case Kind::ending:
      ended_ = true;
      return Ok{};
    case Kind::detached:
      return on_detached(packet);
    case Kind::warning: {
      session::Reader reader(packet);
      TRY(std::string text, reader.take_string());
      shared_.warn("process " + std::to_string(pid_) + ": " + text);
      return Ok{};
    }
    default:
      return Error{"unexpected message " + session::kind_name(packet.kind)};
  }
}

Result<Ok> Target::on_hello(const session::Packet &packet) {
  TRY(auto hello, session::parse<session::Hello>(packet));
  if (hello.version != session::kProtocolVersion)
    return Error{"agent speaks protocol " + std::to_string(hello.version) + ", this egpu-load " +
                 std::to_string(session::kProtocolVersion)};
  mode_ = hello.mode;
  shared_.verbose("process " + std::to_string(pid_) + ": agent connected");
  return Ok{};
}

Result<Ok> Target::on_entries(const session::Packet &packet) {
  session::Reader reader(packet);
  TRY(auto head, reader.take<session::Entries>());
  TRY(auto entries, reader.take_array<session::EntryPoint>(head.count));
  TRY(auto hooks, prepare_hooks(pid_, mode_ == session::kAttach, entries, shared_));
  session::Writer writer;
  writer.put(session::HooksReady{static_cast<uint32_t>(hooks.size()), 0});
  writer.put_array(std::span<const session::Hook>(hooks));
  return send(Kind::hooks_ready, writer);
}

Result<Ok> Target::create_file(const session::Context &context) {
  TRY(std::string directory, session::process_dir(pid_));
  if (session::socket_is_listening(session::control_path(directory)))
    return Error{"another egpu-load probes this process already"};
  map::SessionInfo info;
  info.pid = pid_;
  info.command = process_command(pid_);
  info.object = shared_.object.name;
  info.device_name.assign(context.device_name, strnlen(context.device_name, sizeof context.device_name));
  info.sm_count = static_cast<uint32_t>(context.sm_count);
  info.compute_major = static_cast<uint32_t>(context.compute_major);
  info.compute_minor = static_cast<uint32_t>(context.compute_minor);
  info.start_ns = monotonic_ns();
  TRY(auto file, map::SnapshotFile::create(session::maps_path(directory), info, shared_.object.maps,
                                           shared_.object.btf));
  file_ = std::move(file);
  TRY(auto control, session::ControlServer::open(pid_));
  control_ = std::move(control);
  return Ok{};
}

Result<Ok> Target::on_context(const session::Packet &packet) {
  TRY(auto context, session::parse<session::Context>(packet));
  if (context.sm_count <= 0 || context.sm_count > 4096) return Error{"context: implausible number of SMs"};
  if (context_) {
    shared_.warn("process " + std::to_string(pid_) + ": a second CUDA context is not probed");
    return Ok{};
  }
  context_ = context;
  TRY([[maybe_unused]] auto created, create_file(context));

  session::Writer writer;
  writer.put(session::Maps{context.context, static_cast<uint32_t>(file_->blocks().size()), 0});
  for (const auto &block : file_->blocks())
    writer.put(
        session::MapBlock{block.size_bytes, block.file_offset, block.initial_offset, block.initial_bytes});
  return send(Kind::maps, writer, file_->fd());
}

Result<Ok> Target::on_map_blocks(const session::Packet &packet) {
  TRY(auto blocks, session::parse_with_array<session::MapBlocks>(packet));
  if (!file_ || blocks.values.size() != file_->blocks().size())
    return Error{"map_blocks: wrong number of maps"};
  if (blocks.head.error != 0)
    return Error{"maps: not enough GPU memory (driver error " + std::to_string(blocks.head.error) + ")"};
  for (size_t i = 0; i < blocks.values.size(); i++) {
    constants_["egpu_map_" + std::to_string(i)] = blocks.values[i];
    constants_["egpu_stride_" + std::to_string(i)] = file_->blocks()[i].stride_bytes;
  }
  constants_["egpu_last_shard"] = file_->last_shard();
  constants_["egpu_ktime_offset"] = static_cast<uint64_t>(context_->ktime_offset_ns);
  maps_ready_ = true;
  return advance();
}

Result<Ok> Target::on_image(session::Packet &packet) {
  TRY(auto image, session::parse<session::Image>(packet));
  if (!packet.fd) return Error{"image: no file"};
  std::string where = "module " + std::to_string(image.module) + " of process " + std::to_string(pid_);
  TRY(auto bytes, session::read_fd(packet.fd.get(), kImageLimitBytes));
  auto containers = fatbin::images_in(bytes, where);
  if (containers)
    images_.add(image.module, *std::move(containers));
  else
    images_.add_unreadable(image.module, containers.error().message);
  return Ok{};
}

Result<Ok> Target::on_kernel(const session::Packet &packet) {
  TRY(auto kernel, session::parse_with_text<session::Kernel>(packet));
  if (context_ && kernel.head.context != context_->context) return refuse_context(kernel.head);
  shared_.outcomes.set(kernel.text, {});
  queue_.push_back({kernel.head, kernel.text});
  last_kernel_ns_ = monotonic_ns();
  return advance();
}

// A function of a context that is not probed: its launches go on with the original.
Result<Ok> Target::refuse_context(const session::Kernel &kernel) {
  Batch batch;
  batch.unprobed.push_back({kernel, {}});
  TRY(auto file, session::make_memfd("egpu-load", load_file(batch, shared_.options.verbose)));
  session::Writer writer;
  writer.put(session::Load{kernel.context, 0, 1});
  return send(Kind::load, writer, file.get());
}

// Starts the next batch if nothing is under way and it is time.
Result<Ok> Target::advance() {
  if (!maps_ready_ || batch_ || loads_missing_ != 0 || queue_.empty() || detaching_) return Ok{};
  bool waits =
      std::any_of(queue_.begin(), queue_.end(), [](const auto &seen) { return seen.kernel.waiting != 0; });
  if (!waits && monotonic_ns() - last_kernel_ns_ < kGatherNs) return Ok{};
  return start_batch();
}

Result<Ok> Target::start_batch() {
  if (mode_ == session::kAttach) {
    auto scanned = images_.scan();
    if (!scanned) shared_.warn("process " + std::to_string(pid_) + ": " + scanned.error().message);
  }
  batch_ = make_batch(std::exchange(queue_, {}), images_, context_->compute_major, context_->compute_minor,
                      shared_);
  return continue_batch();
}

// Asks for the next addresses that the batch lacks, or patches and loads it.
Result<Ok> Target::continue_batch() {
  for (const auto &group : batch_->groups) {
    auto names = missing_globals(group, globals_[group.module]);
    if (names.empty()) continue;
    session::Writer list;
    uint32_t count = 0;
    while (count < names.size() && list.bytes().size() + names[count].size() < kGlobalNamesPerPacket)
      list.put_string(names[count++]);
    if (count == 0) return Error{"globals: a symbol's name is too long"};
    session::Writer writer;
    writer.put(session::WantGlobals{group.module, context_->context, group.is_library, count});
    writer.put_array(list.bytes());
    wanted_ = {group.module, {names.begin(), names.begin() + count}};
    return send(Kind::want_globals, writer);
  }
  patch_groups(*batch_, globals_, constants_, shared_);
  Batch batch = *std::exchange(batch_, std::nullopt);
  for (const auto &group : batch.groups)
    for (const auto &kernel : group.kernels) name_sites(kernel.name, *group.plan);

  TRY(auto file, session::make_memfd("egpu-load", load_file(batch, shared_.options.verbose)));
  size_t kernels = batch.unprobed.size();
  for (const auto &group : batch.groups) kernels += group.kernels.size();
  session::Writer writer;
  writer.put(session::Load{context_->context, static_cast<uint32_t>(batch.groups.size()),
                           static_cast<uint32_t>(kernels)});
  loads_missing_ = batch.groups.size();
  loading_ = std::move(batch.groups);
  return send(Kind::load, writer, file.get());
}

// Puts the kernel and its sites into the snapshot file's tables, and notes which programs matched.
void Target::name_sites(const std::string &name, const ptx::Plan &plan) {
  uint32_t id = shared_.patcher.kernel_id(name);
  auto kernel =
      std::find_if(plan.kernels.begin(), plan.kernels.end(), [&](const auto &k) { return k.name == name; });
  auto added = file_->add_kernel(id, name, ptx::demangle_short(name));
  if (!added) shared_.warn(added.error().message);
  for (const auto &site : kernel->sites) {
    shared_.outcomes.matched(site.probe);
    auto site_added = file_->add_site(site.id, id, site.where);
    if (!site_added) shared_.warn(site_added.error().message);
  }
}

Result<Ok> Target::on_globals(const session::Packet &packet) {
  TRY(auto globals, session::parse_with_array<session::Globals>(packet));
  if (!batch_ || globals.values.size() != wanted_.names.size())
    return Error{"globals: not what was asked for"};
  for (size_t i = 0; i < wanted_.names.size(); i++)
    globals_[wanted_.module][wanted_.names[i]] = globals.values[i];
  return continue_batch();
}

Result<Ok> Target::on_measured(const session::Packet &packet) {
  TRY(auto measured, session::parse<session::Measured>(packet));
  footprints_[measured.function] = measured;
  return Ok{};
}

Result<Ok> Target::on_loaded(const session::Packet &packet) {
  TRY(auto loaded, session::parse_with_text<session::Loaded>(packet));
  if (loads_missing_ == 0 || loaded.head.module >= loading_.size()) return Error{"loaded: no such module"};
  const Group &group = loading_[loaded.head.module];
  for (const auto &seen : group.kernels) {
    const std::string printable = ptx::demangle_short(seen.name);
    if (!loaded.head.ok) {
      shared_.warn(printable + ": not probed: the driver refused the patched module: " + loaded.text);
      shared_.outcomes.set(seen.name, {Outcome::refused, 0, "the driver refused the patched module", {}});
      continue;
    }
    auto kernel = std::find_if(group.patched.kernels.begin(), group.patched.kernels.end(),
                               [&](const auto &k) { return k.name == seen.name; });
    Outcome outcome{Outcome::probed, kernel->sites.size(), {}, {}};
    auto footprint = footprints_.find(seen.kernel.function);
    if (footprint != footprints_.end()) outcome.footprint = footprint->second;
    shared_.verbose(printable + ": probed, " + std::to_string(kernel->sites.size()) + " sites, compiled in " +
                    std::to_string(loaded.head.compile_us / 1000) + " ms, loaded in " +
                    std::to_string(loaded.head.load_us / 1000) + " ms" +
                    (outcome.footprint ? "; " + to_text(*outcome.footprint) : ""));
    shared_.outcomes.set(seen.name, std::move(outcome));
  }
  loads_missing_--;
  return advance();
}

Result<Ok> Target::request_snapshot(SnapshotDone done) {
  if (final_snapshot_ || !file_) {
    done(file_ ? Result<uint64_t>(snapshot_time_ns_) : Result<uint64_t>(Error{"no kernel was launched yet"}));
    return Ok{};
  }
  snapshot_waiters_.push_back(std::move(done));
  if (snapshot_in_flight_ || !maps_ready_) return Ok{};
  TRY([[maybe_unused]] auto begun, file_->begin_update());
  snapshot_in_flight_ = true;
  return send(Kind::snapshot, {});
}

Result<Ok> Target::on_snapshot_done(const session::Packet &packet) {
  TRY(auto done, session::parse<session::SnapshotDone>(packet));
  if (!file_) return Error{"snapshot_done: there are no maps"};
  if (!snapshot_in_flight_) {
    TRY([[maybe_unused]] auto begun, file_->begin_update());
  }
  // The agent's own snapshot at the end of the context may come in between; ours is still on its way.
  snapshot_in_flight_ = false;
  if (done.ok) snapshot_time_ns_ = done.time_ns;
  final_snapshot_ = final_snapshot_ || (done.final && done.ok);
  TRY([[maybe_unused]] auto ended, file_->end_update(snapshot_time_ns_, final_snapshot_));
  finish_snapshots(done.ok ? Result<uint64_t>(done.time_ns)
                           : Result<uint64_t>(Error{"the copy from the GPU failed"}));
  return drain_printk();
}

void Target::finish_snapshots(Result<uint64_t> time_ns) {
  for (auto &waiter : std::exchange(snapshot_waiters_, {})) waiter(time_ns);
}

Result<Ok> Target::on_control() {
  auto request = control_->next();
  if (!request) return Ok{};  // an asker that said nothing useful is its own problem
  if (request->text() == "snapshot") {
    auto asker = std::make_shared<session::Request>(*std::move(request));
    return request_snapshot([asker](Result<uint64_t> time_ns) {
      if (time_ns)
        asker->reply_ok(std::to_string(*time_ns));
      else
        asker->reply_error(time_ns.error().message);
    });
  }
  if (request->text() == "info") {
    request->reply_ok(to_text(shared_.outcomes));
    return Ok{};
  }
  request->reply_error("unknown request '" + request->text() + "'");
  return Ok{};
}

Result<std::optional<int>> Target::tick() {
  if (!connected_ || detached_) return std::optional<int>{};
  TRY([[maybe_unused]] auto advanced, advance());
  if (!maps_ready_ || final_snapshot_) return std::optional<int>{queue_.empty() ? 200 : 5};

  uint64_t total_bytes = 0;
  bool prints = false;
  for (const auto &block : file_->blocks()) total_bytes += block.size_bytes;
  for (const auto &spec : file_->maps()) prints = prints || spec.shape.type == map::Type::ringbuf;
  uint64_t now = monotonic_ns();
  if ((prints || total_bytes <= kBackgroundLimitBytes) && now >= next_snapshot_ns_ && !snapshot_in_flight_) {
    next_snapshot_ns_ = now + (prints ? kPrintkPeriodNs : kBackgroundSnapshotNs);
    TRY([[maybe_unused]] auto requested, request_snapshot([](Result<uint64_t>) {}));
  }
  return std::optional<int>{queue_.empty() ? 100 : 5};
}

Result<Ok> Target::drain_printk() {
  for (size_t i = 0; i < file_->maps().size(); i++) {
    if (file_->maps()[i].shape.type != map::Type::ringbuf) continue;
    TRY(auto snapshot, file_->read_one(i));
    uint64_t &tail = printk_tails_[i];
    TRY(auto batch, map::read_printk(snapshot.maps, i, tail));
    for (const auto &line : batch.lines) {
      TRY([[maybe_unused]] auto printed, shared_.output.print_line(snapshot, line));
    }
    if (batch.tail != tail && connected_ && !final_snapshot_) {
      session::Writer writer;
      writer.put(session::RingTail{context_->context, static_cast<uint32_t>(i), 0, batch.tail});
      TRY([[maybe_unused]] auto sent, send(Kind::ring_tail, writer));
    }
    tail = batch.tail;
    if (batch.dropped > printk_dropped_)
      shared_.warn("process " + std::to_string(pid_) + ": bpf_printk: " + std::to_string(batch.dropped) +
                   " lines dropped so far");
    printk_dropped_ = batch.dropped;
  }
  return Ok{};
}

Result<Ok> Target::start_detach() {
  if (!connected_ || detaching_) return Ok{};
  detaching_ = true;
  return send(Kind::detach, {});
}

Result<Ok> Target::on_detached(const session::Packet &packet) {
  TRY(auto detached, session::parse<session::Detached>(packet));
  detached_ = true;
  if (!detached.drained)
    shared_.warn("process " + std::to_string(pid_) +
                 ": a probed kernel still runs; its last counts are missing");
  shared_.verbose("process " + std::to_string(pid_) + ": detached after " +
                  std::to_string(detached.launches_probed) + " probed launches");
  return Ok{};
}

void Target::on_disconnect() {
  connected_ = false;
  if (!file_) return;
  if (snapshot_in_flight_) {
    auto ended = file_->end_update(snapshot_time_ns_, false);
    if (!ended) shared_.warn(ended.error().message);
  }
  snapshot_in_flight_ = false;
  finish_snapshots(Error{"the target ended"});
  if (final_snapshot_ || detached_) return;
  std::string age =
      snapshot_time_ns_ == 0
          ? "no data was copied from it"
          : "its maps are " + std::to_string((monotonic_ns() - snapshot_time_ns_) / 1'000'000) + " ms old";
  shared_.warn("process " + std::to_string(pid_) + " ended without a last snapshot: " + age);
}

Result<map::Snapshot> Target::read_snapshot() { return file_->read(); }

void Target::remove_files() {
  control_.reset();
  if (file_) session::remove_process_dir(pid_);
}

namespace {

std::string process_command(pid_t pid) {
  std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  std::string command;
  if (FILE *file = std::fopen(path.c_str(), "re")) {
    char buffer[4096];
    size_t size = std::fread(buffer, 1, sizeof buffer, file);
    std::fclose(file);
    command.assign(buffer, size);
  }
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

}  // namespace
}  // namespace egpu::load
