#include "tools/print/histogram.h"

#include <algorithm>

namespace egpu::print {
namespace {

constexpr size_t kBarColumns = 40;

std::string pad_left(const std::string &text, size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

std::string pad_right(const std::string &text, size_t columns) {
  return text + std::string(columns - std::min(columns, text.size()), ' ');
}

// Long double holds every uint64_t exactly, and the largest count fills the bar exactly.
std::string bar(uint64_t count, uint64_t largest) {
  auto columns =
      static_cast<size_t>(static_cast<long double>(count) / static_cast<long double>(largest) * kBarColumns);
  if (count > 0) columns = std::max<size_t>(columns, 1);
  return std::string(columns, '@') + std::string(kBarColumns - columns, ' ');
}

std::string interval_label(const Interval &interval) {
  if (interval.low == interval.high) return "[" + std::to_string(interval.low) + "]";
  if (interval.high == UINT64_MAX) return "[" + power_label(interval.low) + ", ...)";
  return "[" + power_label(interval.low) + ", " + power_label(interval.high + 1) + ")";
}

}  // namespace

std::vector<Interval> intervals(const std::vector<uint64_t> &slots) {
  std::vector<Interval> out;
  size_t end = slots.size();
  while (end > 0 && slots[end - 1] == 0) end--;
  for (size_t i = 0; i < end; i++) {
    if (out.empty() && slots[i] == 0) continue;
    uint64_t low = i == 0 ? 0 : uint64_t{1} << std::min<size_t>(i - 1, 63);
    uint64_t high = i == 0 ? 0 : i + 1 >= slots.size() || i >= 64 ? UINT64_MAX : (uint64_t{1} << i) - 1;
    out.push_back({low, high, slots[i]});
  }
  return out;
}

std::string power_label(uint64_t power) {
  static constexpr const char *kSuffix[] = {"", "K", "M", "G", "T", "P", "E"};
  size_t i = 0;
  for (; power != 0 && power % 1024 == 0 && i + 1 < std::size(kSuffix); i++) power /= 1024;
  return std::to_string(power) + kSuffix[i];
}

std::string histogram_text(const std::vector<uint64_t> &slots, const std::string &indent) {
  std::vector<Interval> rows = intervals(slots);
  if (rows.empty()) return indent + "(empty)\n";
  size_t label_columns = 0, count_columns = 0;
  uint64_t largest = 0;
  for (const Interval &row : rows) {
    label_columns = std::max(label_columns, interval_label(row).size());
    count_columns = std::max(count_columns, std::to_string(row.count).size());
    largest = std::max(largest, row.count);
  }
  std::string out;
  for (const Interval &row : rows) {
    out += indent + pad_right(interval_label(row), label_columns) + "  " +
           pad_left(std::to_string(row.count), count_columns) + " |" + bar(row.count, largest) + "|\n";
  }
  return out;
}

}  // namespace egpu::print
