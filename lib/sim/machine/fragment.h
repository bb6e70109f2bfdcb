// Fragments: which elements of a matrix a lane's registers hold, for mma and wmma alike.
//
// In: a matrix's sides, its elements' bits, a lane and the number of an element in that lane. Out: the
// element's place. Lane l = 4 * group + member. A and B are made of tiles of 16 (A) or 8 rows or columns,
// C and D of tiles of 16 x 8 or 8 x 8. The ISA gives this for mma; wmma's layout is its own affair, so it is
// the same here. Source: PTX ISA 9.0, 9.7.14.4, 9.7.14.5.
#pragma once
#include <vector>

#include "lib/sim/machine/lanes.h"

namespace egpu::sim {

struct Cell {
  uint32_t row, column;
};

/// Of a factor with `side` rows (A) or columns (B; 8 to a tile): its row or column, and its place along k.
struct FactorCell {
  uint32_t side, k;
};
inline FactorCell factor_cell(uint32_t side, uint32_t k, uint32_t bits, bool is_a, uint32_t i,
                              uint32_t lane) {
  uint32_t per = bits == 64 ? 1 : 32 / bits, tile_side = is_a && side >= 16 ? 16 : 8;
  uint32_t tile_elements = tile_side * k / kLanes, tile = i / tile_elements, r = i % tile_elements / per;
  uint32_t half = tile_side == 16 ? r & 1 : 0, block = tile_side == 16 ? r >> 1 : r;
  return {tile * tile_side + lane / 4 + 8 * half, (block * 4 + lane % 4) * per + i % per};
}

/// Of C or D, m x n.
inline Cell accumulator_cell(uint32_t m, uint32_t n, uint32_t i, uint32_t lane) {
  uint32_t tile_m = m >= 16 ? 16 : 8, tile_elements = tile_m / 4, tile = i / tile_elements,
           j = i % tile_elements;
  return {tile / (n / 8) * tile_m + lane / 4 + 8 * (j >> 1), tile % (n / 8) * 8 + lane % 4 * 2 + (j & 1)};
}

/// The i-th element of a lane, of registers that hold elements of `bits` bits packed into 32, or one of 64.
inline uint64_t element_at(Exec &x, const std::vector<uint32_t> &refs, uint32_t bits, uint32_t i,
                           uint32_t lane) {
  if (bits == 64) return x.at<uint64_t>(refs[i])[lane];
  uint32_t per = 32 / bits, word = x.at<uint32_t>(refs[i / per])[lane];
  return bits == 32 ? word : word >> (bits * (i % per)) & ((1u << bits) - 1);
}
inline void set_element(Exec &x, const std::vector<uint32_t> &refs, uint32_t bits, uint32_t i, uint32_t lane,
                        uint64_t value) {
  if (bits == 64) {
    x.at<uint64_t>(refs[i])[lane] = value;
    return;
  }
  uint32_t per = 32 / bits, shift = bits * (i % per);
  uint32_t mask = (bits == 32 ? ~0u : (1u << bits) - 1) << shift;
  uint32_t &word = x.at<uint32_t>(refs[i / per])[lane];
  word = (word & ~mask) | (static_cast<uint32_t>(value) << shift & mask);
}

/// What Decoder::emit_matrix() gave the operation.
inline const MatrixSite &site_of(const Op &op) {
  return *reinterpret_cast<const MatrixSite *>(static_cast<intptr_t>(op.imm));
}

/// Matrix instructions are of the whole warp; false: a fault was raised.
bool all_here(Exec &x, uint32_t mask);

}  // namespace egpu::sim
