// Launches, and the occupancy questions about them.
#include <algorithm>

#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/cluster.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/launch.h"

using namespace egpu::sim;

namespace {

KernelNodeParams node_params(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared_bytes, void **parameters, void **extra) {
  KernelNodeParams params{};
  params.func = static_cast<egpu::driver::CUfunction>(function);
  params.gridDimX = gx;
  params.gridDimY = gy;
  params.gridDimZ = gz;
  params.blockDimX = bx;
  params.blockDimY = by;
  params.blockDimZ = bz;
  params.sharedMemBytes = shared_bytes;
  params.kernelParams = parameters;
  params.extra = extra;
  return params;
}

Status check_config(const CUlaunchConfig *config) {
  return !config || (config->numAttrs && !config->attrs) ? kInvalidValue : kSuccess;
}

KernelNodeParams node_params(const CUlaunchConfig &config, Handle function, void **parameters, void **extra) {
  return node_params(function, config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX,
                     config.blockDimY, config.blockDimZ, config.sharedMemBytes, parameters, extra);
}

Status launch(DefaultStream which, Handle stream_handle, const KernelNodeParams &params,
              std::vector<CUlaunchAttribute> attributes = {}) {
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> stream = find_stream(*context, stream_handle, which);
  if (!stream) return kInvalidHandle;
  KernelWork work;
  CU_TRY(prepare_launch(stream->context, params, std::move(attributes), &work));
  return submit(*stream, std::move(work));
}

// A function or a kernel, for questions that cudart asks about either.
Status any_function(Handle handle, std::shared_ptr<LoadedFunction> *function) {
  CU_CONTEXT(context);
  return resolve_function(*context, handle, function);
}

Status occupancy(int *blocks, Handle handle, int threads, size_t shared_bytes) {
  if (!blocks || threads <= 0) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(any_function(handle, &function));
  *blocks = blocks_per_sm(*function, threads, shared_bytes);
  return kSuccess;
}

// A work of the configuration's shape, for questions about its clusters.
Status clusters_of(Handle handle, const CUlaunchConfig *config, bool is_chosen,
                   std::shared_ptr<LoadedFunction> *function, KernelWork *work) {
  CU_TRY(check_config(config));
  CU_TRY(any_function(handle, function));
  if (most_cluster_blocks(**function) == 0) return kNotSupported;
  work->launch.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  work->launch.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  work->launch.dynamic_shared_bytes = config->sharedMemBytes;
  work->attributes.assign(config->attrs, config->attrs + config->numAttrs);
  return is_chosen ? choose_cluster(**function, work) : kSuccess;
}

using SharedOfBlock = size_t (*)(int);

// The block size with most threads on an SM; of equal ones the larger.
Status best_block(int *grid, int *block, Handle handle, SharedOfBlock shared_of, size_t shared_bytes,
                  int limit) {
  if (!grid || !block) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(any_function(handle, &function));
  const int most = static_cast<int>(function->info.max_threads_per_block);
  if (limit <= 0 || limit > most) limit = most;
  int best = 0;
  for (int threads = limit; threads > 0; threads = (threads - 1) / 32 * 32) {
    const int blocks = blocks_per_sm(*function, threads, shared_of ? shared_of(threads) : shared_bytes);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * static_cast<int>(function->context.machine().config().sm_count);
  }
  return best ? kSuccess : kInvalidValue;
}

}  // namespace

CU_STREAM_API(cuLaunchKernel, _ptsz,
              (Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared_bytes, Handle stream, void **parameters, void **extra),
              (function, gx, gy, gz, bx, by, bz, shared_bytes, stream, parameters, extra)) {
  return launch(which, stream,
                node_params(function, gx, gy, gz, bx, by, bz, shared_bytes, parameters, extra));
}

CU_STREAM_API(cuLaunchCooperativeKernel, _ptsz,
              (Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared_bytes, Handle stream, void **parameters),
              (function, gx, gy, gz, bx, by, bz, shared_bytes, stream, parameters)) {
  return launch(which, stream,
                node_params(function, gx, gy, gz, bx, by, bz, shared_bytes, parameters, nullptr),
                {{kLaunchCooperative, {}, {1}}});
}

CU_STREAM_API(cuLaunchKernelEx, _ptsz,
              (const CUlaunchConfig *config, Handle function, void **parameters, void **extra),
              (config, function, parameters, extra)) {
  CU_TRY(check_config(config));
  return launch(which, config->hStream, node_params(*config, function, parameters, extra),
                {config->attrs, config->attrs + config->numAttrs});
}

CU_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
       (int *blocks, Handle function, int threads, size_t shared_bytes),
       (blocks, function, threads, shared_bytes)) {
  return occupancy(blocks, function, threads, shared_bytes);
}
CU_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
       (int *blocks, Handle function, int threads, size_t shared_bytes, unsigned flags),
       (blocks, function, threads, shared_bytes, flags)) {
  return flags > 1 ? kInvalidValue : occupancy(blocks, function, threads, shared_bytes);
}
CU_API(cuOccupancyMaxPotentialBlockSize,
       (int *grid, int *block, Handle function, SharedOfBlock shared_of, size_t shared_bytes, int limit),
       (grid, block, function, shared_of, shared_bytes, limit)) {
  return best_block(grid, block, function, shared_of, shared_bytes, limit);
}
CU_API(cuOccupancyMaxPotentialBlockSizeWithFlags,
       (int *grid, int *block, Handle function, SharedOfBlock shared_of, size_t shared_bytes, int limit,
        unsigned flags),
       (grid, block, function, shared_of, shared_bytes, limit, flags)) {
  return flags > 1 ? kInvalidValue : best_block(grid, block, function, shared_of, shared_bytes, limit);
}
CU_API(cuOccupancyAvailableDynamicSMemPerBlock,
       (size_t * shared_bytes, Handle handle, int blocks, int threads),
       (shared_bytes, handle, blocks, threads)) {
  if (!shared_bytes || blocks <= 0 || threads <= 0) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(any_function(handle, &function));
  const size_t most = function->context.machine().config().max_shared_bytes;
  size_t low = 0, high = most + 1;  // the largest size with which the blocks still fit
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (blocks_per_sm(*function, threads, middle) >= blocks ? low : high) = middle;
  }
  *shared_bytes = blocks_per_sm(*function, threads, low) >= blocks ? low : 0;
  return kSuccess;
}

CU_API(cuOccupancyMaxActiveClusters, (int *count, Handle handle, const CUlaunchConfig *config),
       (count, handle, config)) {
  if (!count) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  KernelWork work;
  CU_TRY(clusters_of(handle, config, true, &function, &work));
  *count = active_clusters(*function, work);
  return kSuccess;
}
// The attributes may name a cluster; the answer does not depend on it.
CU_API(cuOccupancyMaxPotentialClusterSize, (int *blocks, Handle handle, const CUlaunchConfig *config),
       (blocks, handle, config)) {
  if (!blocks) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  KernelWork work;
  CU_TRY(clusters_of(handle, config, false, &function, &work));
  const int room = active_clusters(*function, work);  // of clusters of one block
  *blocks = std::min(room, static_cast<int>(most_cluster_blocks(*function)));
  return kSuccess;
}
