#include "lib/loader/ptx/form.h"

#include <algorithm>
#include <numeric>

namespace egpu::ptx {

std::vector<bool> choose_called(const std::vector<BodyUse> &uses) {
  std::vector<bool> called(uses.size());
  std::vector<size_t> by_size(uses.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  auto copies = [&](size_t i) { return uses[i].statements * uses[i].sites; };
  std::stable_sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) { return copies(a) > copies(b); });
  size_t total = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    called[i] = uses[i].asked == BodyForm::called;
    if (!called[i]) total += copies(i);
  }
  for (size_t i : by_size) {
    if (total <= kInlineStatements) break;
    if (uses[i].asked != BodyForm::by_cost || uses[i].statements <= kCallStatements || uses[i].sites < 2)
      continue;
    called[i] = true;
    total -= copies(i);
  }
  return called;
}

}  // namespace egpu::ptx
