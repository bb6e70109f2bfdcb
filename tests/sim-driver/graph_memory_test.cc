// Memory that graphs allocate and free.
#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

class GraphMemories : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    on = stream(kStreamNonBlocking);
  }
  Handle instantiate(Handle graph, unsigned long long flags = 0) {
    Handle exec = nullptr;
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &exec, graph, flags), 0);
    return exec;
  }
  int launch_graph(Handle exec) { return cu("cuGraphLaunch", exec, on); }
  // A graph that allocates, appends to the list there, copies it out to `result`; and frees it, if asked.
  Handle capture(Address result, bool frees, Address *memory) {
    Handle graph = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", on, int{kCaptureGlobal}), 0);
    EXPECT_EQ(cu("cuMemAllocAsync", memory, size_t{64}, on), 0);
    EXPECT_EQ(cu("cuMemsetD8Async", *memory, static_cast<unsigned char>(0), size_t{64}, on), 0);
    EXPECT_EQ(launch("append", on, *memory, 41u), 0);
    EXPECT_EQ(cu("cuMemcpyDtoDAsync_v2", result, *memory, size_t{8}, on), 0);
    if (frees) {
      EXPECT_EQ(cu("cuMemFreeAsync", *memory, on), 0);
    }
    EXPECT_EQ(cu("cuStreamEndCapture", on, &graph), 0);
    return graph;
  }
  uint64_t used_bytes() {
    uint64_t value = 99;
    EXPECT_EQ(cu("cuDeviceGetGraphMemAttribute", 0, 0, &value), 0);
    return value;
  }

  Handle on = nullptr;
};

TEST_F(GraphMemories, CapturedAndFreedInTheGraph) {
  const Address result = allocate(64);
  Address memory = 0;
  const Handle exec = instantiate(capture(result, true, &memory));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cu("cuMemsetD8_v2", result, static_cast<unsigned char>(0), size_t{64}), 0);
    EXPECT_EQ(launch_graph(exec), 0);
    EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
    EXPECT_EQ(read<uint64_t>(result), uint64_t{41} << 32 | 1);
  }
}

TEST_F(GraphMemories, ThatOutlivesALaunchIsFreedBeforeTheNext) {
  const Address result = allocate(64);
  Address memory = 0;
  const Handle graph = capture(result, false, &memory), exec = instantiate(graph);
  unsigned got = 0;
  expect_all({
      {"launch", 0, [&] { return launch_graph(exec); }},
      {"launch again", 1, [&] { return launch_graph(exec); }},
      {"wait", 0, [&] { return cu("cuStreamSynchronize", on); }},
      {"use it", 0, [&] { return cu("cuMemcpyDtoH_v2", static_cast<void *>(&got), memory + 4, sizeof got); }},
      {"free it", 0, [&] { return cu("cuMemFreeAsync", memory, on); }},
      {"launch after that", 0, [&] { return launch_graph(exec); }},
      {"free it at once", 0, [&] { return cu("cuMemFree_v2", memory); }},
      {"and once more", 0, [&] { return launch_graph(exec); }},
      {"free it again", 0, [&] { return cu("cuMemFreeAsync", memory, on); }},
      {"wait for all", 0, [&] { return cu("cuStreamSynchronize", on); }},
      {"destroy it", 0, [&] { return cu("cuGraphExecDestroy", exec); }},
  });
  EXPECT_EQ(got, 41u);

  // Each launch frees what the last one has left.
  const Handle frees_first = instantiate(graph, 1);
  EXPECT_EQ(launch_graph(frees_first), 0);
  EXPECT_EQ(launch_graph(frees_first), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(cu("cuMemFree_v2", memory), 0);
}

TEST_F(GraphMemories, NodesAndWhatSuchAGraphForbids) {
  MemoryAllocationNodeParams params{}, got{};
  params.properties.type = 1;
  params.properties.location = {1, 0};
  params.size_bytes = 256;
  Handle graph = nullptr, made = nullptr, freed = nullptr, other = nullptr, clone = nullptr;
  Address address = 0;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
  ASSERT_EQ(cu("cuGraphCreate", &other, 0u), 0);
  const Handle *none = nullptr, *after = &made;
  int type = -1;
  expect_all({
      {"allocation", 0, [&] { return cu("cuGraphAddMemAllocNode", &made, graph, none, size_t{0}, &params); }},
      {"free", 0,
       [&] { return cu("cuGraphAddMemFreeNode", &freed, graph, after, size_t{1}, params.address); }},
      {"type", 0, [&] { return cu("cuGraphNodeGetType", made, &type) | (type != kNodeMemoryAllocation); }},
      {"type of the free", 0,
       [&] { return cu("cuGraphNodeGetType", freed, &type) | (type != kNodeMemoryFree); }},
      {"what it allocates", 0, [&] { return cu("cuGraphMemAllocNodeGetParams", made, &got); }},
      {"what it frees", 0, [&] { return cu("cuGraphMemFreeNodeGetParams", freed, &address); }},
      {"clone", 801, [&] { return cu("cuGraphClone", &clone, graph); }},
      {"remove a node", 801, [&] { return cu("cuGraphDestroyNode", freed); }},
      {"as a child", 801,
       [&] { return cu("cuGraphAddChildGraphNode", &clone, other, none, size_t{0}, graph); }},
      {"nothing to allocate", 1,
       [&] {
         params.size_bytes = 0;
         return cu("cuGraphAddMemAllocNode", &made, graph, none, size_t{0}, &params);
       }},
  });
  EXPECT_NE(params.address, 0u);
  EXPECT_EQ(got.address, params.address);
  EXPECT_EQ(got.size_bytes, 256u);
  EXPECT_EQ(address, params.address);
}

TEST_F(GraphMemories, UseIsCounted) {
  EGPU_SIMULATED_ONLY("a real driver keeps what was freed for the next launch");
  Address memory = 0;
  const Handle exec = instantiate(capture(allocate(64), false, &memory));
  EXPECT_EQ(used_bytes(), 0u);
  EXPECT_EQ(launch_graph(exec), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(used_bytes(), 64u);
  EXPECT_EQ(cu("cuMemFree_v2", memory), 0);
  EXPECT_EQ(used_bytes(), 0u);
}

TEST_F(GraphMemories, IsNotThereAfterItsFree) {
  EGPU_SIMULATED_ONLY("a GPU may keep the pages");
  in_own_process([&] {
    Address memory = 0;
    const Handle exec = instantiate(capture(allocate(64), true, &memory));
    EXPECT_EQ(launch_graph(exec), 0);
    EXPECT_EQ(launch("store", on, memory, 1u), 0);
    EXPECT_EQ(cu("cuStreamSynchronize", on), 700);
  });
}

}  // namespace
}  // namespace egpu::sim
