// Clusters: which sizes are taken, and that their blocks are together.
#include <cstring>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {
namespace {

// out[block] = what the neighbour in the cluster wrote into its shared memory: its block's number + 1000.
constexpr const char *kNeighbour = R"(
.visible .entry NAME(.param .u64 out) CLUSTER
{
	.shared .align 4 .u32 mine;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	add.u32 %r2, %r1, 1000;
	st.shared.u32 [mine], %r2;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	mov.u32 %r3, %cluster_ctarank;
	mov.u32 %r4, %cluster_nctarank;
	add.u32 %r3, %r3, 1;
	rem.u32 %r3, %r3, %r4;
	mov.u32 %r5, mine;
	mapa.shared::cluster.u32 %r5, %r5, %r3;
	ld.shared::cluster.u32 %r6, [%r5];
	barrier.cluster.arrive;
	barrier.cluster.wait;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r6;
	ret;
}
)";

std::string entry(const std::string &name, const std::string &cluster) {
  std::string text = kNeighbour;
  text.replace(text.find("NAME"), 4, name);
  text.replace(text.find("CLUSTER"), 7, cluster);
  return text;
}

class Cluster : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    int has_clusters = 0;
    ASSERT_EQ(cu("cuDeviceGetAttribute", &has_clusters, 120, 0), 0);
    if (!has_clusters) GTEST_SKIP() << "a device without clusters";
    const std::string source = ".version 7.8\n.target sm_90\n.address_size 64\n" + entry("any", "") +
                               entry("pair", ".explicitcluster .reqnctapercluster 2, 1, 1");
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(source.c_str())), 0);
  }
  int launch_cluster(Handle kernel, unsigned cluster, unsigned blocks, Address out) {
    CUlaunchAttribute attribute{kLaunchClusterDimension, {}, {}};
    const unsigned size[3] = {cluster, 1, 1};
    std::memcpy(attribute.value, size, sizeof size);
    void *parameters[] = {&out};
    const CUlaunchConfig config{blocks, 1, 1, 1, 1, 1, 0, nullptr, &attribute, cluster != 0};
    return cu("cuLaunchKernelEx", &config, kernel, static_cast<void **>(parameters),
              static_cast<void **>(nullptr));
  }
};

struct Case {
  const char *name, *kernel;
  unsigned cluster, blocks;  // cluster 0: no attribute
  bool is_non_portable;
  int expected;
  unsigned size;  // of the clusters that ran
};

TEST_F(Cluster, SizesOfLaunches) {
  const Case table[] = {
      {"none", "any", 0, 6, false, 0, 1},
      {"one block", "any", 1, 6, false, 0, 1},
      {"two", "any", 2, 6, false, 0, 2},
      {"no divisor of the grid", "any", 2, 5, false, 912, 0},
      {"larger than the grid", "any", 4, 2, false, 912, 0},
      {"the largest portable one", "any", 8, 24, false, 0, 8},
      {"larger", "any", 16, 16, false, 912, 0},
      {"larger, allowed", "any", 16, 16, true, 0, 16},
      {"larger than any", "any", 32, 32, true, 912, 0},
      {"the kernel's own", "pair", 0, 6, false, 0, 2},
      {"the kernel's own, repeated", "pair", 2, 6, false, 0, 2},
      {"not the kernel's own", "pair", 3, 6, false, 912, 0},
      {"the kernel's own, no divisor", "pair", 0, 5, false, 912, 0},
  };
  for (const Case &row : table) {
    SCOPED_TRACE(row.name);
    const Handle kernel = function(row.kernel);
    EXPECT_EQ(cu("cuFuncSetAttribute", kernel, int{kNonPortableCluster}, int{row.is_non_portable}), 0);
    const Address out = allocate(4 * row.blocks);
    EXPECT_EQ(launch_cluster(kernel, row.cluster, row.blocks, out), row.expected);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    for (unsigned block = 0; row.size && block < row.blocks; ++block) {
      const unsigned first = block / row.size * row.size, next = (block - first + 1) % row.size;
      EXPECT_EQ(read<unsigned>(out + 4 * block), first + next + 1000) << "block " << block;
    }
    EXPECT_EQ(cu("cuMemFree_v2", out), 0);
  }
}

