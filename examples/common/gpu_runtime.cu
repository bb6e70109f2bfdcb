// gpu.h over the CUDA runtime API, for builds with nvcc. Launches are <<<>>> in the examples.
#include "gpu.h"

#include <cuda_runtime.h>

#include <cstdio>

namespace gpu {
namespace {

void check(const char *what, cudaError_t status) {
  if (status != cudaSuccess) fail("%s: error %d (%s)", what, static_cast<int>(status), cudaGetErrorName(status));
}
cudaStream_t cuda(Stream stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

void start() {
  if (example::common().api != "module" || example::common().launch != "plain")
    fail("--api and --launch: only in the driver-API build");
  check("cudaSetDevice", cudaSetDevice(0));
}
void enter_thread() { check("cudaSetDevice", cudaSetDevice(0)); }

void *allocate(size_t size_bytes) {
  void *address = nullptr;
  check("cudaMalloc", cudaMalloc(&address, size_bytes ? size_bytes : 1));
  return address;
}
void release(void *address) { check("cudaFree", cudaFree(address)); }
void upload(void *to, const void *from, size_t size_bytes) {
  check("cudaMemcpy", cudaMemcpy(to, from, size_bytes, cudaMemcpyHostToDevice));
}
void download(void *to, const void *from, size_t size_bytes) {
  check("cudaMemcpy", cudaMemcpy(to, from, size_bytes, cudaMemcpyDeviceToHost));
}
void clear(void *to, size_t size_bytes) { check("cudaMemset", cudaMemset(to, 0, size_bytes)); }

Stream create_stream() {
  cudaStream_t stream = nullptr;
  check("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
void destroy_stream(Stream stream) { check("cudaStreamDestroy", cudaStreamDestroy(cuda(stream))); }
void synchronize(Stream stream) { check("cudaStreamSynchronize", cudaStreamSynchronize(cuda(stream))); }
void synchronize_all() { check("cudaDeviceSynchronize", cudaDeviceSynchronize()); }

void begin_capture(Stream stream) {
  check("cudaStreamBeginCapture", cudaStreamBeginCapture(cuda(stream), cudaStreamCaptureModeGlobal));
}
Graph end_capture(Stream stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check("cudaStreamEndCapture", cudaStreamEndCapture(cuda(stream), &graph));
  check("cudaGraphInstantiate", cudaGraphInstantiate(&executable, graph, 0));
  check("cudaGraphDestroy", cudaGraphDestroy(graph));
  return executable;
}
void launch_graph(Graph graph, Stream stream) {
  check("cudaGraphLaunch", cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), cuda(stream)));
}
void destroy_graph(Graph graph) { check("cudaGraphExecDestroy", cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph))); }

void check_launch(const char *kernel) { check(kernel, cudaGetLastError()); }

}  // namespace gpu
