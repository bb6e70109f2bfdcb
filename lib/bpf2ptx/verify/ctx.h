// The fields of the context that a program gets, by event.
// Source: include/egpu/vmgpu.h; a static_assert there would need C++ there, a test compares.
#pragma once
#include <cstdint>
#include <string>

#include "egpu/event.h"
#include "lib/bpf2ptx/verify/uniform.h"

namespace egpu::bpf {

struct CtxField {
  const char *name;  // as in vmgpu.h: "grid_dim.x"
  int offset, bytes;
  uint64_t max;  // largest value the hardware gives
  int only;      // kAlways or one kind of event
  Uniform uniform;
};

enum CtxEvents : int { kAlways, kMemoryEvents, kBranchEvents };

/// The field that holds [offset, offset + bytes) when `event` happens; null: none.
const CtxField *find_ctx_field(const Event &event, int64_t offset, int bytes);

/// Why there is none: "ctx->addr exists in memory events (ld, st, atom, red) only; ...".
std::string explain_ctx_offset(const Event &event, int64_t offset, int bytes);

}  // namespace egpu::bpf
