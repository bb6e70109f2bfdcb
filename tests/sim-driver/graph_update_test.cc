// Updates of executable graphs: which graphs are alike, and what is said where they are not.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {
namespace {

struct Shaped {
  const char *kinds;  // a letter per node, as added: k append(list, its number), e empty
  std::vector<std::array<size_t, 2>> edges;
};
constexpr int kNoNode = -1, kAnyNode = -2;
struct Case {
  const char *name;
  Shaped before, after;
  int result, error_node, error_from;  // 0: updated; the nodes' numbers in `after`
};

const Shaped kChain{"kkk", {{0, 1}, {1, 2}}}, kDiamond{"kkkk", {{0, 1}, {0, 2}, {1, 3}, {2, 3}}};

const Case kCases[] = {
    {"the same", kChain, kChain, 0, kNoNode, kNoNode},
    {"added the other way round", kChain, {"kkk", {{2, 1}, {1, 0}}}, 0, kNoNode, kNoNode},
    {"a node fewer", kChain, {"kk", {{0, 1}}}, 2, kNoNode, kNoNode},
    {"a node more", kChain, {"kkkk", {{0, 1}, {1, 2}, {2, 3}}}, 2, kNoNode, kNoNode},
    {"an edge fewer", kChain, {"kkk", {{0, 1}}}, 2, kAnyNode, kNoNode},
    {"an edge more", kChain, {"kkk", {{0, 1}, {1, 2}, {0, 2}}}, 2, 2, kNoNode},
    {"another edge", kChain, {"kkk", {{0, 2}, {1, 2}}}, 2, 2, kNoNode},
    {"another type", kChain, {"kke", {{0, 1}, {1, 2}}}, 3, 2, kNoNode},
    {"another type in the middle", kChain, {"kek", {{0, 1}, {1, 2}}}, 3, 1, kNoNode},
    {"the same diamond", kDiamond, kDiamond, 0, kNoNode, kNoNode},
    {"edges in another order", kDiamond, {"kkkk", {{0, 1}, {0, 2}, {2, 3}, {1, 3}}}, 0, kNoNode, kNoNode},
    {"no diamond", kDiamond, {"kkkk", {{0, 1}, {1, 2}, {1, 3}, {2, 3}}}, 2, 2, 1},
    {"one exit node fewer", {"kkk", {{0, 1}, {0, 2}}}, kChain, 2, kNoNode, kNoNode},
};

class GraphUpdate : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    values = allocate(4096);
    append = function("append");
  }
  Handle add(Handle graph, char kind, unsigned number) {
    Handle node = nullptr;
    const Handle *none = nullptr;
    if (kind == 'e') {
      EXPECT_EQ(cu("cuGraphAddEmptyNode", &node, graph, none, size_t{0}), 0);
      return node;
    }
    void *parameters[] = {&values, &number};
    KernelNodeParams params{};
    params.func = static_cast<driver::CUfunction>(append);
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY =
        params.blockDimZ = 1;
    params.kernelParams = parameters;
    EXPECT_EQ(cu("cuGraphAddKernelNode_v2", &node, graph, none, size_t{0},
                 static_cast<const KernelNodeParams *>(&params)),
              0);
    return node;
  }
  Handle make(const Shaped &shape, unsigned first_number, std::vector<Handle> *nodes) {
    Handle graph = nullptr;
    EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
    for (const char *kind = shape.kinds; *kind; ++kind)
      nodes->push_back(add(graph, *kind, first_number + static_cast<unsigned>(nodes->size())));
    for (const auto &[from, to] : shape.edges) {
      const Handle *a = &(*nodes)[from], *b = &(*nodes)[to];
      EXPECT_EQ(cu("cuGraphAddDependencies", graph, a, b, size_t{1}), 0);
    }
    return graph;
  }
  int number_of(Handle node, const std::vector<Handle> &nodes) {
    const auto at = std::find(nodes.begin(), nodes.end(), node);
    return at == nodes.end() ? kNoNode : static_cast<int>(at - nodes.begin());
  }
  // What the executable appends in one launch.
  std::vector<unsigned> launched(Handle exec) {
    EXPECT_EQ(cu("cuMemsetD8_v2", values, static_cast<unsigned char>(0), size_t{4}), 0);
    EXPECT_EQ(cu("cuGraphLaunch", exec, Handle{}), 0);
    return list(values);
  }

  Address values = 0;
  Handle append = nullptr;
};

