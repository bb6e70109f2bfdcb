// wmma.load, wmma.store: fragments from and to memory, element by element in all lanes.
#include "lib/sim/machine/access.h"
#include "lib/sim/machine/fragment.h"

namespace egpu::sim {
namespace {

// Where the i-th element of a lane lies in memory, in elements from the matrix's first.
uint64_t offset_of(const MatrixSite &site, uint32_t bits, uint32_t i, uint32_t lane, uint32_t stride) {
  Cell at{};
  if (site.part == Part::accumulator) {
    at = accumulator_cell(site.m, site.n, i, lane);
  } else {
    const bool is_a = site.part == Part::a;
    const FactorCell factor = factor_cell(is_a ? site.m : site.n, site.k, bits, is_a, i, lane);
    at = is_a ? Cell{factor.side, factor.k} : Cell{factor.k, factor.side};
  }
  return site.column_major ? uint64_t{at.column} * stride + at.row : uint64_t{at.row} * stride + at.column;
}

uint64_t read_bytes(uint64_t host, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void *>(host), bytes);
  return value;
}

// Elements of less than a byte are loaded only: accumulators are not that small.
template <bool kLoads>
void move_fragment(Exec &x, const Op &op, uint32_t mask) {
  if (!all_here(x, mask)) return;
  const MatrixSite &site = site_of(op);
  const uint32_t bits = element_row(site.d).bits, bytes = bits < 8 ? 1 : bits / 8;
  const uint32_t count = site.rows() * site.columns() / kLanes, *stride = x.at<uint32_t>(op.b);
  uint64_t base[kLanes];
  lane_addresses(x, {op.a, (op.flags & kAddress32) != 0, static_cast<int32_t>(op.y)}, base);
  note_addresses(x, base);
  for (uint32_t i = 0; i < count; ++i) {
    Hosts hosts;
    uint32_t shift[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t bit = offset_of(site, bits, i, l, stride[l]) * bits;
      hosts.at[l] = base[l] + bit / 8;
      shift[l] = bit % 8;
    }
    if (!locate_addresses_in(x, static_cast<Space>(op.x), kLoads ? Access::read : Access::write, mask, bytes,
                             bytes, hosts))
      return;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if constexpr (kLoads) {
        set_element(x, site.d_refs, bits, i, l, read_bytes(hosts.at[l], bytes) >> shift[l]);
      } else {
        const uint64_t value = element_at(x, site.d_refs, bits, i, l);
        std::memcpy(reinterpret_cast<void *>(hosts.at[l]), &value, bytes);
      }
    }
  }
  if constexpr (kLoads) {  // the copies
    const size_t own = size_t{count} * bits / (bits == 64 ? 64 : 32);
    for (size_t r = own; r < site.d_refs.size(); ++r)
      std::memcpy(x.at<uint32_t>(site.d_refs[r]), x.at<uint32_t>(site.d_refs[r % own]), 4 * kLanes);
  }
}

constexpr Row kRows[] = {
    {"wmma.load", move_fragment<true>},
    {"wmma.store", move_fragment<false>},
};
}  // namespace

Rows wmma_rows() { return {kRows, std::size(kRows)}; }

}  // namespace egpu::sim
