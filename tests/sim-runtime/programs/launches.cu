// Launches in their variants: attributes, function attributes, occupancy, libraries of kernels.
#include <cuda_profiler_api.h>

#include <cstring>

#include "check.h"

__global__ void fill(int *out, int n, int value) {
  extern __shared__ int scratch[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[threadIdx.x] = value + i;
  __syncthreads();
  if (i < n) out[i] = scratch[threadIdx.x];
}

__host__ __device__ int bytes_of_block(int threads) { return threads * 4; }

const char kLibrary[] = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 step = 5;
.visible .entry add_step(.param .u64 to) {
  .reg .b64 %a;
  .reg .b32 %v, %s;
  ld.param.u64 %a, [to];
  cvta.to.global.u64 %a, %a;
  ld.global.u32 %v, [%a];
  ld.global.u32 %s, [step];
  add.u32 %v, %v, %s;
  st.global.u32 [%a], %v;
  ret;
}
.visible .entry nothing() { ret; }
)";

void with_attributes(int *out, int n) {
  int least = 0, greatest = 0;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least >= greatest);
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  cudaLaunchAttribute attributes[3] = {};
  attributes[0].id = cudaLaunchAttributePriority;
  attributes[0].val.priority = greatest;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  attributes[2].id = cudaLaunchAttributeIgnore;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 63) / 64);
  config.blockDim = dim3(64);
  config.dynamicSmemBytes = 256;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 3;
  CUDA(cudaLaunchKernelEx(&config, fill, out, n, 100));
  CUDA(cudaStreamSynchronize(stream));
  std::vector<int> host(n);
  CUDA(cudaMemcpy(host.data(), out, n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(host[i] == 100 + i);
  record(host);

  void *arguments[] = {&out, &n, &least};
  CUDA(cudaLaunchKernel(reinterpret_cast<const void *>(fill), config.gridDim, config.blockDim, arguments, 256,
                        stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemcpy(host.data(), out, n * 4, cudaMemcpyDeviceToHost));
  CHECK(host[n - 1] == least + n - 1);
  config.numAttrs = 0;
  config.blockDim = dim3(2048);
  CHECK(cudaLaunchKernelEx(&config, fill, out, n, 0) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaStreamDestroy(stream));
}

void of_functions() {
  CUDA(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  CUDA(cudaFuncSetAttribute(fill, cudaFuncAttributePreferredSharedMemoryCarveout,
                            cudaSharedmemCarveoutMaxShared));
  CUDA(cudaFuncSetCacheConfig(fill, cudaFuncCachePreferShared));
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, fill));
  CHECK(attributes.maxDynamicSharedSizeBytes == 65536 && attributes.preferredShmemCarveout == 100);
  CHECK(attributes.numRegs > 0 && attributes.maxThreadsPerBlock > 0 && attributes.sharedSizeBytes == 0);
  const char *name = nullptr;
  CUDA(cudaFuncGetName(&name, reinterpret_cast<const void *>(fill)));
  CHECK(name && !std::strcmp(name, "_Z4fillPiii"));
  size_t offset = 0, size = 0;
  CUDA(cudaFuncGetParamInfo(reinterpret_cast<const void *>(fill), 2, &offset, &size));
  CHECK(offset == 12 && size == 4);
  CHECK(cudaFuncGetParamInfo(reinterpret_cast<const void *>(fill), 3, &offset, &size) ==
        cudaErrorInvalidValue);
  cudaKernel_t kernel;
  CUDA(cudaGetKernel(&kernel, reinterpret_cast<const void *>(fill)));
  CUDA(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000, 0));
  CUDA(cudaFuncGetAttributes(&attributes, fill));
  CHECK(attributes.maxDynamicSharedSizeBytes == 50000);
  CHECK(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
        cudaErrorInvalidValue);
  cudaGetLastError();
}

void occupancy() {
  int blocks = 0, grid = 0, block = 0;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 1024, 0));
  CHECK(blocks >= 1 && blocks <= 2);
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, fill, 64, 0,
                                                              cudaOccupancyDisableCachingOverride));
  CHECK(blocks >= 16);
  int few = 0;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, fill, 64, 40000));
  CHECK(few >= 1 && few < blocks);
  CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
  CHECK(grid >= 1 && block % 32 == 0 && block <= 1024);
  CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, fill, bytes_of_block));
  CHECK(grid >= 1 && block % 32 == 0);
  size_t shared = 0;
  CUDA(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, fill, 2, 64));
  CHECK(shared > 40000);
  int has_clusters = 0;
  CUDA(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, 0));
  if (!has_clusters) return;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(64);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0, size = 0;
  CUDA(cudaOccupancyMaxActiveClusters(&clusters, fill, &config));
  CUDA(cudaOccupancyMaxPotentialClusterSize(&size, fill, &config));
  CHECK(clusters >= 1 && size >= 2);
}

void libraries() {
  cudaLibrary_t library;
  CUDA(cudaLibraryLoadData(&library, kLibrary, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  CUDA(cudaLibraryGetKernelCount(&count, library));
  CHECK(count == 2);
  cudaKernel_t kernel, all[2] = {};
  CUDA(cudaLibraryEnumerateKernels(all, 2, library));
  CHECK(all[0] && all[1] && all[0] != all[1]);
  CUDA(cudaLibraryGetKernel(&kernel, library, "add_step"));
  CHECK(kernel == all[0] || kernel == all[1]);
  int *step = nullptr;
  size_t bytes = 0;
  CUDA(cudaLibraryGetGlobal(reinterpret_cast<void **>(&step), &bytes, library, "step"));
  CHECK(bytes == 4);
  const int seven = 7;
  CUDA(cudaMemcpy(step, &seven, 4, cudaMemcpyHostToDevice));
  DeviceArray<int> value(std::vector<int>{30});
  void *arguments[] = {&value.data};
  for (int i = 0; i < 3; ++i)
    CUDA(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(1), dim3(1), arguments, 0, nullptr));
  CHECK(value.read()[0] == 51);
  record(value.read());
  CHECK(cudaLibraryGetKernel(&kernel, library, "absent") == cudaErrorSymbolNotFound);
  CHECK(cudaGetLastError() == cudaErrorSymbolNotFound);
  CUDA(cudaLibraryUnload(library));
}

void entry_points() {
  void *entry = nullptr;
  cudaDriverEntryPointQueryResult result;
  CUDA(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", &entry, 12000, cudaEnableDefault, &result));
  CHECK(result == cudaDriverEntryPointSuccess && entry);
  int from_driver = 0, from_runtime = 0;
  if (entry) CHECK(reinterpret_cast<int (*)(int *)>(entry)(&from_driver) == 0);
  CUDA(cudaDriverGetVersion(&from_runtime));
  CHECK(from_driver == from_runtime);
  cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &entry, 12000, cudaEnableDefault, &result);
  CHECK(result == cudaDriverEntryPointSymbolNotFound && !entry);
  cudaGetLastError();
}

int main() {
  const int n = 1000;
  DeviceArray<int> out(n);
  CUDA(cudaProfilerStart());
  with_attributes(out.data, n);
  CUDA(cudaProfilerStop());
  of_functions();
  occupancy();
  libraries();
  entry_points();
  return verdict();
}
