// Writer's part of SnapshotFile: lay the file out, reserve its memory, name it.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "lib/loader/map/file_io.h"
#include "lib/loader/map/layout.h"
#include "lib/loader/map/shards.h"
#include "lib/loader/map/snapshot_file.h"
#include "lib/loader/map/snapshot_format.h"

namespace egpu::map {
namespace {

using namespace format;

// The part of the file that never changes, built in memory; offsets are file offsets because the
// image starts at 0.
struct Image {
  std::vector<uint8_t> bytes;

  Span append(const void *data, size_t size) {
    Span span{bytes.size(), size};
    auto *p = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), p, p + size);
    bytes.resize(round_up(bytes.size(), 8));
    return span;
  }
  Span append(const std::string &s) { return append(s.data(), s.size()); }
};

FileMap describe(const MapSpec &map, uint32_t shard_count) {
  FileMap m{};
  m.type = static_cast<uint32_t>(map.shape.type);
  m.key_size = map.shape.key_size, m.value_size = map.shape.value_size, m.max_entries = map.shape.max_entries;
  m.key_type_id = map.key_type_id, m.value_type_id = map.value_type_id;
  m.flags = (map.read_only ? kReadOnly : 0u) | (map.internal ? kInternal : 0u) |
            (map.sharded ? kSharded : 0u) | (map.summed ? kSummed : 0u);
  m.shard_count = shard_count;
  return m;
}

// Lays out everything; fills in the offsets of `header` and `table`.
Image lay_out(const SessionInfo &session, const std::vector<MapSpec> &maps, const std::vector<uint8_t> &btf,
              FileHeader *header, std::vector<FileMap> *table) {
  Image image;
  image.bytes.resize(sizeof(FileHeader));
  header->maps_offset = image.bytes.size();
  header->map_count = static_cast<uint32_t>(maps.size());
  image.bytes.resize(image.bytes.size() + maps.size() * sizeof(FileMap));
  header->command = image.append(session.command.substr(0, kMaxNameBytes));
  header->object = image.append(session.object.substr(0, kMaxNameBytes));
  header->device_name = image.append(session.device_name.substr(0, kMaxNameBytes));
  header->btf = image.append(btf.data(), btf.size());
  for (size_t i = 0; i < maps.size(); i++) {
    FileMap &m = (*table)[i];
    m.name = image.append(maps[i].name), m.unit = image.append(maps[i].unit);
    m.initial = image.append(maps[i].initial.data(), maps[i].initial.size());
  }
  header->kernel_rows_offset = round_up(image.bytes.size(), kPageBytes);
  header->site_rows_offset = header->kernel_rows_offset + kMaxKernels * sizeof(KernelRow);
  header->heap_offset = header->site_rows_offset + kMaxSites * sizeof(SiteRow);
  uint64_t end = header->heap_offset + kMaxHeapBytes;
  for (FileMap &m : *table) {
    m.block.offset = round_up(end, kPageBytes);
    end = m.block.offset + m.block.bytes;
  }
  header->file_bytes = round_up(end, kPageBytes);
  return image;
}

// tmpfs and all common file systems have fallocate; one that has not must do without the promise.
Result<Ok> reserve(int fd, uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return Ok{};
  while (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return Ok{};
    return Error{std::strerror(errno)};
  }
  return Ok{};
}

Result<std::vector<FileMap>> make_table(const std::vector<MapSpec> &maps, uint32_t sm_count,
                                        uint64_t budget_bytes) {
  TRY(auto counts, plan_shards(maps, sm_count, budget_bytes));
  std::vector<FileMap> table;
  uint64_t total = 0;
  for (size_t i = 0; i < maps.size(); i++) {
    auto bytes = checked_block_bytes(maps[i].shape, counts[i]);
    if (!bytes) return std::move(bytes).error().in("map " + maps[i].name);
    if (maps[i].initial.size() > maps[i].shape.value_size)
      return Error{"map " + maps[i].name + ": first contents are larger than its value"};
    if (maps[i].name.size() > kMaxNameBytes || maps[i].unit.size() > kMaxNameBytes)
      return Error{"map " + std::to_string(i) + ": its name is too long"};
    total += *bytes;
    table.push_back(describe(maps[i], counts[i]));
    table.back().block.bytes = *bytes;
  }
  if (total > kMaxBlocksBytes)
    return Error{"the maps need " + std::to_string(total >> 20) + " MiB, more than " +
                 std::to_string(kMaxBlocksBytes >> 20)};
  return table;
}

Result<Ok> write_file(int fd, const SessionInfo &session, const std::vector<MapSpec> &maps,
                      const std::vector<uint8_t> &btf, std::vector<FileMap> *table) {
  FileHeader header{};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion, header.header_bytes = sizeof(FileHeader);
  header.pid = session.pid, header.sm_count = session.sm_count, header.start_ns = session.start_ns;
  header.compute_major = session.compute_major, header.compute_minor = session.compute_minor;
  Image image = lay_out(session, maps, btf, &header, table);
  std::memcpy(image.bytes.data(), &header, sizeof header);
  if (!table->empty())
    std::memcpy(image.bytes.data() + header.maps_offset, table->data(), table->size() * sizeof(FileMap));

  if (ftruncate(fd, static_cast<off_t>(header.file_bytes)) != 0) return Error{std::strerror(errno)};
  TRY(std::ignore, write_at(fd, 0, image.bytes.data(), image.bytes.size()));
  for (size_t i = 0; i < maps.size(); i++) {
    const Span &block = (*table)[i].block;
    TRY(std::ignore, reserve(fd, block.offset, round_up(block.bytes, kPageBytes)));
    TRY(std::ignore, write_at(fd, block.offset, maps[i].initial.data(), maps[i].initial.size()));
  }
  return Ok{};
}

}  // namespace

