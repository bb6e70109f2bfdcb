// Launches: the calls that nvcc's stubs make for <<<>>>, and the explicit ones.
#include <climits>

#include "lib/sim/runtime/export.h"
#include "lib/sim/runtime/registry.h"

using namespace egpu::rt;

namespace {

int launch(const void *function, Dim3 grid, Dim3 block, void **arguments, size_t shared_bytes, Handle stream,
           bool is_cooperative) {
  Handle kernel = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(find_kernel(function, &kernel));
  if (shared_bytes > UINT_MAX) return kInvalidValue;
  const auto shared = static_cast<unsigned>(shared_bytes);
  if (is_cooperative)
    return cuLaunchCooperativeKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared,
                                     stream, arguments);
  return cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments,
                        nullptr);
}

int convert(const LaunchConfig *config, Which which, egpu::sim::CUlaunchConfig *converted) {
  if (!config || config->shared_bytes > UINT_MAX) return kInvalidValue;
  *converted = {config->grid.x,
                config->grid.y,
                config->grid.z,
                config->block.x,
                config->block.y,
                config->block.z,
                static_cast<unsigned>(config->shared_bytes),
                static_cast<egpu::driver::CUstream>(which(config->stream)),
                config->attributes,
                config->attribute_count};
  return kOk;
}

}  // namespace

// 0: pushed. The stub, called next, takes it back.
RT_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes, Handle stream) {
  ThreadState &thread = thread_state();
  if (thread.pending_count == sizeof thread.pending / sizeof *thread.pending) return kInvalidConfiguration;
  thread.pending[thread.pending_count++] = {grid, block, shared_bytes, stream};
  return 0;
}
RT_API(__cudaPopCallConfiguration, (Dim3 * grid, Dim3 *block, size_t *shared_bytes, void *stream),
       (grid, block, shared_bytes, stream)) {
  ThreadState &thread = thread_state();
  if (!thread.pending_count) return kMissingConfiguration;
  const PendingLaunch &pending = thread.pending[--thread.pending_count];
  *grid = pending.grid;
  *block = pending.block;
  *shared_bytes = pending.shared_bytes;
  *static_cast<Handle *>(stream) = pending.stream;
  return kOk;
}

RT_STREAM_API(__cudaLaunchKernel, _ptsz,
              (Handle kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared_bytes, Handle stream),
              (kernel, grid, block, arguments, shared_bytes, stream)) {
  return launch(kernel, grid, block, arguments, shared_bytes, which(stream), false);
}
RT_STREAM_API(cudaLaunchKernel, _ptsz,
              (const void *function, Dim3 grid, Dim3 block, void **arguments, size_t shared_bytes,
               Handle stream),
              (function, grid, block, arguments, shared_bytes, stream)) {
  return launch(function, grid, block, arguments, shared_bytes, which(stream), false);
}
RT_STREAM_API(cudaLaunchCooperativeKernel, _ptsz,
              (const void *function, Dim3 grid, Dim3 block, void **arguments, size_t shared_bytes,
               Handle stream),
              (function, grid, block, arguments, shared_bytes, stream)) {
  return launch(function, grid, block, arguments, shared_bytes, which(stream), true);
}
RT_STREAM_API(cudaLaunchKernelExC, _ptsz,
              (const LaunchConfig *config, const void *function, void **arguments),
              (config, function, arguments)) {
  egpu::sim::CUlaunchConfig converted;
  Handle kernel = nullptr;
  RT_TRY(convert(config, which, &converted));
  RT_TRY(ensure_context());
  RT_TRY(find_kernel(function, &kernel));
  return cuLaunchKernelEx(&converted, kernel, arguments, nullptr);
}
RT_STREAM_FORWARD(cudaLaunchHostFunc, cuLaunchHostFunc,
                  (Handle stream, void (*function)(void *), void *user_data),
                  (which(stream), function, user_data))

RT_API(cudaOccupancyMaxPotentialClusterSize, (int *size, const void *function, const LaunchConfig *config),
       (size, function, config)) {
  egpu::sim::CUlaunchConfig converted;
  Handle kernel = nullptr;
  RT_TRY(convert(config, legacy, &converted));
  RT_TRY(ensure_context());
  RT_TRY(find_kernel(function, &kernel));
  return cuOccupancyMaxPotentialClusterSize(size, kernel, &converted);
}
RT_API(cudaOccupancyMaxActiveClusters, (int *count, const void *function, const LaunchConfig *config),
       (count, function, config)) {
  egpu::sim::CUlaunchConfig converted;
  Handle kernel = nullptr;
  RT_TRY(convert(config, legacy, &converted));
  RT_TRY(ensure_context());
  RT_TRY(find_kernel(function, &kernel));
  return cuOccupancyMaxActiveClusters(count, kernel, &converted);
}
