#include "lib/loader/agent/measure.h"

#include "lib/loader/agent/contexts.h"
#include "lib/loader/agent/socket.h"

namespace egpu::agent {
namespace {

// A CUkernel may stand for a CUfunction in questions about occupancy (driver API manual), not in
// those about attributes.
template <class Attribute>
session::Footprint footprint(CUfunction function, const session::LoadKernel &kernel, Attribute attribute) {
  auto ask = [&](int which) {
    int value = 0;
    return attribute(&value, which) == 0 ? value : -1;
  };
  session::Footprint out = {ask(driver::kFuncRegisters), ask(driver::kFuncLocalBytes),
                            ask(driver::kFuncSharedBytes), -1};
  int blocks = 0;
  if (cu.cuOccupancyMaxActiveBlocksPerMultiprocessor && kernel.block_threads != 0 &&
      cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, function, static_cast<int>(kernel.block_threads), kernel.block_shared_bytes) == 0)
    out.blocks_per_sm = blocks;
  return out;
}

}  // namespace

void measure(const Entry &entry, const session::LoadKernel &kernel) {
  CUfunction original = reinterpret_cast<CUfunction>(kernel.function);
  bool is_kernel = entry.is_kernel.load(std::memory_order_relaxed);
  session::Measured measured = {kernel.function, {}, {}};
  measured.original = footprint(original, kernel, [&](int *value, int which) {
    if (!is_kernel) return cu.cuFuncGetAttribute(value, which, original);
    CUresult unknown = driver::kNotFound;
    return cu.cuKernelGetAttribute
               ? cu.cuKernelGetAttribute(value, which, reinterpret_cast<CUkernel>(original),
                                         entry.where->device)
               : unknown;
  });
  measured.patched = footprint(entry.patched, kernel, [&](int *value, int which) {
    return cu.cuFuncGetAttribute(value, which, entry.patched);
  });
  send_packet(session::Kind::measured, &measured, sizeof measured, nullptr, 0);
}

}  // namespace egpu::agent
