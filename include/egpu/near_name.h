// The candidate that a mistyped name was probably meant to be, for "did you mean" hints.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

namespace egpu {

// Edit distance (insert, delete, replace) between two names.
inline size_t name_distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

/// The nearest candidate, or "" if none is within a third of the name's length (at least 2).
inline std::string near_name(const std::string &name, const std::vector<std::string> &candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = name_distance(name, candidate);
    // Typing errors are rare in the first letter: it decides between equally near names.
    bool preferred = !best.empty() && best[0] != name[0] && !candidate.empty() && candidate[0] == name[0];
    bool nearer = distance < best_distance || (distance == best_distance && preferred);
    if (nearer && distance < candidate.size()) best = candidate, best_distance = distance;
  }
  return best;
}

}  // namespace egpu
