#include "tools/print/table.h"

#include <algorithm>

namespace egpu::print {
namespace {

// Columns of UTF-8 text: its code points.
size_t width(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string aligned(const std::string &text, size_t columns, bool right) {
  std::string blank(columns - std::min(columns, width(text)), ' ');
  return right ? blank + text : text + blank;
}

}  // namespace

void Table::set(const std::string &column, Cell cell) {
  auto it = std::find(names_.begin(), names_.end(), column);
  auto at = static_cast<size_t>(it - names_.begin());
  if (it == names_.end()) names_.push_back(column);
  if (rows_.back().size() <= at) rows_.back().resize(at + 1);
  rows_.back()[at] = std::move(cell);
}

std::string Table::text(bool color, const std::string &indent) const {
  std::vector<size_t> widths;
  std::vector<bool> right(names_.size());
  for (const std::string &name : names_) widths.push_back(width(name));
  for (const auto &row : rows_) {
    for (size_t i = 0; i < row.size(); i++) {
      widths[i] = std::max(widths[i], width(row[i].text));
      if (row[i].is_number) right[i] = true;
    }
  }
  auto line = [&](auto text_at) {
    std::string out = indent;
    for (size_t i = 0; i < widths.size(); i++)
      out += (i > 0 ? "  " : "") + aligned(text_at(i), widths[i], right[i]);
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::string out = line([&](size_t i) { return names_[i]; });
  out = color ? "\033[1m" + out + "\033[0m\n" : out + "\n";
  for (const auto &row : rows_)
    out += line([&](size_t i) { return i < row.size() ? row[i].text : std::string(); }) + "\n";
  return out;
}

}  // namespace egpu::print
