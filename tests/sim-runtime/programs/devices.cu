// Devices and their memory: limits, pools, advice, pitched copies; with two devices, peers.
#include <cstring>
#include <thread>

#include "check.h"

__global__ void twice(int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

void settings() {
  size_t value = 0;
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
  CUDA(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
  CHECK(value >= 32 << 20);
  CUDA(cudaDeviceGetLimit(&value, cudaLimitStackSize));
  CHECK(value > 0);
  CHECK(cudaDeviceGetLimit(&value, static_cast<cudaLimit>(99)) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
  cudaFuncCache config;
  CUDA(cudaDeviceGetCacheConfig(&config));
  CHECK(config == cudaFuncCachePreferNone);
  unsigned flags = 99;
  CUDA(cudaGetDeviceFlags(&flags));
  char text[32] = {};
  int device = -1, chosen = -1;
  CUDA(cudaDeviceGetPCIBusId(text, sizeof text, 0));
  CUDA(cudaDeviceGetByPCIBusId(&device, text));
  CHECK(device == 0);
  cudaDeviceProp wanted = {};
  wanted.major = 7;
  CUDA(cudaChooseDevice(&chosen, &wanted));
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(chosen >= 0 && chosen < count);
  CHECK(cudaDeviceGetAttribute(&device, static_cast<cudaDeviceAttr>(9999), 0) == cudaErrorInvalidValue);
  CHECK(cudaGetDeviceProperties(&wanted, count) == cudaErrorInvalidDevice);
  cudaGetLastError();
}

void pools() {
  const int n = 500;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  cudaMemPool_t own, made, current;
  CUDA(cudaDeviceGetDefaultMemPool(&own, 0));
  uint64_t threshold = UINT64_MAX, read = 0;
  CUDA(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
  CUDA(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &read));
  CHECK(read == threshold);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  CUDA(cudaMemPoolCreate(&made, &properties));
  CUDA(cudaDeviceSetMemPool(0, made));
  CUDA(cudaDeviceGetMemPool(&current, 0));
  CHECK(current == made);
  cudaMemLocation here = {};
  here.type = cudaMemLocationTypeDevice;
  cudaMemAccessFlags access;
  CUDA(cudaMemPoolGetAccess(&access, made, &here));
  CHECK(access == cudaMemAccessFlagsProtReadWrite);
  int *one, *two;
  CUDA(cudaMallocAsync(&one, n * 4, stream));
  CUDA(cudaMallocFromPoolAsync(&two, n * 4, own, stream));
  CUDA(cudaMemsetAsync(one, 1, n * 4, stream));
  twice<<<4, 128, 0, stream>>>(one, n);
  CUDA(cudaMemcpyAsync(two, one, n * 4, cudaMemcpyDefault, stream));
  std::vector<int> host(n);
  CUDA(cudaMemcpyAsync(host.data(), two, n * 4, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaFreeAsync(one, stream));
  CUDA(cudaFreeAsync(two, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int value : host) CHECK(value == 0x02020202);
  record(host);
  CUDA(cudaDeviceSetMemPool(0, own));
  CUDA(cudaMemPoolTrimTo(made, 0));
  CUDA(cudaMemPoolDestroy(made));
  CUDA(cudaStreamDestroy(stream));
}

void managed() {
  const int n = 300;
  int *x, supports = 0;
  CUDA(cudaDeviceGetAttribute(&supports, cudaDevAttrConcurrentManagedAccess, 0));
  CUDA(cudaMallocManaged(&x, n * 4));
  for (int i = 0; i < n; ++i) x[i] = i;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  if (supports) {
    cudaMemLocation device = {}, host = {};
    device.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
    CUDA(cudaMemAdvise(x, n * 4, cudaMemAdviseSetReadMostly, device));
    int is_read_mostly = 9, place = 9;
    CUDA(cudaMemRangeGetAttribute(&is_read_mostly, 4, cudaMemRangeAttributeReadMostly, x, n * 4));
    CHECK(is_read_mostly == 1);
    CUDA(cudaMemAdvise(x, n * 4, cudaMemAdviseUnsetReadMostly, device));
    CUDA(cudaMemAdvise(x, n * 4, cudaMemAdviseSetPreferredLocation, host));
    CUDA(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributePreferredLocation, x, n * 4));
    CHECK(place == cudaCpuDeviceId);
    CUDA(cudaMemPrefetchAsync(x, n * 4, device, 0, stream));
    CUDA(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributeLastPrefetchLocation, x, n * 4));
    CHECK(place == 0);
  }
  CUDA(cudaStreamAttachMemAsync(stream, x));
  twice<<<3, 128, 0, stream>>>(x, n);
  CUDA(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) CHECK(x[i] == 2 * i);
  CUDA(cudaFree(x));
  CUDA(cudaStreamDestroy(stream));
}

void boxes() {
  const cudaExtent extent = make_cudaExtent(20, 5, 3);
  cudaPitchedPtr from, to;
  CUDA(cudaMalloc3D(&from, extent));
  CUDA(cudaMalloc3D(&to, extent));
  std::vector<char> in(20 * 5 * 3), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<char>(i);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(in.data(), 20, 20, 5);
  copy.dstPtr = from;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  CUDA(cudaMemset3D(to, 0, extent));
  cudaMemcpy3DPeerParms peer = {};
  peer.srcPtr = from;
  peer.srcPos = make_cudaPos(4, 1, 1);
  peer.dstPtr = to;
  peer.dstPos = make_cudaPos(0, 2, 0);
  peer.extent = make_cudaExtent(8, 3, 2);
  CUDA(cudaMemcpy3DPeer(&peer));
  copy.srcPtr = to;
  copy.dstPtr = make_cudaPitchedPtr(out.data(), 20, 20, 5);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3DAsync(&copy));
  CUDA(cudaStreamSynchronize(nullptr));
  for (int z = 0; z < 3; ++z)
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 20; ++x) {
        const bool is_copied = x < 8 && y >= 2 && z < 2;
        const char expected = is_copied ? in[((z + 1) * 5 + y - 1) * 20 + x + 4] : 0;
        CHECK(out[(z * 5 + y) * 20 + x] == expected);
      }
  record(out);
  CUDA(cudaMemset2D(from.ptr, from.pitch, 9, 20, 5));
  CUDA(cudaMemcpy2DAsync(out.data(), 20, from.ptr, from.pitch, 20, 5, cudaMemcpyDeviceToHost));
  CUDA(cudaStreamSynchronize(nullptr));
  for (int i = 0; i < 100; ++i) CHECK(out[i] == 9);
  CHECK(cudaMemcpy2D(out.data(), 10, from.ptr, from.pitch, 20, 5, cudaMemcpyDeviceToHost) ==
        cudaErrorInvalidPitchValue);
  cudaGetLastError();
  CUDA(cudaFree(from.ptr));
  CUDA(cudaFree(to.ptr));
}

void two_devices() {
  const int n = 700;
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i;
  int *here, *there, device = -1, can = 0;
  CUDA(cudaSetDevice(0));
  CUDA(cudaMalloc(&here, n * 4));
  CUDA(cudaMemcpy(here, in.data(), n * 4, cudaMemcpyHostToDevice));
  CUDA(cudaSetDevice(1));
  CUDA(cudaGetDevice(&device));
  CHECK(device == 1);
  CUDA(cudaMalloc(&there, n * 4));
  CUDA(cudaMemcpyPeer(there, 1, here, 0, n * 4));
  twice<<<6, 128>>>(there, n);
  CUDA(cudaMemcpyPeerAsync(here, 0, there, 1, n * 4, nullptr));
  CUDA(cudaDeviceSynchronize());
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, there));
  CHECK(attributes.device == 1 && attributes.type == cudaMemoryTypeDevice);
  CUDA(cudaMemcpy(out.data(), here, n * 4, cudaMemcpyDefault));
  for (int i = 0; i < n; ++i) CHECK(out[i] == 2 * i);

  // Another host thread begins at device 0.
  std::thread([&] {
    int its_device = -1;
    CUDA(cudaGetDevice(&its_device));
    CHECK(its_device == 0);
    twice<<<6, 128>>>(here, n);
    CUDA(cudaDeviceSynchronize());
  }).join();

  CUDA(cudaDeviceCanAccessPeer(&can, 1, 0));
  if (can) {
    CUDA(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
    twice<<<6, 128>>>(here, n);  // of the other device's memory
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(out.data(), here, n * 4, cudaMemcpyDefault));
    for (int i = 0; i < n; ++i) CHECK(out[i] == 8 * i);
    CUDA(cudaDeviceDisablePeerAccess(0));
    CHECK(cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
  }
  CUDA(cudaFree(there));
  CUDA(cudaSetDevice(0));
  CUDA(cudaFree(here));
}

int main() {
  settings();
  pools();
  managed();
  boxes();
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  if (count > 1) two_devices();
  return verdict();
}
