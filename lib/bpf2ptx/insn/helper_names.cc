#include "lib/bpf2ptx/insn/helper_names.h"

#include <linux/bpf.h>

namespace egpu::bpf {
namespace {

#define EGPU_HELPER_NAME(x) "bpf_" #x
// include/uapi/linux/bpf.h, in the order of their numbers; number 0 is "unspec".
constexpr const char *kKernelHelpers[] = {__BPF_FUNC_MAPPER(EGPU_HELPER_NAME)};
#undef EGPU_HELPER_NAME

struct GpuHelper {
  int32_t id;
  const char *name;
};
// include/egpu/gpu.bpf.h
constexpr GpuHelper kGpuHelpers[] = {
    {0x6001, "gpu_cookie"},
    {0x6003, "gpu_clock"},
    {0x6004, "gpu_log2_slot"},
    {0x6005, "gpu_ballot"},
};

}  // namespace

std::string helper_name(int32_t id) {
  if (id > 0 && static_cast<size_t>(id) < std::size(kKernelHelpers)) return kKernelHelpers[id];
  for (const GpuHelper &helper : kGpuHelpers)
    if (helper.id == id) return helper.name;
  return "";
}

}  // namespace egpu::bpf
