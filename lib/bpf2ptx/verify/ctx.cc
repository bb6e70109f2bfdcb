#include "lib/bpf2ptx/verify/ctx.h"

#include <algorithm>
#include <array>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {
namespace {

using enum Uniform;
constexpr uint64_t kU32 = 0xffffffff, kU64 = ~uint64_t{0};

// Maxima: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". sm_id is no
// better than warp: a block that is preempted may go on elsewhere (PTX ISA, "%smid").
constexpr CtxField kFields[] = {
    {"grid_dim.x", 0, 4, 0x7fffffff, kAlways, grid},
    {"grid_dim.y", 4, 4, 65535, kAlways, grid},
    {"grid_dim.z", 8, 4, 65535, kAlways, grid},
    {"block_dim.x", 12, 4, 1024, kAlways, grid},
    {"block_dim.y", 16, 4, 1024, kAlways, grid},
    {"block_dim.z", 20, 4, 64, kAlways, grid},
    {"block_idx.x", 24, 4, 0x7ffffffe, kAlways, block},
    {"block_idx.y", 28, 4, 65534, kAlways, block},
    {"block_idx.z", 32, 4, 65534, kAlways, block},
    {"thread_idx.x", 36, 4, 1023, kAlways, lane},
    {"thread_idx.y", 40, 4, 1023, kAlways, lane},
    {"thread_idx.z", 44, 4, 63, kAlways, lane},
    {"sm_id", 48, 4, kU32, kAlways, warp},
    {"lane_id", 52, 4, 31, kAlways, lane},
    {"active_mask", 56, 4, kU32, kAlways, warp},
    {"kernel", 60, 4, kU32, kAlways, grid},
    {"site", 64, 4, kU32, kAlways, grid},
    {"launch_ns", 72, 8, kU64, kAlways, grid},
    {"arg[0]", 80, 8, kU64, kAlways, grid},
    {"arg[1]", 88, 8, kU64, kAlways, grid},
    {"arg[2]", 96, 8, kU64, kAlways, grid},
    {"arg[3]", 104, 8, kU64, kAlways, grid},
    {"arg[4]", 112, 8, kU64, kAlways, grid},
    {"arg[5]", 120, 8, kU64, kAlways, grid},
    {"arg[6]", 128, 8, kU64, kAlways, grid},
    {"arg[7]", 136, 8, kU64, kAlways, grid},
    {"arg[8]", 144, 8, kU64, kAlways, grid},
    {"arg[9]", 152, 8, kU64, kAlways, grid},
    {"arg[10]", 160, 8, kU64, kAlways, grid},
    {"arg[11]", 168, 8, kU64, kAlways, grid},
    {"addr", 176, 8, kU64, kMemoryEvents, lane},
    {"size", 184, 4, 16, kMemoryEvents, grid},
    {"taken_mask", 176, 4, kU32, kBranchEvents, warp},
};

constexpr std::array<const char *, 4> kMemoryMnemonics = {"ld", "st", "atom", "red"};

CtxEvents events_of(const Event &event) {
  if (event.kind != EventKind::insn || event.mnemonic.empty()) return kAlways;
  const std::string &word = event.mnemonic[0];
  if (word == "bra") return kBranchEvents;
  bool memory =
      std::any_of(kMemoryMnemonics.begin(), kMemoryMnemonics.end(), [&](const char *m) { return word == m; });
  return memory ? kMemoryEvents : kAlways;
}

bool holds(const CtxField &field, int64_t offset, int bytes) {
  return field.offset <= offset && offset + bytes <= field.offset + field.bytes;
}

}  // namespace

const CtxField *find_ctx_field(const Event &event, int64_t offset, int bytes) {
  CtxEvents here = events_of(event);
  for (const CtxField &field : kFields)
    if ((field.only == kAlways || field.only == here) && holds(field, offset, bytes)) return &field;
  return nullptr;
}

std::string explain_ctx_offset(const Event &event, int64_t offset, int bytes) {
  std::string why;
  for (const CtxField &field : kFields)
    if (field.only != kAlways && holds(field, offset, bytes)) {
      if (!why.empty()) why += "; ";
      why +=
          format("ctx->{} exists in {} only", field.name,
                 field.only == kMemoryEvents ? "memory events (ld, st, atom, red)" : "branch events (bra)");
    }
  if (!why.empty()) return why + "; this program's event is \"" + event.section + "\"";
  for (const CtxField &field : kFields)
    if (field.only == kAlways && offset < field.offset + field.bytes && field.offset < offset + bytes)
      return format(
          "a load of {} bytes at offset {} of the context crosses the border of ctx->{}; load one field "
          "at a time",
          bytes, offset, field.name);
  return format("the context has no field at offset {}; its fields are in <egpu/vmgpu.h>", offset);
}

}  // namespace egpu::bpf
