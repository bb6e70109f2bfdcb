// A log2 histogram (struct gpu_hist) as intervals and as ASCII bars.
//
// Slot 0 counts zeros, slot i the values in [2^(i-1), 2^i), the last slot everything above.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace egpu::print {

struct Interval {
  uint64_t low, high;  // both inside
  uint64_t count;
};

/// From the first to the last slot that counted anything, those between included.
std::vector<Interval> intervals(const std::vector<uint64_t> &slots);

/// "0", "512", "1K", "16M": exact for powers of two.
std::string power_label(uint64_t power);

/// One line per interval: label, count, bar. Empty histograms give "(empty)".
std::string histogram_text(const std::vector<uint64_t> &slots, const std::string &indent);

}  // namespace egpu::print
