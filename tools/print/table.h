// A table of aligned columns: headings, text to the left, numbers to the right.
#pragma once
#include <string>
#include <vector>

namespace egpu::print {

struct Cell {
  std::string text;
  bool is_number = false;  // one number in a column aligns it to the right
};

// Columns come in the order in which rows first have them; a row may lack some.
class Table {
 public:
  void add_row() { rows_.emplace_back(); }
  /// Sets a cell of the last row.
  void set(const std::string &column, Cell cell);
  /// Lines, each after `indent`, the headings first (bold if `color`).
  std::string text(bool color, const std::string &indent) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace egpu::print
