// The file through which a session's map contents travel: agent -> file -> egpu-load and egpu-map.
//
// egpu-load creates it in the session's directory in /dev/shm (mode 0600) and hands its descriptor
// to the agent, which copies each map's device block to the block's place, verbatim. Readers copy
// out. Blocks are guarded by a sequence count (a seqlock): the copy that read() returns lies between
// two updates.
//
// The file is never mapped here, but read and written with pread and pwrite, so that a file that
// somebody truncates gives an Error instead of a SIGBUS. Blocks are allocated when the file is
// created, so that a full /dev/shm is met there and not by the agent inside the target.
//
// One writer (egpu-load); any number of readers. What open() returns can be trusted: every offset,
// length and shape in the file was checked.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "egpu/bpf2ptx.h"
#include "egpu/result.h"
#include "lib/loader/map/snapshot.h"

namespace egpu::map {

class SnapshotFile {
 public:
  // Where a map's block is: the fields of session::MapBlock, and what egpu_stride_<i> is.
  struct Block {
    uint64_t size_bytes, file_offset;
    uint64_t initial_offset, initial_bytes;  // in the file; to be copied to the block's start
    uint32_t shard_count;
    uint64_t stride_bytes;  // 0: one shard
  };

  /// Creates the file under a temporary name and moves it to `path`, replacing what was there.
  static Result<SnapshotFile> create(const std::string &path, const SessionInfo &session,
                                     const std::vector<MapSpec> &maps, const std::vector<uint8_t> &btf);
  /// Opens for reading; an Error says what is wrong with the file.
  static Result<SnapshotFile> open(const std::string &path);

  SnapshotFile(SnapshotFile &&other) noexcept;
  SnapshotFile &operator=(SnapshotFile &&other) noexcept;
  ~SnapshotFile();

  int fd() const { return fd_; }
  const std::string &path() const { return path_; }
  const std::vector<Block> &blocks() const { return blocks_; }  // one per map, in the order of the maps
  const std::vector<MapSpec> &maps() const { return maps_; }
  const SessionInfo &session() const { return session_; }
  /// What egpu_last_shard is: the largest shard_count - 1.
  uint32_t last_shard() const;

  // Writer's part. Ids may come in any order; a repeated id replaces the earlier name.
  Result<Ok> add_kernel(uint32_t id, const std::string &mangled, const std::string &printable);
  Result<Ok> add_site(uint32_t id, uint32_t kernel, const std::string &where);
  /// Around the agent's copy. Without end_update readers give up after a while with an Error.
  Result<Ok> begin_update();
  Result<Ok> end_update(uint64_t time_ns, bool is_final = false);

  /// A consistent copy. `with_blocks` false leaves the blocks empty (for lists of names).
  Result<Snapshot> read(bool with_blocks = true) const;
  /// The same with one map's block only, the others empty (the printk ring, which is read often).
  Result<Snapshot> read_one(size_t map) const;

 private:
  SnapshotFile() = default;
  Result<Ok> load_header();
  Result<uint64_t> append_name(const std::string &name);
  Result<Ok> read_rows(Snapshot *snapshot) const;
  Result<Ok> read_blocks(size_t first, size_t end, Snapshot *snapshot) const;
  Result<Snapshot> read_range(size_t first, size_t end) const;
  Error error(const std::string &cause) const { return {path_ + ": " + cause}; }

  int fd_ = -1;
  std::string path_;
  SessionInfo session_;
  std::vector<MapSpec> maps_;
  std::vector<uint8_t> btf_;
  std::vector<Block> blocks_;
  uint64_t kernel_rows_offset_ = 0, site_rows_offset_ = 0, heap_offset_ = 0;
  uint64_t kernel_count_ = 0, site_count_ = 0, heap_used_ = 0, sequence_ = 0;  // writer's
};

}  // namespace egpu::map
