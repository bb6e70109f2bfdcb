// The bytes of a snapshot file. Only snapshot_file.cc includes this.
//
//   FileHeader | FileMap[map_count] | strings, BTF, first contents | KernelRow[] | SiteRow[] | name heap |
//   blocks
//
// Everything but the header's last part, the rows, the heap and the blocks is written once, before
// the file gets its name. The regions of rows and of the heap are reserved at their full size but
// sparse; row_count is raised after a row and its names are complete, so a reader that believes the
// count sees complete rows. Blocks begin on pages, so that an agent may map them one by one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace egpu::map::format {

constexpr char kMagic[8] = {'E', 'G', 'P', 'U', 'M', 'A', 'P', 'S'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kPageBytes = 4096;

// Bounds on what a file may claim; generous for real sessions, small enough to allocate.
constexpr uint32_t kMaxMaps = 1024, kMaxShards = 4096;
constexpr uint32_t kMaxKernels = 1 << 16, kMaxSites = 1 << 20;
constexpr uint64_t kMaxNameBytes = 1 << 16, kMaxBtfBytes = 16 << 20, kMaxHeapBytes = 64 << 20;
constexpr uint64_t kMaxFileBytes = uint64_t{8} << 30, kMaxBlocksBytes = uint64_t{4} << 30;

struct Span {
  uint64_t offset, bytes;
};

struct FileHeader {
  char magic[8];
  uint32_t version, header_bytes;
  uint64_t file_bytes;
  int32_t pid;
  uint32_t sm_count, compute_major, compute_minor;
  uint64_t start_ns;
  Span command, object, device_name, btf;
  uint64_t maps_offset;
  uint32_t map_count, reserved;
  uint64_t kernel_rows_offset, site_rows_offset, heap_offset;
  // From here on written while readers read.
  uint64_t kernel_count, site_count;
  uint64_t sequence;  // odd while blocks are being written
  uint64_t time_ns, is_final;
};

enum MapFlags : uint32_t { kReadOnly = 1, kInternal = 2, kSharded = 4, kSummed = 8 };

struct FileMap {
  Span name, unit, initial, block;
  uint32_t type, key_size, value_size, max_entries;
  uint32_t key_type_id, value_type_id, flags, shard_count;
};

struct KernelRow {
  uint64_t id;
  Span mangled, printable;
};

struct SiteRow {
  uint64_t id, kernel;
  Span where;
};

static_assert(std::is_trivially_copyable_v<FileHeader> && sizeof(FileHeader) % 8 == 0);
static_assert(sizeof(FileMap) == 96 && sizeof(KernelRow) == 40 && sizeof(SiteRow) == 32);

}  // namespace egpu::map::format
