// Nodes of graphs: read, changed in graphs and executables, switched off, cloned; user objects.
#include <algorithm>

#include "check.h"

__global__ void add(int *x, int term) { x[threadIdx.x] += term; }
__device__ int variable[4] = {1, 2, 3, 4};

constexpr int kCount = 32;
int ended = 0;
void end_of_object(void *what) { ended += *static_cast<int *>(what); }
void raise_by_one(void *counter) { ++*static_cast<int *>(counter); }
void raise_by_ten(void *counter) { *static_cast<int *>(counter) += 10; }

// fill with a value -> add a term -> copy to the host -> a call on the host
struct Chain {
  cudaGraph_t graph;
  cudaGraphNode_t fill, kernel, copy, call;
  std::vector<int> host = std::vector<int>(kCount, -1);
  int calls = 0, term = 1;
  int *x;
  void *arguments[2] = {&x, &term};

  explicit Chain(int *device) : x(device) {
    CUDA(cudaGraphCreate(&graph, 0));
    cudaMemsetParams set = {};
    set.dst = x;
    set.value = 7;
    set.elementSize = 4;
    set.width = kCount;
    set.height = 1;
    CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    cudaKernelNodeParams launch = kernel_parameters();
    CUDA(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
    CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), x, kCount * 4,
                                  cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {raise_by_one, &calls};
    CUDA(cudaGraphAddHostNode(&call, graph, &copy, 1, &function));
  }
  ~Chain() { CUDA(cudaGraphDestroy(graph)); }
  cudaKernelNodeParams kernel_parameters() {
    cudaKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void *>(add);
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(kCount);
    launch.kernelParams = arguments;
    return launch;
  }
  int run(cudaGraphExec_t instance) {
    CUDA(cudaGraphLaunch(instance, nullptr));
    CUDA(cudaStreamSynchronize(nullptr));
    CHECK(std::count(host.begin(), host.end(), host[0]) == kCount);
    record(host);
    return host[0];
  }
};

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t instance;
  CUDA(cudaGraphInstantiate(&instance, graph, 0));
  return instance;
}

void parameters(int *x) {
  Chain chain(x);
  cudaMemsetParams set = {};
  CUDA(cudaGraphMemsetNodeGetParams(chain.fill, &set));
  CHECK(set.dst == x && set.value == 7 && set.width == kCount);
  cudaHostNodeParams call = {};
  CUDA(cudaGraphHostNodeGetParams(chain.call, &call));
  CHECK(call.fn == raise_by_one && call.userData == &chain.calls);
  cudaMemcpy3DParms copy = {};
  CUDA(cudaGraphMemcpyNodeGetParams(chain.copy, &copy));
  CHECK(copy.dstPtr.ptr == chain.host.data() && copy.extent.width == kCount * 4);
  CHECK(copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDefault);

  set.value = 20;
  CUDA(cudaGraphMemsetNodeSetParams(chain.fill, &set));
  call.fn = raise_by_ten;
  CUDA(cudaGraphHostNodeSetParams(chain.call, &call));
  std::vector<int> other(kCount);
  CUDA(cudaGraphMemcpyNodeSetParams1D(chain.copy, other.data(), x, kCount * 4, cudaMemcpyDeviceToHost));
  cudaGraphExec_t instance = instantiate(chain.graph);
  CUDA(cudaGraphLaunch(instance, nullptr));
  CUDA(cudaStreamSynchronize(nullptr));
  CHECK(other[5] == 21 && chain.calls == 10 && chain.host[5] == -1);

  // The executable has its own: the graph keeps what was set above.
  set.value = 40;
  CUDA(cudaGraphExecMemsetNodeSetParams(instance, chain.fill, &set));
  CUDA(cudaGraphExecMemcpyNodeSetParams1D(instance, chain.copy, chain.host.data(), x, kCount * 4,
                                          cudaMemcpyDeviceToHost));
  call.fn = raise_by_one;
  CUDA(cudaGraphExecHostNodeSetParams(instance, chain.call, &call));
  chain.term = 3;
  cudaKernelNodeParams launch = chain.kernel_parameters();
  CUDA(cudaGraphExecKernelNodeSetParams(instance, chain.kernel, &launch));
  CHECK(chain.run(instance) == 43 && chain.calls == 11);

  unsigned is_enabled = 9;
  CUDA(cudaGraphNodeGetEnabled(instance, chain.kernel, &is_enabled));
  CHECK(is_enabled == 1);
  CUDA(cudaGraphNodeSetEnabled(instance, chain.kernel, 0));
  CHECK(chain.run(instance) == 40);
  CUDA(cudaGraphNodeSetEnabled(instance, chain.kernel, 1));
  CHECK(chain.run(instance) == 43);
  unsigned long long flags = 9;
  CUDA(cudaGraphExecGetFlags(instance, &flags));
  CHECK(flags == 0);

  cudaGraphExecUpdateResultInfo result = {};
  CUDA(cudaGraphMemcpyNodeSetParams1D(chain.copy, chain.host.data(), x, kCount * 4, cudaMemcpyDeviceToHost));
  CUDA(cudaGraphExecUpdate(instance, chain.graph, &result));
  CHECK(result.result == cudaGraphExecUpdateSuccess);
  CHECK(chain.run(instance) == 21);
  CUDA(cudaGraphExecDestroy(instance));
}