TEST_F(Cluster, FunctionAttributes) {
  const Handle any = function("any"), pair = function("pair");
  const auto get = [](Handle kernel, int attribute) {
    int value = -1;
    EXPECT_EQ(cu("cuFuncGetAttribute", &value, attribute, kernel), 0);
    return value;
  };
  EXPECT_EQ(get(any, kClusterSizeMustBeSet), 0);
  EXPECT_EQ(get(any, kClusterWidth), 0);
  EXPECT_EQ(get(pair, kClusterWidth), 2);
  EXPECT_EQ(get(pair, kClusterDepth), 1);
  EXPECT_EQ(cu("cuFuncSetAttribute", pair, int{kClusterWidth}, 4), 1);

  // A kernel without a size of its own gets one by its attributes, for every kind of launch.
  for (int attribute : {kClusterWidth, kClusterHeight, kClusterDepth})
    EXPECT_EQ(cu("cuFuncSetAttribute", any, attribute, attribute == kClusterWidth ? 3 : 1), 0);
  EXPECT_EQ(get(any, kClusterWidth), 3);
  const Address out = allocate(4);
  EXPECT_EQ(launch_by("cuLaunchKernel", any, nullptr, out), 912);  // one block
}

TEST_F(Cluster, Occupancy) {
  CUlaunchAttribute attribute{kLaunchClusterDimension, {}, {}};
  const unsigned size[3] = {2, 1, 1};
  std::memcpy(attribute.value, size, sizeof size);
  const CUlaunchConfig config{8, 1, 1, 1024, 1, 1, 0, nullptr, &attribute, 1};
  int clusters = 0, sms = 0, blocks = 0;
  EXPECT_EQ(cu("cuDeviceGetAttribute", &sms, 16, 0), 0);
  EXPECT_EQ(cu("cuOccupancyMaxActiveClusters", &clusters, function("any"), &config), 0);
  EXPECT_EQ(clusters, sms);  // two blocks of 1024 threads on each SM
  EXPECT_EQ(cu("cuOccupancyMaxPotentialClusterSize", &blocks, function("any"), &config), 0);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(cu("cuOccupancyMaxActiveClusters", static_cast<int *>(nullptr), function("any"), &config), 1);
}

TEST_F(Cluster, CapturedLaunchesAndNodesKeepTheirs) {
  const Handle on = stream(), any = function("any");
  const Address out = allocate(24);
  Handle graph = nullptr, exec = nullptr, node = nullptr;
  size_t count = 1;
  ASSERT_EQ(cu("cuStreamBeginCapture_v2", on, int{kCaptureGlobal}), 0);
  CUlaunchAttribute attribute{kLaunchClusterDimension, {}, {}};
  const unsigned size[3] = {3, 1, 1};
  std::memcpy(attribute.value, size, sizeof size);
  Address to = out;
  void *parameters[] = {&to};
  const CUlaunchConfig config{6, 1, 1, 1, 1, 1, 0, static_cast<driver::CUstream>(on), &attribute, 1};
  ASSERT_EQ(
      cu("cuLaunchKernelEx", &config, any, static_cast<void **>(parameters), static_cast<void **>(nullptr)),
      0);
  ASSERT_EQ(cu("cuStreamEndCapture", on, &graph), 0);
  ASSERT_EQ(cu("cuGraphGetNodes", graph, &node, &count), 0);
  ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);

  // New parameters for the executable's node: the same cluster.
  to = out;
  KernelNodeParams params{};
  ASSERT_EQ(cu("cuGraphKernelNodeGetParams_v2", node, &params), 0);
  params.kernelParams = parameters;
  ASSERT_EQ(
      cu("cuGraphExecKernelNodeSetParams_v2", exec, node, static_cast<const KernelNodeParams *>(&params)), 0);
  ASSERT_EQ(cu("cuGraphLaunch", exec, on), 0);
  ASSERT_EQ(cu("cuStreamSynchronize", on), 0);
  const unsigned expected[] = {1001, 1002, 1000, 1004, 1005, 1003};
  for (unsigned block = 0; block < 6; ++block) EXPECT_EQ(read<unsigned>(out + 4 * block), expected[block]);
}

}  // namespace
}  // namespace egpu::sim