Result<SnapshotFile> SnapshotFile::create(const std::string &path, const SessionInfo &session,
                                          const std::vector<MapSpec> &maps, const std::vector<uint8_t> &btf) {
  SnapshotFile file;
  file.path_ = path;
  if (maps.size() > kMaxMaps) return file.error("more than " + std::to_string(kMaxMaps) + " maps");
  if (btf.size() > kMaxBtfBytes) return file.error("the object's BTF is too large");
  std::string temporary = path + ".new";
  // A small /dev/shm (containers: 64 MB) is the usual limit; try again with one copy per map.
  std::string cause;
  for (uint64_t budget : {kShardBudgetBytes, uint64_t{0}}) {
    auto table = make_table(maps, session.sm_count, budget);
    if (!table) return file.error(std::move(table).error().message);
    ::unlink(temporary.c_str());
    SnapshotFile attempt;
    attempt.path_ = path;
    attempt.fd_ = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (attempt.fd_ < 0) return file.error(std::strerror(errno));
    auto written = write_file(attempt.fd_, session, maps, btf, &*table);
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = Error{std::strerror(errno)};
    if (written) {
      TRY(std::ignore, attempt.load_header());
      return attempt;
    }
    ::unlink(temporary.c_str());
    uint64_t total = 0;
    for (const FileMap &m : *table) total += m.block.bytes;
    cause = std::to_string((total + (1 << 20) - 1) >> 20) + " MiB for the maps: " + written.error().message;
  }
  return file.error(cause);
}

Result<uint64_t> SnapshotFile::append_name(const std::string &name) {
  if (name.size() > kMaxNameBytes)
    return error("a name of " + std::to_string(name.size()) + " bytes is too long");
  if (name.size() > kMaxHeapBytes - heap_used_) return error("no room for more names");
  uint64_t offset = heap_offset_ + heap_used_;
  auto written = write_at(fd_, offset, name.data(), name.size());
  if (!written) return error(std::move(written).error().message);
  heap_used_ += name.size();
  return offset;
}

Result<Ok> SnapshotFile::add_kernel(uint32_t id, const std::string &mangled, const std::string &printable) {
  if (kernel_count_ >= kMaxKernels) return error("more than " + std::to_string(kMaxKernels) + " kernels");
  TRY(uint64_t mangled_offset, append_name(mangled));
  TRY(uint64_t printable_offset, append_name(printable));
  KernelRow row{id, {mangled_offset, mangled.size()}, {printable_offset, printable.size()}};
  auto written = write_at(fd_, kernel_rows_offset_ + kernel_count_ * sizeof row, &row, sizeof row);
  uint64_t count = kernel_count_ + 1;
  if (written) written = write_at(fd_, offsetof(FileHeader, kernel_count), &count, sizeof count);
  if (!written) return error(std::move(written).error().message);
  kernel_count_ = count;
  return Ok{};
}

Result<Ok> SnapshotFile::add_site(uint32_t id, uint32_t kernel, const std::string &where) {
  if (site_count_ >= kMaxSites) return error("more than " + std::to_string(kMaxSites) + " sites");
  TRY(uint64_t where_offset, append_name(where));
  SiteRow row{id, kernel, {where_offset, where.size()}};
  auto written = write_at(fd_, site_rows_offset_ + site_count_ * sizeof row, &row, sizeof row);
  uint64_t count = site_count_ + 1;
  if (written) written = write_at(fd_, offsetof(FileHeader, site_count), &count, sizeof count);
  if (!written) return error(std::move(written).error().message);
  site_count_ = count;
  return Ok{};
}

Result<Ok> SnapshotFile::begin_update() {
  if (sequence_ % 2 == 0) sequence_++;
  auto written = write_at(fd_, offsetof(FileHeader, sequence), &sequence_, sizeof sequence_);
  if (!written) return error(std::move(written).error().message);
  return Ok{};
}

Result<Ok> SnapshotFile::end_update(uint64_t time_ns, bool is_final) {
  uint64_t facts[] = {time_ns, is_final ? uint64_t{1} : 0};
  static_assert(offsetof(FileHeader, is_final) == offsetof(FileHeader, time_ns) + 8);
  auto written = write_at(fd_, offsetof(FileHeader, time_ns), facts, sizeof facts);
  if (sequence_ % 2 == 1) sequence_++;
  if (written) written = write_at(fd_, offsetof(FileHeader, sequence), &sequence_, sizeof sequence_);
  if (!written) return error(std::move(written).error().message);
  return Ok{};
}

}  // namespace egpu::map
