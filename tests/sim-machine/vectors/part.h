// "3/8": the third of eight consecutive parts of some work, for processes side by side.
#pragma once
#include <cstddef>
#include <cstdio>
#include <utility>

namespace egpu::vectors {

struct Part {
  size_t index = 1, count = 1;
  /// Begin and end of the part of `size` things.
  std::pair<size_t, size_t> of(size_t size) const {
    return {size * (index - 1) / count, size * index / count};
  }
};

inline bool read_part(const char *text, Part *part) {
  int used = 0;
  return std::sscanf(text, "%zu/%zu%n", &part->index, &part->count, &used) == 2 && !text[used] &&
         part->index >= 1 && part->index <= part->count;
}

}  // namespace egpu::vectors