TEST_F(GraphUpdate, GraphsMustBeAlike) {
  for (const Case &row : kCases) {
    SCOPED_TRACE(row.name);
    std::vector<Handle> before, after;
    const Handle old_graph = make(row.before, 10, &before), graph = make(row.after, 20, &after);
    Handle exec = nullptr;
    ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &exec, old_graph, 0ull), 0);
    GraphExecUpdateResult result{-1, nullptr, nullptr};
    EXPECT_EQ(cu("cuGraphExecUpdate_v2", exec, graph, &result), row.result ? 910 : 0);
    EXPECT_EQ(result.result, row.result);
    const int node = number_of(result.error_node, after), from = number_of(result.error_from_node, after);
    EXPECT_TRUE(row.error_node == kAnyNode ? node != kNoNode : node == row.error_node) << node;
    EXPECT_TRUE(row.error_from == kAnyNode || from == row.error_from) << from;
    // One that was not updated does what it did.
    const std::vector<unsigned> did = launched(exec);
    ASSERT_EQ(did.size(), std::strlen(row.before.kinds));
    for (unsigned number : did) EXPECT_EQ(number / 10, row.result ? 1u : 2u);
  }
}

TEST_F(GraphUpdate, OrderIsTheNewGraphs) {
  std::vector<Handle> before, after;
  const Handle old_graph = make(kChain, 10, &before), graph = make({"kkk", {{2, 1}, {1, 0}}}, 20, &after);
  Handle exec = nullptr;
  ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &exec, old_graph, 0ull), 0);
  GraphExecUpdateResult result{};
  ASSERT_EQ(cu("cuGraphExecUpdate_v2", exec, graph, &result), 0);
  EXPECT_EQ(launched(exec), (std::vector<unsigned>{22, 21, 20}));
}

TEST_F(GraphUpdate, WhatANodeMustKeep) {
  std::vector<Handle> before, after;
  const Handle old_graph = make({"k", {}}, 10, &before), graph = make({"k", {}}, 20, &after);
  Handle exec = nullptr, copies = nullptr, other_copies = nullptr, node = nullptr;
  ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &exec, old_graph, 0ull), 0);
  const unsigned char cooperative[64] = {1};
  ASSERT_EQ(cu("cuGraphKernelNodeSetAttribute", after[0], int{kLaunchCooperative},
               static_cast<const void *>(cooperative)),
            0);
  GraphExecUpdateResult result{};
  EXPECT_EQ(cu("cuGraphExecUpdate_v2", exec, graph, &result), 910);
  EXPECT_EQ(result.result, 8);
  EXPECT_EQ(result.error_node, after[0]);

  Flag host;
  Copy3D params{};
  params.from_type = params.to_type = kMemoryDevice;
  params.from_device = values;
  params.to_device = allocate(64);
  params.width_bytes = 8;
  params.height = params.depth = 1;
  for (Handle *made : {&copies, &other_copies}) {
    ASSERT_EQ(cu("cuGraphCreate", made, 0u), 0);
    ASSERT_EQ(cu("cuGraphAddMemcpyNode", &node, *made, static_cast<const Handle *>(nullptr), size_t{0},
                 static_cast<const Copy3D *>(&params), context),
              0);
    params.from_type = kMemoryHost;
    params.from_host = host.memory;
  }
  ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &exec, copies, 0ull), 0);
  EXPECT_EQ(cu("cuGraphExecUpdate_v2", exec, other_copies, &result), 910);
  EXPECT_EQ(result.result, 5);
  EXPECT_EQ(result.error_node, node);
}

}  // namespace
}  // namespace egpu::sim
