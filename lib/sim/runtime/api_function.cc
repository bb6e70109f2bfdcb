// Kernels and variables by their host symbols: attributes, occupancy, addresses; libraries.
#include "lib/sim/runtime/export.h"
#include "lib/sim/runtime/registry.h"

using namespace egpu::rt;

namespace {

// CUfunction_attribute of each field, in the fields' order.
int read_attributes(FunctionAttributes *attributes, Handle kernel, Ordinal device) {
  size_t *const sizes[3] = {&attributes->shared_bytes, &attributes->const_bytes, &attributes->local_bytes};
  constexpr int kSizeAttributes[3] = {1, 2, 3};
  int *const fields[13] = {&attributes->max_threads,         &attributes->registers,
                           &attributes->ptx_version,         &attributes->binary_version,
                           &attributes->cache_mode_ca,       &attributes->max_dynamic_shared_bytes,
                           &attributes->shared_carveout,     &attributes->cluster_must_be_set,
                           &attributes->cluster_width,       &attributes->cluster_height,
                           &attributes->cluster_depth,       &attributes->cluster_policy,
                           &attributes->non_portable_cluster};
  constexpr int kFieldAttributes[13] = {0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14};
  for (int i = 0; i < 3; ++i) {
    int value = 0;
    RT_TRY(cuKernelGetAttribute(&value, kSizeAttributes[i], kernel, device));
    *sizes[i] = static_cast<size_t>(value);
  }
  for (int i = 0; i < 13; ++i) RT_TRY(cuKernelGetAttribute(fields[i], kFieldAttributes[i], kernel, device));
  return kOk;
}

int find_here(const void *function, Handle *kernel, Ordinal *device) {
  RT_TRY(ensure_context());
  RT_TRY(find_kernel(function, kernel));
  return current_device(device);
}

}  // namespace

RT_API(cudaFuncGetAttributes, (FunctionAttributes * attributes, const void *function),
       (attributes, function)) {
  if (!attributes) return kInvalidValue;
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  *attributes = {};
  return read_attributes(attributes, kernel, device);
}
RT_API(cudaFuncSetAttribute, (const void *function, int attribute, int value), (function, attribute, value)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  return cuKernelSetAttribute(attribute, value, kernel, device);
}
RT_API(cudaKernelSetAttributeForDevice, (Handle kernel, int attribute, int value, Ordinal device),
       (kernel, attribute, value, device)) {
  RT_TRY(ensure_context());
  return cuKernelSetAttribute(attribute, value, kernel, device);
}
RT_API(cudaFuncSetCacheConfig, (const void *function, int config), (function, config)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  return cuKernelSetCacheConfig(kernel, config, device);
}
// Shared memory banks have one width since Maxwell: nothing to set.
RT_API(cudaFuncSetSharedMemConfig, (const void *function, int), (function, 0)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  return find_here(function, &kernel, &device);
}
RT_API(cudaFuncGetName, (const char **name, const void *function), (name, function)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  return cuKernelGetName(name, kernel);
}
RT_API(cudaFuncGetParamInfo, (const void *function, size_t index, size_t *offset, size_t *size_bytes),
       (function, index, offset, size_bytes)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  return cuKernelGetParamInfo(kernel, index, offset, size_bytes);
}
RT_API(cudaGetKernel, (Handle * kernel, const void *function), (kernel, function)) {
  if (!kernel) return kInvalidValue;
  Ordinal device = 0;
  RT_TRY(find_here(function, kernel, &device));
  know_kernel(*kernel);
  return kOk;
}
RT_API(cudaGetFuncBySymbol, (Handle * function, const void *symbol), (function, symbol)) {
  if (!function) return kInvalidValue;
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(symbol, &kernel, &device));
  RT_TRY(cuKernelGetFunction(function, kernel));
  know_kernel(*function);
  return kOk;
}

RT_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
       (int *blocks, const void *function, int threads, size_t shared_bytes, unsigned flags),
       (blocks, function, threads, shared_bytes, flags)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared_bytes, flags);
}
RT_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
       (int *blocks, const void *function, int threads, size_t shared_bytes),
       (blocks, function, threads, shared_bytes)) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_body(blocks, function, threads, shared_bytes,
                                                                     0);
}
RT_API(cudaOccupancyAvailableDynamicSMemPerBlock,
       (size_t * size_bytes, const void *function, int blocks, int threads),
       (size_bytes, function, blocks, threads)) {
  Handle kernel = nullptr;
  Ordinal device = 0;
  RT_TRY(find_here(function, &kernel, &device));
  return cuOccupancyAvailableDynamicSMemPerBlock(size_bytes, kernel, blocks, threads);
}

RT_API(cudaGetSymbolAddress, (void **address, const void *symbol), (address, symbol)) {
  if (!address) return kInvalidValue;
  size_t size_bytes = 0;
  RT_TRY(ensure_context());
  return find_variable(symbol, reinterpret_cast<Address *>(address), &size_bytes);
}
RT_API(cudaGetSymbolSize, (size_t * size_bytes, const void *symbol), (size_bytes, symbol)) {
  if (!size_bytes) return kInvalidValue;
  Address address = 0;
  RT_TRY(ensure_context());
  return find_variable(symbol, &address, size_bytes);
}

RT_FORWARD(cudaLibraryLoadData, cuLibraryLoadData,
           (Handle * library, const void *code, void *jit_options, void **jit_values, unsigned jit_count,
            void *options, void **values, unsigned count),
           (library, code, jit_options, jit_values, jit_count, options, values, count))
RT_FORWARD(cudaLibraryLoadFromFile, cuLibraryLoadFromFile,
           (Handle * library, const char *path, void *jit_options, void **jit_values, unsigned jit_count,
            void *options, void **values, unsigned count),
           (library, path, jit_options, jit_values, jit_count, options, values, count))
RT_FORWARD(cudaLibraryUnload, cuLibraryUnload, (Handle library), (library))
RT_FORWARD(cudaLibraryGetGlobal, cuLibraryGetGlobal,
           (Address * address, size_t *size_bytes, Handle library, const char *name),
           (address, size_bytes, library, name))
RT_FORWARD(cudaLibraryGetManaged, cuLibraryGetManaged,
           (Address * address, size_t *size_bytes, Handle library, const char *name),
           (address, size_bytes, library, name))
RT_FORWARD(cudaLibraryGetKernelCount, cuLibraryGetKernelCount, (unsigned *count, Handle library),
           (count, library))
RT_API(cudaLibraryGetKernel, (Handle * kernel, Handle library, const char *name), (kernel, library, name)) {
  RT_TRY(ensure_context());
  RT_TRY(cuLibraryGetKernel(kernel, library, name));
  know_kernel(*kernel);
  return kOk;
}
RT_API(cudaLibraryEnumerateKernels, (Handle * kernels, unsigned count, Handle library),
       (kernels, count, library)) {
  unsigned all = 0;
  RT_TRY(ensure_context());
  RT_TRY(cuLibraryGetKernelCount(&all, library));
  RT_TRY(cuLibraryEnumerateKernels(kernels, count, library));
  for (unsigned i = 0; i < count && i < all; ++i) know_kernel(kernels[i]);
  return kOk;
}
