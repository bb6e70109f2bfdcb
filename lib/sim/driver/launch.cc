#include "lib/sim/driver/launch.h"

#include <algorithm>
#include <cstring>

#include "lib/sim/driver/cluster.h"

namespace egpu::sim {
namespace {

// Of an SM of compute capability 9.0 (CUDA C++ Programming Guide, "Technical specifications").
constexpr uint64_t kThreadsPerSm = 2048, kBlocksPerSm = 32, kRegistersPerSm = 65536,
                   kReservedSharedBytes = 1024;

// CUDA Driver API, cuLaunchKernel: parameters as an array of pointers, or packed in `extra`.
Status pack_parameters(const KernelInfo &info, void **parameters, void **extra,
                       std::vector<uint8_t> *packed) {
  packed->assign(info.parameter_bytes, 0);
  if (parameters) {
    for (size_t i = 0; i < info.parameters.size(); ++i) {
      const Parameter &parameter = info.parameters[i];
      if (!parameters[i]) return kInvalidValue;
      std::memcpy(packed->data() + parameter.offset, parameters[i], parameter.size_bytes);
    }
    return extra ? kInvalidValue : kSuccess;
  }
  if (!extra) return info.parameters.empty() ? kSuccess : kInvalidValue;
  const void *buffer = nullptr;
  size_t size_bytes = 0;
  for (; *extra != kParamEnd; extra += 2) {
    if (*extra == kParamPointer)
      buffer = extra[1];
    else if (*extra == kParamSize)
      size_bytes = *static_cast<const size_t *>(extra[1]);
    else
      return kInvalidValue;
  }
  // As seen on an H200: too small a buffer is taken, too large a one is too many resources.
  size_t end_bytes = 0;
  for (const Parameter &parameter : info.parameters)
    end_bytes = std::max<size_t>(end_bytes, parameter.offset + parameter.size_bytes);
  if (size_bytes > end_bytes) return kLaunchOutOfResources;
  if (!buffer && end_bytes) return kInvalidValue;
  if (buffer) std::memcpy(packed->data(), buffer, std::min(size_bytes, packed->size()));
  return kSuccess;
}

}  // namespace

int blocks_per_sm(const LoadedFunction &function, int threads, size_t dynamic_shared_bytes) {
  if (threads <= 0 || static_cast<uint32_t>(threads) > function.info.max_threads_per_block) return 0;
  const uint64_t rounded = (static_cast<uint64_t>(threads) + 31) / 32 * 32;
  uint64_t blocks = std::min(kBlocksPerSm, kThreadsPerSm / rounded);
  const uint64_t registers = uint64_t{function.info.register_count} * rounded;
  if (registers) blocks = std::min(blocks, kRegistersPerSm / registers);
  const uint64_t shared = function.info.static_shared_bytes + dynamic_shared_bytes;
  const uint64_t available = function.context.machine().config().max_shared_bytes + kReservedSharedBytes;
  blocks = std::min(blocks, available / (shared + kReservedSharedBytes));
  return static_cast<int>(blocks);
}

Status prepare_launch(Context &context, const KernelNodeParams &params,
                      std::vector<CUlaunchAttribute> attributes, KernelWork *work) {
  const Handle handle = params.func ? static_cast<Handle>(params.func) : static_cast<Handle>(params.kern);
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(resolve_function(context, handle, &function));
  const KernelInfo &info = function->info;
  if (params.gridDimX == 0 || params.gridDimY == 0 || params.gridDimZ == 0 || params.blockDimX == 0 ||
      params.blockDimY == 0 || params.blockDimZ == 0)
    return kInvalidValue;
  if (params.gridDimX > 0x7fffffff || params.gridDimY > 65535 || params.gridDimZ > 65535)
    return kInvalidValue;
  if (params.blockDimX > 1024 || params.blockDimY > 1024 || params.blockDimZ > 64) return kInvalidValue;
  const uint64_t threads = uint64_t{params.blockDimX} * params.blockDimY * params.blockDimZ;
  if (threads > 1024 || threads > info.max_threads_per_block) return kInvalidValue;
  if (params.sharedMemBytes > static_cast<unsigned>(attribute_value(*function, kMaxDynamicSharedBytes)))
    return kInvalidValue;
  work->launch.cooperative = false;
  for (const CUlaunchAttribute &attribute : attributes)
    if (attribute.id == kLaunchCooperative) work->launch.cooperative = attribute.value[0] != 0;
  if (work->launch.cooperative) {
    const uint64_t blocks = uint64_t{params.gridDimX} * params.gridDimY * params.gridDimZ;
    const uint64_t room =
        static_cast<uint64_t>(blocks_per_sm(*function, static_cast<int>(threads), params.sharedMemBytes)) *
        context.machine().config().sm_count;
    if (blocks > room) return kCooperativeLaunchTooLarge;
  }
  CU_TRY(pack_parameters(info, params.kernelParams, params.extra, &work->launch.parameters));
  work->function = handle;
  work->launch.module = function->code;
  work->launch.kernel = info.name;
  work->launch.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  work->launch.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  work->launch.dynamic_shared_bytes = params.sharedMemBytes;
  work->attributes = std::move(attributes);
  return choose_cluster(*function, work);
}

}  // namespace egpu::sim
