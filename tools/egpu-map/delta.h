// What was added to a map between two looks at it.
#pragma once
#include "tools/print/view.h"

namespace egpu::map_tool {

/// Puts a field "+NAME" with the difference after every number of `now`; a histogram becomes its
/// number of values, the difference, and the bars. Rows that `before` lacks count from zero.
void add_deltas(const print::View &before, print::View *now);

}  // namespace egpu::map_tool
