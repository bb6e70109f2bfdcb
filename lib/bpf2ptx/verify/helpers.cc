#include "lib/bpf2ptx/verify/helpers.h"

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"

namespace egpu::bpf {
namespace {

using enum Arg;
using enum Uniform;
constexpr uint64_t kAny = ~uint64_t{0}, kU32 = 0xffffffff;

// Numbers: include/uapi/linux/bpf.h and include/egpu/gpu.bpf.h.
constexpr Helper kHelpers[] = {
    {1, {map, key}, Ret::map_value_or_null, 0, false, false, grid},
    {2, {map, key, value, update_flags}, Ret::scalar, kAny, false, true, lane},
    {5, {}, Ret::scalar, kAny, false, true, warp},
    {6,
     {format_text, format_size, format_argument, format_argument, format_argument},
     Ret::scalar,
     kAny,
     false,
     false,
     lane},
    {7, {}, Ret::scalar, kU32, false, true, lane},
    {8, {}, Ret::scalar, kU32, false, false, warp},
    {181, {loop_count, callback, callback_context, zero}, Ret::loop, 0, false, false, grid},
    {0x6001, {ctx}, Ret::cookie, 0, true, false, grid},
    {0x6003, {}, Ret::scalar, kAny, false, true, warp},
    {0x6004, {scalar}, Ret::scalar, 63, false, false, grid},
    {0x6005, {scalar}, Ret::scalar, kU32, false, false, warp, true},
};

struct NoHelper {
  int32_t id;
  const char *why;
};
constexpr NoHelper kNoHelpers[] = {
    {3, "bpf_map_delete_elem() is not supported yet; write a value that means \"empty\" instead"},
    {177, "bpf_printk() takes at most 3 arguments here; split it into several calls"},
    {130, "ring buffers are not supported yet; use a map"},
    {131, "ring buffers are not supported yet; use a map"},
    {14, "bpf_get_current_pid_tgid() has no meaning on a GPU; ctx->kernel and ctx->block_idx say who runs"},
};

}  // namespace

const Helper *find_helper(int32_t id) {
  for (const Helper &helper : kHelpers)
    if (helper.id == id) return &helper;
  return nullptr;
}

std::string explain_no_helper(int32_t id) {
  for (const NoHelper &no : kNoHelpers)
    if (no.id == id) return no.why;
  std::string name = helper_name(id);
  if (name.empty()) return format("there is no helper number {}", id);
  return format("{} ({}) has no meaning on a GPU; the helpers that have are in <egpu/gpu.bpf.h>", name, id);
}

int argument_count(const Helper &helper) {
  int count = 0;
  while (count < 5 && helper.args[static_cast<size_t>(count)] != none) ++count;
  return count;
}

}  // namespace egpu::bpf
