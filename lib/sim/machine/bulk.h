// What decode() puts into Op::x of a bulk copy or reduction.
#pragma once
#include <cstdint>

namespace egpu::sim {

enum BulkBit : uint8_t { kToIsNarrow = 1, kFromIsNarrow = 2, kToShared = 4, kFromShared = 8 };

}  // namespace egpu::sim
