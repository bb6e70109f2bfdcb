// Streams and events in their variants: priorities, attributes, callbacks, waits, capture.
#include "check.h"

__global__ void append(int *list, int value) { list[1 + list[0]++] = value; }

int called[8], calls = 0;
void on_host(void *what) { called[calls++] = *static_cast<int *>(what); }
void on_stream(cudaStream_t, cudaError_t status, void *what) {
  called[calls++] = status == cudaSuccess ? *static_cast<int *>(what) : -1;
}

void properties() {
  int least = 0, greatest = 0, priority = 1, device = -1;
  unsigned flags = 9;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t one, two;
  CUDA(cudaStreamCreateWithPriority(&one, cudaStreamNonBlocking, greatest - 100));  // to the nearest there is
  CUDA(cudaStreamCreateWithFlags(&two, cudaStreamDefault));
  CUDA(cudaStreamGetPriority(one, &priority));
  CHECK(priority == greatest);
  CUDA(cudaStreamGetPriority(two, &priority));
  CHECK(priority == 0);
  CUDA(cudaStreamGetFlags(one, &flags));
  CHECK(flags == cudaStreamNonBlocking);
  CUDA(cudaStreamGetFlags(two, &flags));
  CHECK(flags == cudaStreamDefault);
  unsigned long long id_one = 0, id_two = 0;
  CUDA(cudaStreamGetId(one, &id_one));
  CUDA(cudaStreamGetId(two, &id_two));
  CHECK(id_one != id_two);
  CUDA(cudaStreamGetDevice(one, &device));
  CHECK(device == 0);
  cudaStreamAttrValue value = {};
  value.syncPolicy = cudaSyncPolicyYield;
  CUDA(cudaStreamSetAttribute(one, cudaStreamAttributeSynchronizationPolicy, &value));
  CUDA(cudaStreamCopyAttributes(two, one));
  value = {};
  CUDA(cudaStreamGetAttribute(two, cudaStreamAttributeSynchronizationPolicy, &value));
  CHECK(value.syncPolicy == cudaSyncPolicyYield);
  CUDA(cudaStreamQuery(one));
  CHECK(cudaStreamCreateWithFlags(&one, 77) == cudaErrorInvalidValue);
  cudaGetLastError();
  CUDA(cudaStreamDestroy(one));
  CUDA(cudaStreamDestroy(two));
}

void order(int *list) {
  cudaStream_t one, two;
  CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  cudaEvent_t done, timed;
  CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming | cudaEventBlockingSync));
  CUDA(cudaEventCreate(&timed));
  CUDA(cudaEventQuery(done));  // never recorded: nothing to wait for
  CUDA(cudaMemset(list, 0, 64));
  int numbers[] = {10, 20, 30};
  append<<<1, 1, 0, one>>>(list, 1);
  CUDA(cudaLaunchHostFunc(one, on_host, &numbers[0]));
  CUDA(cudaStreamAddCallback(one, on_stream, &numbers[1], 0));
  append<<<1, 1, 0, one>>>(list, 2);
  CUDA(cudaEventRecordWithFlags(done, one, cudaEventRecordDefault));
  CUDA(cudaStreamWaitEvent(two, done, cudaEventWaitDefault));
  append<<<1, 1, 0, two>>>(list, 3);
  CUDA(cudaLaunchHostFunc(two, on_host, &numbers[2]));
  CUDA(cudaEventRecord(timed, two));
  CUDA(cudaEventSynchronize(timed));
  CUDA(cudaStreamSynchronize(two));
  CHECK(calls == 3 && called[0] == 10 && called[1] == 20 && called[2] == 30);
  std::vector<int> host(4);
  CUDA(cudaMemcpy(host.data(), list, 16, cudaMemcpyDeviceToHost));
  CHECK(host == (std::vector<int>{3, 1, 2, 3}));
  record(host);
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, done, timed) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CUDA(cudaEventElapsedTime(&milliseconds, timed, timed));
  CHECK(milliseconds == 0);
  CUDA(cudaEventDestroy(done));
  CUDA(cudaEventDestroy(timed));
  CUDA(cudaStreamDestroy(one));
  CUDA(cudaStreamDestroy(two));
}

void capture(int *list) {
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMemset(list, 0, 64));
  cudaGraph_t graph, into;
  cudaGraphNode_t empty;
  CUDA(cudaGraphCreate(&into, 0));
  CUDA(cudaGraphAddEmptyNode(&empty, into, nullptr, 0));
  CUDA(cudaStreamBeginCaptureToGraph(stream, into, &empty, nullptr, 1, cudaStreamCaptureModeThreadLocal));
  append<<<1, 1, 0, stream>>>(list, 4);
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t captured = nullptr;
  const cudaGraphNode_t *tail = nullptr;
  size_t count = 0;
  CUDA(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &tail, nullptr, &count));
  CHECK(status == cudaStreamCaptureStatusActive && captured == into && count == 1);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK(graph == into);
  CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 2);
  cudaGraphExec_t instance;
  CUDA(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA(cudaGraphLaunch(instance, stream));
  std::vector<int> host(4);
  CUDA(cudaMemcpyAsync(host.data(), list, 16, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(host == (std::vector<int>{3, 4, 4, 4}));
  CUDA(cudaGraphExecDestroy(instance));
  CUDA(cudaGraphDestroy(graph));

  // What would wait for captured work ends the capture.
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == cudaStreamCaptureModeGlobal);
  CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == cudaStreamCaptureModeRelaxed);
  cudaGetLastError();
  CUDA(cudaStreamDestroy(stream));
}

int main() {
  DeviceArray<int> list(16);
  properties();
  order(list.data);
  capture(list.data);
  return verdict();
}
