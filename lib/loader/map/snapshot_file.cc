// Reader's part of SnapshotFile: check everything once, then copy out between two updates.
#include "lib/loader/map/snapshot_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>

#include "lib/loader/map/file_io.h"
#include "lib/loader/map/layout.h"
#include "lib/loader/map/shards.h"
#include "lib/loader/map/snapshot_format.h"

namespace egpu::map {
namespace {

using namespace format;

// How long a reader waits for a writer: a copy of all maps takes milliseconds.
constexpr auto kUpdateTimeout = std::chrono::seconds(2);

bool contains(uint64_t file_bytes, const Span &span) {
  return span.offset <= file_bytes && span.bytes <= file_bytes - span.offset;
}

Result<Ok> check_span(uint64_t file_bytes, const Span &span, uint64_t limit, const char *what) {
  if (span.bytes > limit || !contains(file_bytes, span))
    return Error{std::string(what) + ": " + std::to_string(span.bytes) + " bytes at " +
                 std::to_string(span.offset) + " are not in the file"};
  return Ok{};
}

Result<std::string> read_name(int fd, uint64_t file_bytes, const Span &span, const char *what) {
  TRY(std::ignore, check_span(file_bytes, span, kMaxNameBytes, what));
  std::string name(span.bytes, '\0');
  TRY(std::ignore, read_at(fd, span.offset, name.data(), name.size()));
  return name;
}

Result<std::vector<uint8_t>> read_bytes(int fd, uint64_t file_bytes, const Span &span, uint64_t limit,
                                        const char *what) {
  TRY(std::ignore, check_span(file_bytes, span, limit, what));
  std::vector<uint8_t> bytes(span.bytes);
  TRY(std::ignore, read_at(fd, span.offset, bytes.data(), bytes.size()));
  return bytes;
}

// A count that is being raised: two equal reads in a row, because a read of 8 bytes is not
// promised to be one access.
Result<uint64_t> read_count(int fd, uint64_t offset, uint64_t limit) {
  uint64_t before = 0, now = 0;
  TRY(std::ignore, read_at(fd, offset, &now, sizeof now));
  do {
    before = now;
    TRY(std::ignore, read_at(fd, offset, &now, sizeof now));
  } while (now != before);
  if (now > limit) return Error{"claims " + std::to_string(now) + " names"};
  return now;
}

// The names of all rows, read at once: a program may have a million sites.
struct NameHeap {
  uint64_t offset;
  std::string bytes;
  uint64_t total = 0;

