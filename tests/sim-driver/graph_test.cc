// Graphs: captured and explicit, launched, updated; what a capture forbids.
#include <gmock/gmock.h>

#include <thread>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {
namespace {

using testing::ElementsAre;

class Graph : public CudaTest {
 protected:
  Handle begin(int mode = kCaptureGlobal) {
    const Handle on = stream();
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", on, mode), 0);
    return on;
  }
  Handle end(Handle on) {
    Handle graph = nullptr;
    EXPECT_EQ(cu("cuStreamEndCapture", on, &graph), 0);
    return graph;
  }
  Handle instantiate(Handle graph) {
    Handle exec = nullptr;
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);
    return exec;
  }
  size_t node_count(Handle graph) {
    size_t count = 0;
    EXPECT_EQ(cu("cuGraphGetNodes", graph, static_cast<Handle *>(nullptr), &count), 0);
    return count;
  }
  // append(list, value) as a kernel node.
  KernelNodeParams append(void **parameters) {
    KernelNodeParams params{};
    params.func = static_cast<driver::CUfunction>(function("append"));
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY =
        params.blockDimZ = 1;
    params.kernelParams = parameters;
    return params;
  }
};

TEST_F(Graph, CapturedWorkRunsAtEachLaunchAndNotBefore) {
  const Address values = allocate(4096);
  const Handle on = begin();
  EXPECT_EQ(launch("append", on, values, 1u), 0);
  EXPECT_EQ(launch("append", on, values, 2u), 0);
  const Handle graph = end(on);
  EXPECT_EQ(node_count(graph), 2u);
  EXPECT_THAT(list(values), ElementsAre());
  const Handle exec = instantiate(graph);
  EXPECT_EQ(cu("cuGraphDestroy", graph), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_THAT(list(values), ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_EQ(cu("cuGraphExecDestroy", exec), 0);
}

TEST_F(Graph, CaptureFollowsEventsIntoOtherStreamsAndBack) {
  const Address values = allocate(4096);
  const Handle on = begin(), side = stream(), fork = event(), join = event();
  EXPECT_EQ(launch("append", on, values, 1u), 0);
  EXPECT_EQ(cu("cuEventRecord", fork, on), 0);
  EXPECT_EQ(cu("cuStreamWaitEvent", side, fork, 0u), 0);
  EXPECT_EQ(launch("append", side, values, 2u), 0);
  EXPECT_EQ(cu("cuEventQuery", fork), 907);  // has no answer, and spoils the capture
  Handle graph = nullptr;
  EXPECT_EQ(cu("cuStreamEndCapture", on, &graph), 901);

  EXPECT_EQ(cu("cuStreamBeginCapture_v2", on, 0), 0);
  EXPECT_EQ(launch("append", on, values, 1u), 0);
  EXPECT_EQ(cu("cuEventRecord", fork, on), 0);
  EXPECT_EQ(cu("cuStreamWaitEvent", side, fork, 0u), 0);
  EXPECT_EQ(launch("append", side, values, 2u), 0);
  int status = 0;
  EXPECT_EQ(cu("cuStreamIsCapturing", side, &status), 0);
  EXPECT_EQ(status, kCaptureActive);
  EXPECT_EQ(cu("cuEventRecord", join, side), 0);
  EXPECT_EQ(cu("cuStreamWaitEvent", on, join, 0u), 0);
  EXPECT_EQ(launch("append", on, values, 3u), 0);
  graph = end(on);
  size_t edges = 0;
  EXPECT_EQ(
      cu("cuGraphGetEdges", graph, static_cast<Handle *>(nullptr), static_cast<Handle *>(nullptr), &edges),
      0);
  EXPECT_GE(edges, 2u);  // 1 to 2 and 2 to 3; 1 to 3 follows from them
  EXPECT_EQ(cu("cuGraphLaunch", instantiate(graph), on), 0);
  EXPECT_THAT(list(values), ElementsAre(1, 2, 3));

  // Not joined: refused.
  EXPECT_EQ(cu("cuStreamBeginCapture_v2", on, 0), 0);
  EXPECT_EQ(cu("cuEventRecord", fork, on), 0);
  EXPECT_EQ(cu("cuStreamWaitEvent", side, fork, 0u), 0);
  EXPECT_EQ(launch("append", side, values, 2u), 0);
  EXPECT_EQ(cu("cuStreamEndCapture", on, &graph), 904);

  // Ended where it did not begin: that spoils it.
  EXPECT_EQ(cu("cuStreamBeginCapture_v2", on, 0), 0);
  EXPECT_EQ(cu("cuEventRecord", fork, on), 0);
  EXPECT_EQ(cu("cuStreamWaitEvent", side, fork, 0u), 0);
  EXPECT_EQ(cu("cuStreamEndCapture", side, &graph), 903);
  EXPECT_EQ(cu("cuStreamEndCapture", on, &graph), 901);
}

struct Forbidden {
  const char *name;
  int (*call)(Handle on);
  int expected;
};

TEST_F(Graph, CallsThatACaptureForbidsInvalidateIt) {
  const Forbidden table[] = {
      {"synchronize", [](Handle on) { return cu("cuStreamSynchronize", on); }, 900},
      {"query", [](Handle on) { return cu("cuStreamQuery", on); }, 900},
      {"context", [](Handle) { return cu("cuCtxSynchronize"); }, 900},
      {"allocation",
       [](Handle) {
         Address address = 0;
         return cu("cuMemAlloc_v2", &address, size_t{64});
       },
       900},
      {"legacy", [](Handle) { return cu("cuStreamSynchronize", static_cast<Handle>(nullptr)); }, 906},
  };
  for (const Forbidden &row : table) {
    SCOPED_TRACE(row.name);
    const Handle on = begin();
    EXPECT_EQ(row.call(on), row.expected);
    int status = 0;
    EXPECT_EQ(cu("cuStreamIsCapturing", on, &status), 0);
    EXPECT_EQ(status, kCaptureInvalidated);
    Handle graph = nullptr;
    EXPECT_EQ(cu("cuStreamEndCapture", on, &graph), 901);
    EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  }
}

TEST_F(Graph, ARelaxedThreadMayAllocateWhileAnotherCaptures) {
  const Address values = allocate(4096);
  const Handle on = begin();
  std::thread([&] {
    EXPECT_EQ(cu("cuCtxSetCurrent", context), 0);
    int mode = kCaptureRelaxed;
    EXPECT_EQ(cu("cuThreadExchangeStreamCaptureMode", &mode), 0);
    EXPECT_EQ(mode, kCaptureGlobal);
    Address address = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &address, size_t{64}), 0);
  }).join();
  EXPECT_EQ(launch("append", on, values, 1u), 0);
  EXPECT_EQ(node_count(end(on)), 1u);
}

