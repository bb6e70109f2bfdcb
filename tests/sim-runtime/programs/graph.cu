// Graphs: captured from two streams, built by hand, replayed and updated.
#include "check.h"

__global__ void multiply_add(int *x, int factor, int term) {
  x[threadIdx.x] = x[threadIdx.x] * factor + term;
}

void count_call(void *counter) { ++*static_cast<int *>(counter); }

void captured() {
  DeviceArray<int> x(64);
  CUDA(cudaMemset(x.data, 0, 256));
  std::vector<int> host(64, -1);
  int calls = 0;
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamCreate(&side));
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  multiply_add<<<1, 64, 0, stream>>>(x.data, 3, 1);
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(side, fork, 0));
  CUDA(cudaLaunchHostFunc(side, count_call, &calls));
  CUDA(cudaEventRecord(join, side));
  multiply_add<<<1, 64, 0, stream>>>(x.data, 1, 5);
  CUDA(cudaStreamWaitEvent(stream, join, 0));
  CUDA(cudaMemcpyAsync(host.data(), x.data, 256, cudaMemcpyDeviceToHost, stream));
  cudaStreamCaptureStatus status;
  CUDA(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  CUDA(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 4);
  cudaGraphExec_t instance;
  CUDA(cudaGraphInstantiate(&instance, graph, 0));
  int expected = 0;
  for (int i = 0; i < 7; ++i) {
    CUDA(cudaGraphLaunch(instance, stream));
    expected = expected * 3 + 1 + 5;
  }
  CUDA(cudaStreamSynchronize(stream));
  for (int value : host) CHECK(value == expected);
  record(host);
  CHECK(calls == 7);
  CUDA(cudaGraphExecDestroy(instance));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaEventDestroy(fork));
  CUDA(cudaEventDestroy(join));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaStreamDestroy(side));
}

void by_hand() {
  DeviceArray<int> x(32);
  std::vector<int> host(32, -1);
  int calls = 0;
  cudaGraph_t graph;
  cudaGraphNode_t fill, kernel, copy, call;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaMemsetParams memset_parameters = {};
  memset_parameters.dst = x.data;
  memset_parameters.value = 0;
  memset_parameters.elementSize = 4;
  memset_parameters.width = 32;
  memset_parameters.height = 1;
  CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset_parameters));
  int *data = x.data, factor = 1, term = 11;
  void *arguments[] = {&data, &factor, &term};
  cudaKernelNodeParams kernel_parameters = {};
  kernel_parameters.func = reinterpret_cast<void *>(multiply_add);
  kernel_parameters.gridDim = dim3(1);
  kernel_parameters.blockDim = dim3(32);
  kernel_parameters.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &kernel_parameters));
  CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), x.data, 128, cudaMemcpyDeviceToHost));
  cudaHostNodeParams host_parameters = {};
  host_parameters.fn = count_call;
  host_parameters.userData = &calls;
  CUDA(cudaGraphAddHostNode(&call, graph, &copy, 1, &host_parameters));
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(kernel, &type));
  CHECK(type == cudaGraphNodeTypeKernel);
  cudaKernelNodeParams read = {};
  CUDA(cudaGraphKernelNodeGetParams(kernel, &read));
  CHECK(read.func == reinterpret_cast<void *>(multiply_add) && read.blockDim.x == 32);
  cudaGraphExec_t instance;
  CUDA(cudaGraphInstantiate(&instance, graph, 0));
  CUDA(cudaGraphLaunch(instance, nullptr));
  CUDA(cudaStreamSynchronize(nullptr));
  for (int value : host) CHECK(value == 11);
  term = 13;
  CUDA(cudaGraphExecKernelNodeSetParams(instance, kernel, &kernel_parameters));
  CUDA(cudaGraphLaunch(instance, nullptr));
  CUDA(cudaStreamSynchronize(nullptr));
  for (int value : host) CHECK(value == 13);
  record(host);
  CHECK(calls == 2);
  CUDA(cudaGraphExecDestroy(instance));
  CUDA(cudaGraphDestroy(graph));
}

int main() {
  captured();
  by_hand();
  return verdict();
}