  // Grows `bytes` to hold the span; false if the span is not in the heap, or the rows share names
  // so that their sum (which a reader allocates) is larger than any heap.
  bool need(const Span &span) {
    total += span.bytes;
    if (span.offset < offset || span.bytes > kMaxNameBytes || total > kMaxHeapBytes) return false;
    uint64_t end = span.offset - offset + span.bytes;
    if (end > kMaxHeapBytes) return false;
    if (end > bytes.size()) bytes.resize(end);
    return true;
  }
  std::string name(const Span &span) const { return bytes.substr(span.offset - offset, span.bytes); }
};

Result<std::pair<MapSpec, SnapshotFile::Block>> read_map(int fd, uint64_t file_bytes, const FileMap &m) {
  MapSpec spec;
  TRY(spec.name, read_name(fd, file_bytes, m.name, "map name"));
  spec.shape = {static_cast<Type>(m.type), m.key_size, m.value_size, m.max_entries};
  auto size_bytes = checked_block_bytes(spec.shape, m.shard_count);
  if (!size_bytes) return std::move(size_bytes).error().in("map " + spec.name);
  if (m.block.bytes != *size_bytes || m.block.offset % kPageBytes != 0 || !contains(file_bytes, m.block))
    return Error{"map " + spec.name + ": its block is not in the file"};
  TRY(spec.unit, read_name(fd, file_bytes, m.unit, "unit"));
  TRY(spec.initial, read_bytes(fd, file_bytes, m.initial, m.value_size, "first contents"));
  spec.key_type_id = m.key_type_id, spec.value_type_id = m.value_type_id;
  spec.read_only = m.flags & kReadOnly, spec.internal = m.flags & kInternal;
  spec.sharded = m.flags & kSharded, spec.summed = m.flags & kSummed;
  SnapshotFile::Block block{m.block.bytes,   m.block.offset, m.initial.offset,
                            m.initial.bytes, m.shard_count,  m.shard_count > 1 ? shard_bytes(spec.shape) : 0};
  return std::pair(std::move(spec), block);
}

}  // namespace

SnapshotFile::SnapshotFile(SnapshotFile &&other) noexcept { *this = std::move(other); }

SnapshotFile &SnapshotFile::operator=(SnapshotFile &&other) noexcept {
  std::swap(fd_, other.fd_);
  path_ = std::move(other.path_), session_ = std::move(other.session_);
  maps_ = std::move(other.maps_), btf_ = std::move(other.btf_), blocks_ = std::move(other.blocks_);
  kernel_rows_offset_ = other.kernel_rows_offset_, site_rows_offset_ = other.site_rows_offset_;
  heap_offset_ = other.heap_offset_;
  kernel_count_ = other.kernel_count_, site_count_ = other.site_count_;
  heap_used_ = other.heap_used_, sequence_ = other.sequence_;
  return *this;
}

SnapshotFile::~SnapshotFile() {
  if (fd_ >= 0) ::close(fd_);
}

uint32_t SnapshotFile::last_shard() const {
  uint32_t last = 0;
  for (const Block &block : blocks_) last = std::max(last, block.shard_count - 1);
  return last;
}

Result<SnapshotFile> SnapshotFile::open(const std::string &path) {
  SnapshotFile file;
  file.path_ = path;
  // O_NONBLOCK: a FIFO in this place must not hang us.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.fd_ < 0) return file.error(std::strerror(errno));
  auto loaded = file.load_header();
  if (!loaded) return file.error(std::move(loaded).error().message);
  return file;
}

Result<Ok> SnapshotFile::load_header() {
  struct stat st{};
  if (fstat(fd_, &st) != 0) return Error{std::strerror(errno)};
  if (!S_ISREG(st.st_mode)) return Error{"is not a regular file"};
  auto file_bytes = static_cast<uint64_t>(st.st_size);
  FileHeader h{};
  if (file_bytes < sizeof h) return Error{"is not a snapshot file (too short)"};
  TRY(std::ignore, read_at(fd_, 0, &h, sizeof h));
  if (!std::equal(std::begin(kMagic), std::end(kMagic), h.magic)) return Error{"is not a snapshot file"};
  if (h.version != kVersion || h.header_bytes != sizeof h)
    return Error{"is a snapshot of version " + std::to_string(h.version) + "; this program reads version " +
                 std::to_string(kVersion)};
  if (h.file_bytes != file_bytes || file_bytes > kMaxFileBytes)
    return Error{"has " + std::to_string(file_bytes) + " bytes instead of " + std::to_string(h.file_bytes)};
  if (h.map_count > kMaxMaps) return Error{"claims " + std::to_string(h.map_count) + " maps"};

  session_.pid = h.pid, session_.sm_count = h.sm_count, session_.start_ns = h.start_ns;
  session_.compute_major = h.compute_major, session_.compute_minor = h.compute_minor;
  TRY(session_.command, read_name(fd_, file_bytes, h.command, "command"));
  TRY(session_.object, read_name(fd_, file_bytes, h.object, "object name"));
  TRY(session_.device_name, read_name(fd_, file_bytes, h.device_name, "device name"));
  TRY(btf_, read_bytes(fd_, file_bytes, h.btf, kMaxBtfBytes, "BTF"));

  Span table{h.maps_offset, h.map_count * sizeof(FileMap)};
  TRY(std::ignore, check_span(file_bytes, table, table.bytes, "map table"));
  std::vector<FileMap> rows(h.map_count);
  TRY(std::ignore, read_at(fd_, table.offset, rows.data(), table.bytes));
  uint64_t total = 0;
  for (const FileMap &row : rows) {
    TRY(auto map, read_map(fd_, file_bytes, row));
    total += map.second.size_bytes;
    if (total > kMaxBlocksBytes)
      return Error{"claims more than " + std::to_string(kMaxBlocksBytes >> 30) + " GiB of maps"};
    maps_.push_back(std::move(map.first));
    blocks_.push_back(map.second);
  }
  TRY(std::ignore, check_span(file_bytes, {h.kernel_rows_offset, kMaxKernels * sizeof(KernelRow)},
                              kMaxFileBytes, "kernels"));
  TRY(std::ignore,
      check_span(file_bytes, {h.site_rows_offset, kMaxSites * sizeof(SiteRow)}, kMaxFileBytes, "sites"));
  TRY(std::ignore, check_span(file_bytes, {h.heap_offset, kMaxHeapBytes}, kMaxFileBytes, "names"));
  kernel_rows_offset_ = h.kernel_rows_offset, site_rows_offset_ = h.site_rows_offset,
  heap_offset_ = h.heap_offset;
  return Ok{};
}

Result<Ok> SnapshotFile::read_rows(Snapshot *snapshot) const {
  TRY(uint64_t kernel_count, read_count(fd_, offsetof(FileHeader, kernel_count), kMaxKernels));
  std::vector<KernelRow> kernels(kernel_count);
  TRY(std::ignore, read_at(fd_, kernel_rows_offset_, kernels.data(), kernel_count * sizeof(KernelRow)));
  TRY(uint64_t site_count, read_count(fd_, offsetof(FileHeader, site_count), kMaxSites));
  std::vector<SiteRow> sites(site_count);
  TRY(std::ignore, read_at(fd_, site_rows_offset_, sites.data(), site_count * sizeof(SiteRow)));

  NameHeap heap{heap_offset_, {}};
  for (const KernelRow &row : kernels)
    if (!heap.need(row.mangled) || !heap.need(row.printable))
      return Error{"a kernel's name is not in the file"};
  for (const SiteRow &row : sites)
    if (!heap.need(row.where)) return Error{"a site's name is not in the file"};
  TRY(std::ignore, read_at(fd_, heap_offset_, heap.bytes.data(), heap.bytes.size()));
  for (const KernelRow &row : kernels)
    snapshot->kernels[static_cast<uint32_t>(row.id)] = {heap.name(row.mangled), heap.name(row.printable)};
  for (const SiteRow &row : sites)
    snapshot->sites[static_cast<uint32_t>(row.id)] = {static_cast<uint32_t>(row.kernel),
                                                      heap.name(row.where)};
  return Ok{};
}

Result<Ok> SnapshotFile::read_blocks(size_t first, size_t end, Snapshot *snapshot) const {
  auto deadline = std::chrono::steady_clock::now() + kUpdateTimeout;
  for (;;) {
    uint64_t facts[3], after = 0;  // sequence, time, final
    static_assert(offsetof(FileHeader, is_final) == offsetof(FileHeader, sequence) + 16);
    TRY(std::ignore, read_at(fd_, offsetof(FileHeader, sequence), facts, sizeof facts));
    if (facts[0] % 2 == 0) {
      for (size_t i = first; i < end; i++) {
        std::vector<uint8_t> &block = snapshot->maps[i].block;
        block.resize(blocks_[i].size_bytes);
        TRY(std::ignore, read_at(fd_, blocks_[i].file_offset, block.data(), block.size()));
      }
      TRY(std::ignore, read_at(fd_, offsetof(FileHeader, sequence), &after, sizeof after));
      if (after == facts[0]) {
        snapshot->time_ns = facts[1], snapshot->is_final = facts[2] != 0;
        return Ok{};
      }
    }
    if (std::chrono::steady_clock::now() > deadline)
      return Error{"is being updated all the time, or its session died while it updated it"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<Snapshot> SnapshotFile::read(bool with_blocks) const {
  return read_range(0, with_blocks ? blocks_.size() : 0);
}

Result<Snapshot> SnapshotFile::read_one(size_t map) const {
  if (map >= blocks_.size()) return error("has no map " + std::to_string(map));
  return read_range(map, map + 1);
}

Result<Snapshot> SnapshotFile::read_range(size_t first, size_t end) const {
  Snapshot snapshot;
  snapshot.session = session_, snapshot.btf = btf_;
  for (size_t i = 0; i < maps_.size(); i++) snapshot.maps.push_back({maps_[i], blocks_[i].shard_count, {}});
  Result<Ok> done = Ok{};
  if (first < end) {
    done = read_blocks(first, end, &snapshot);
  } else {
    uint64_t facts[2];
    done = read_at(fd_, offsetof(FileHeader, time_ns), facts, sizeof facts);
    if (done) snapshot.time_ns = facts[0], snapshot.is_final = facts[1] != 0;
  }
  // After the blocks: every id that a block holds was published before it.
  if (done) done = read_rows(&snapshot);
  if (!done) return error(std::move(done).error().message);
  return snapshot;
}

}  // namespace egpu::map
