// CUDA arrays in one to three dimensions: what they are, and copies between them, the host and the device.
#include <numeric>

#include "check.h"

std::vector<float4> numbered(size_t count) {
  std::vector<float4> values(count);
  for (size_t i = 0; i < count; ++i) {
    const float first = static_cast<float>(4 * i);
    values[i] = make_float4(first, first + 1, first + 2, first + 3);
  }
  return values;
}

bool same(const float4 &a, const float4 &b) { return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w; }

void descriptions() {
  const cudaChannelFormatDesc short2s = cudaCreateChannelDesc<short2>();
  cudaArray_t array;
  CUDA(cudaMallocArray(&array, &short2s, 40, 30));
  cudaChannelFormatDesc got = {};
  cudaExtent extent = {};
  unsigned flags = 99;
  CUDA(cudaArrayGetInfo(&got, &extent, &flags, array));
  CHECK(got.x == 16 && got.y == 16 && got.z == 0 && got.w == 0 && got.f == cudaChannelFormatKindSigned);
  CHECK(extent.width == 40 && extent.height == 30 && extent.depth == 0);
  CHECK(flags == cudaArrayDefault);
  got = {};
  CUDA(cudaGetChannelDesc(&got, array));
  CHECK(got.x == 16 && got.f == cudaChannelFormatKindSigned);
  CUDA(cudaFreeArray(array));
  CUDA(cudaFreeArray(nullptr));
  const cudaChannelFormatDesc three = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  CHECK(cudaMallocArray(&array, &three, 40, 30) != cudaSuccess);
  CHECK(cudaGetLastError() != cudaSuccess);
}

void two_dimensions() {
  constexpr size_t kWidth = 16, kHeight = 9;
  const cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
  cudaArray_t a, b;
  CUDA(cudaMallocArray(&a, &ints, kWidth, kHeight));
  CUDA(cudaMallocArray(&b, &ints, kWidth, kHeight));
  std::vector<int> from(kWidth * kHeight), to(kWidth * kHeight, -1);
  std::iota(from.begin(), from.end(), 1000);
  constexpr size_t kRow = kWidth * sizeof(int);
  CUDA(cudaMemcpy2DToArray(a, 0, 0, from.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy2DArrayToArray(b, 4 * sizeof(int), 2, a, 2 * sizeof(int), 3, 8 * sizeof(int), 5));
  CUDA(cudaMemcpy2DFromArray(to.data(), kRow, b, 4 * sizeof(int), 2, 8 * sizeof(int), 5,
                             cudaMemcpyDeviceToHost));
  for (size_t y = 0; y < 5; ++y)
    for (size_t x = 0; x < 8; ++x) CHECK(to[y * kWidth + x] == from[(y + 3) * kWidth + x + 2]);
  CHECK(to[8] == -1);
  CHECK(cudaMemcpy2DToArray(a, 0, 0, from.data(), kRow, kRow, kHeight + 1, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);

  // On a stream, by way of device memory.
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  const DeviceArray<int> device(from.size());
  CUDA(cudaMemcpy2DFromArrayAsync(device.data, kRow, a, 0, 0, kRow, kHeight, cudaMemcpyDeviceToDevice,
                                  stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(device.read() == from);
  CUDA(cudaFreeArray(a));
  CUDA(cudaFreeArray(b));
}

void three_dimensions() {
  constexpr size_t kWidth = 6, kHeight = 5, kDepth = 4;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float4>();
  cudaArray_t array;
  CUDA(cudaMalloc3DArray(&array, &floats, make_cudaExtent(kWidth, kHeight, kDepth)));
  std::vector<float4> from = numbered(kWidth * kHeight * kDepth), to(3 * 2 * 2);
  cudaMemcpy3DParms in = {};
  in.srcPtr = make_cudaPitchedPtr(from.data(), kWidth * sizeof(float4), kWidth, kHeight);
  in.dstArray = array;
  in.extent = make_cudaExtent(kWidth, kHeight, kDepth);
  in.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&in));
  cudaMemcpy3DParms out = {};
  out.srcArray = array;
  out.srcPos = make_cudaPos(2, 1, 2);  // in elements
  out.dstPtr = make_cudaPitchedPtr(to.data(), 3 * sizeof(float4), 3, 2);
  out.extent = make_cudaExtent(3, 2, 2);
  out.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&out));
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 2; ++y)
      for (size_t x = 0; x < 3; ++x)
        CHECK(same(to[(z * 2 + y) * 3 + x], from[((z + 2) * kHeight + y + 1) * kWidth + x + 2]));

  // The same as a node of a graph.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node;
  std::vector<float4> again(to.size());
  out.dstPtr.ptr = again.data();
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &out));
  cudaMemcpy3DParms kept = {};
  CUDA(cudaGraphMemcpyNodeGetParams(node, &kept));
  CHECK(kept.srcArray == array && kept.srcPos.x == 2 && kept.extent.width == 3);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaGraphLaunch(exec, nullptr));
  CUDA(cudaDeviceSynchronize());
  for (size_t i = 0; i < to.size(); ++i) CHECK(same(again[i], to[i]));
  out.srcPos = make_cudaPos(4, 1, 2);
  CHECK(cudaMemcpy3D(&out) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaFreeArray(array));
}

int main() {
  descriptions();
  two_dimensions();
  three_dimensions();
  return verdict();
}
