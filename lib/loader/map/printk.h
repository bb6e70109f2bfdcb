// The lines that probes printed with bpf_printk.
//
// In: a snapshot's maps, the ring among them, and how far the caller has read. Out: complete lines
// in the order in which the GPU took their places, and the position to go on from, which
// egpu-load sends to the agent (ring_tail) so that the GPU may reuse the places.
//
// Formats are a subset of printf's, as for the kernel's bpf_trace_printk: %d %i %u %x %X %o %c %p
// with flags, width, precision and the lengths hh h l ll z; %%. There is no %s: the GPU's strings
// are not in the record.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/map/snapshot.h"

namespace egpu::map {

struct PrintkLine {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t kernel = 0, site = 0;
  std::string text;  // without the newline
};

struct PrintkBatch {
  std::vector<PrintkLine> lines;
  uint64_t tail = 0;     // next position to read
  uint64_t dropped = 0;  // lines lost so far because the ring was full
};

/// Lines from position `tail` on; maps[ring] is the RINGBUF.
Result<PrintkBatch> read_printk(const std::vector<MapData> &maps, size_t ring, uint64_t tail);

/// printf with 64-bit arguments. A conversion that is not allowed, or lacks its argument, is
/// copied as it stands.
std::string format_printk(const std::string &format, const std::vector<uint64_t> &arguments);

}  // namespace egpu::map