TEST_F(Graph, ExplicitKernelNodesKeepDependenciesAndTheirOwnParameters) {
  Address values = allocate(4096);
  Handle graph = nullptr, first = nullptr, second = nullptr, third = nullptr;
  EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
  unsigned value = 1;
  void *parameters[] = {&values, &value};
  KernelNodeParams params = append(parameters);
  const Handle *none = nullptr;
  // The last one added goes first.
  EXPECT_EQ(cu("cuGraphAddKernelNode_v2", &second, graph, none, size_t{0},
               static_cast<const KernelNodeParams *>(&params)),
            0);
  value = 2;
  const Handle *on_second = &second;
  EXPECT_EQ(cu("cuGraphAddKernelNode", &third, graph, on_second, size_t{1},
               static_cast<const KernelNodeParams *>(&params)),
            0);
  value = 3;
  EXPECT_EQ(cu("cuGraphAddKernelNode_v2", &first, graph, none, size_t{0},
               static_cast<const KernelNodeParams *>(&params)),
            0);
  const Handle *from = &first, *to = &second;
  EXPECT_EQ(cu("cuGraphAddDependencies", graph, from, to, size_t{1}), 0);
  value = 99;

  KernelNodeParams got{};
  EXPECT_EQ(cu("cuGraphKernelNodeGetParams_v2", second, &got), 0);
  EXPECT_EQ(static_cast<Handle>(got.func), function("append"));
  EXPECT_EQ(*static_cast<unsigned *>(got.kernelParams[1]), 1u);

  const Handle exec = instantiate(graph), on = stream();
  EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_THAT(list(values), ElementsAre(3, 1, 2));

  // New parameters for the executable only.
  value = 7;
  EXPECT_EQ(
      cu("cuGraphExecKernelNodeSetParams_v2", exec, second, static_cast<const KernelNodeParams *>(&params)),
      0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_THAT(list(values), ElementsAre(3, 1, 2, 3, 7, 2));

  // New parameters for the graph, taken over by an update.
  value = 8;
  EXPECT_EQ(cu("cuGraphKernelNodeSetParams_v2", third, static_cast<const KernelNodeParams *>(&params)), 0);
  GraphExecUpdateResult result{};
  EXPECT_EQ(cu("cuGraphExecUpdate_v2", exec, graph, &result), 0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_THAT(list(values), ElementsAre(3, 1, 2, 3, 7, 2, 3, 1, 8));

  // A cycle cannot be instantiated.
  const Handle *back = &third;
  EXPECT_EQ(cu("cuGraphAddDependencies", graph, back, from, size_t{1}), 0);
  Handle refused = nullptr;
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &refused, graph, 0ull), 1);
  // A graph of other structure cannot update.
  EXPECT_EQ(cu("cuGraphDestroyNode", third), 0);
  EXPECT_EQ(cu("cuGraphExecUpdate_v2", exec, graph, &result), 910);
  EXPECT_NE(result.result, 0);
}

TEST_F(Graph, OtherNodesDoTheirWork) {
  const Address values = allocate(64), copy = allocate(64);
  Handle graph = nullptr, fill = nullptr, move = nullptr, host = nullptr;
  EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
  const MemsetNodeParams memset{values, 0, 0x01020304, 4, 4, 1};
  const Handle *none = nullptr;
  EXPECT_EQ(cu("cuGraphAddMemsetNode", &fill, graph, none, size_t{0}, &memset, context), 0);
  Copy3D params{};
  params.from_type = params.to_type = kMemoryDevice;
  params.from_device = values;
  params.to_device = copy;
  params.width_bytes = 16;
  params.height = params.depth = 1;
  const Handle *after_fill = &fill, *after_move = &move;
  EXPECT_EQ(cu("cuGraphAddMemcpyNode", &move, graph, after_fill, size_t{1},
               static_cast<const Copy3D *>(&params), context),
            0);
  int calls = 0;
  const HostNodeParams call{[](void *data) { ++*static_cast<int *>(data); }, &calls};
  EXPECT_EQ(cu("cuGraphAddHostNode", &host, graph, after_move, size_t{1}, &call), 0);
  const Handle exec = instantiate(graph);
  EXPECT_EQ(cu("cuGraphLaunch", exec, static_cast<Handle>(nullptr)), 0);
  EXPECT_EQ(read<unsigned>(copy + 12), 0x01020304u);
  EXPECT_EQ(calls, 1);
  int type = -1;
  EXPECT_EQ(cu("cuGraphNodeGetType", move, &type), 0);
  EXPECT_EQ(type, kNodeMemcpy);
}

}  // namespace
}  // namespace egpu::sim
