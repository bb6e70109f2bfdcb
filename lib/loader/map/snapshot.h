// What a reader of a snapshot file gets: a consistent copy of everything that is in it.
//
// Owned bytes only, nothing points into the file. Times are CLOCK_MONOTONIC in nanoseconds. The
// blocks are verbatim copies of device memory (layout.h); merge.h makes entries of them, printk.h
// lines, and tools/print text.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "egpu/bpf2ptx.h"

namespace egpu::map {

// Who is probed, on what. One file belongs to one CUDA context of one process.
struct SessionInfo {
  int32_t pid = 0;      // of the target
  std::string command;  // of the target, as the user may know it
  std::string object;   // file name of the probe
  std::string device_name;
  uint32_t sm_count = 0, compute_major = 0, compute_minor = 0;
  uint64_t start_ns = 0;  // when the session began
};

struct MapData {
  MapSpec spec;
  uint32_t shard_count = 1;
  std::vector<uint8_t> block;  // block_bytes(spec.shape, shard_count), or empty if not asked for
};

struct KernelName {
  std::string mangled, printable;
};

struct SiteName {
  uint32_t kernel = 0;
  std::string where;  // "file.cu:12", else "ptx:34"
};

struct Snapshot {
  SessionInfo session;
  uint64_t time_ns = 0;   // of the copy; 0: none was made yet, the maps hold their first contents
  bool is_final = false;  // the target ended or was detached: nothing will change any more
  std::vector<MapData> maps;
  std::vector<uint8_t> btf;
  std::map<uint32_t, KernelName> kernels;
  std::map<uint32_t, SiteName> sites;
};

}  // namespace egpu::map