void shapes(int *x) {
  Chain chain(x);
  cudaGraph_t clone;
  cudaGraphNode_t in_clone;
  CUDA(cudaGraphClone(&clone, chain.graph));
  CUDA(cudaGraphNodeFindInClone(&in_clone, chain.kernel, clone));
  CHECK(in_clone && in_clone != chain.kernel);
  chain.term = 100;
  cudaKernelNodeParams launch = chain.kernel_parameters();
  CUDA(cudaGraphKernelNodeSetParams(in_clone, &launch));
  size_t nodes = 0, edges = 0, roots = 0;
  CUDA(cudaGraphGetNodes(clone, nullptr, &nodes));
  CUDA(cudaGraphGetEdges(clone, nullptr, nullptr, nullptr, &edges));
  CUDA(cudaGraphGetRootNodes(clone, nullptr, &roots));
  CHECK(nodes == 4 && edges == 3 && roots == 1);
  cudaGraphExec_t instance = instantiate(clone);
  CHECK(chain.run(instance) == 107);
  CUDA(cudaGraphExecDestroy(instance));

  // A child graph twice, one after the other, after a symbol has been written; the second has no fill.
  cudaGraph_t outer, inside;
  cudaGraphNode_t first, second, fill_in_second, write, extra;
  CUDA(cudaGraphCreate(&outer, 0));
  const int changed[2] = {50, 60};
  CUDA(cudaGraphAddMemcpyNodeToSymbol(&write, outer, nullptr, 0, variable, changed, 8, 4,
                                      cudaMemcpyHostToDevice));
  CUDA(cudaGraphAddChildGraphNode(&first, outer, &write, 1, chain.graph));
  CUDA(cudaGraphAddChildGraphNode(&second, outer, &first, 1, clone));
  CUDA(cudaGraphChildGraphNodeGetGraph(second, &inside));
  CHECK(inside != clone);
  CUDA(cudaGraphNodeFindInClone(&fill_in_second, in_clone, inside));
  CUDA(cudaGraphGetRootNodes(inside, &fill_in_second, &(roots = 1)));
  CUDA(cudaGraphDestroyNode(fill_in_second));
  CUDA(cudaGraphAddEmptyNode(&extra, outer, nullptr, 0));
  CUDA(cudaGraphAddDependencies(outer, &second, &extra, nullptr, 1));
  CUDA(cudaGraphRemoveDependencies(outer, &second, &extra, nullptr, 1));
  instance = instantiate(outer);
  CHECK(chain.run(instance) == 7 + 1 + 100);
  std::vector<int> values(4);
  CUDA(cudaMemcpyFromSymbol(values.data(), variable, 16));
  CHECK(values == (std::vector<int>{1, 50, 60, 4}));
  CUDA(cudaGraphExecDestroy(instance));
  CUDA(cudaGraphDestroy(outer));
  CUDA(cudaGraphDestroy(clone));
}

void other_nodes(int *x) {
  cudaGraph_t graph;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaEvent_t event, other, found = nullptr;
  CUDA(cudaEventCreate(&event));
  CUDA(cudaEventCreate(&other));
  cudaGraphNode_t kernel, recorded, waited;
  int term = 4;
  void *arguments[] = {&x, &term};
  cudaGraphNodeParams any = {};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.func = reinterpret_cast<void *>(add);
  any.kernel.gridDim = dim3(1);
  any.kernel.blockDim = dim3(kCount);
  any.kernel.kernelParams = arguments;
  CUDA(cudaGraphAddNode(&kernel, graph, nullptr, nullptr, 0, &any));
  CUDA(cudaGraphAddEventRecordNode(&recorded, graph, &kernel, 1, other));
  CUDA(cudaGraphEventRecordNodeSetEvent(recorded, event));
  CUDA(cudaGraphEventRecordNodeGetEvent(recorded, &found));
  CHECK(found == event);
  CUDA(cudaGraphAddEventWaitNode(&waited, graph, &recorded, 1, event));
  cudaKernelNodeAttrValue value = {};
  value.priority = 0;
  CUDA(cudaGraphKernelNodeSetAttribute(kernel, cudaKernelNodeAttributePriority, &value));
  value.priority = 77;
  CUDA(cudaGraphKernelNodeGetAttribute(kernel, cudaKernelNodeAttributePriority, &value));
  CHECK(value.priority == 0);
  int amount = 5;
  cudaUserObject_t object;
  CUDA(cudaUserObjectCreate(&object, &amount, end_of_object, 1, cudaUserObjectNoDestructorSync));
  CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraphExec_t instance = instantiate(graph);
  CUDA(cudaMemset(x, 0, kCount * 4));
  CUDA(cudaGraphLaunch(instance, nullptr));
  term = 6;
  CUDA(cudaGraphExecNodeSetParams(instance, kernel, &any));
  CUDA(cudaGraphLaunch(instance, nullptr));
  CUDA(cudaEventSynchronize(event));
  std::vector<int> host(kCount);
  CUDA(cudaMemcpy(host.data(), x, kCount * 4, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 10 && host[kCount - 1] == 10);
  CUDA(cudaGraphDestroy(graph));
  CHECK(ended == 0);  // the executable refers to it
  CUDA(cudaGraphExecDestroy(instance));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 1000000000 && !*static_cast<volatile int *>(&ended); ++i) {
  }  // it is called on another thread, some time
  CHECK(ended == 5);
  CUDA(cudaEventDestroy(event));
  CUDA(cudaEventDestroy(other));
}

int main() {
  DeviceArray<int> x(kCount);
  parameters(x.data);
  shapes(x.data);
  other_nodes(x.data);
  return verdict();
}
