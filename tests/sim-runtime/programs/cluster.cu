// Thread block clusters: sizes fixed by the kernel, by its attributes, by the launch and in a graph; sums and
// a histogram in distributed shared memory. Says how much it launched, for probes that count.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kThreads = 96, kBins = 120;

// out[i] = the sum of the values at i's place in all blocks of its cluster.
__device__ void sum_cluster(const int *in, int *out) {
  __shared__ int mine[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  mine[threadIdx.x] = in[i];
  cluster.sync();
  int sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
    sum += cluster.map_shared_rank(mine, rank)[threadIdx.x];
  cluster.sync();  // nobody leaves while its memory is read
  out[i] = sum;
}
__global__ void __cluster_dims__(2, 1, 1) sum_pairs(const int *in, int *out) { sum_cluster(in, out); }
__global__ void sum_any(const int *in, int *out) { sum_cluster(in, out); }
__global__ void sum_set(const int *in, int *out) { sum_cluster(in, out); }

// The bins are dealt out to the blocks of a cluster; all count in all of them.
__global__ void count_bins(const int *in, int count, int *bins) {
  extern __shared__ int mine[];
  const cg::cluster_group cluster = cg::this_cluster();
  const int each = kBins / static_cast<int>(cluster.num_blocks()), thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < each; i += kThreads) mine[i] = 0;
  cluster.sync();
  for (int i = static_cast<int>(blockIdx.x) * kThreads + thread; i < count;
       i += kThreads * static_cast<int>(gridDim.x)) {
    const int bin = in[i] % kBins;
    atomicAdd(cluster.map_shared_rank(mine, static_cast<unsigned>(bin / each)) + bin % each, 1);
  }
  cluster.sync();
  const int first = static_cast<int>(cluster.block_rank()) * each;
  for (int i = thread; i < each; i += kThreads) atomicAdd(bins + first + i, mine[i]);
}

int launches = 0, launched_blocks = 0;
void note(int blocks, int times = 1) {
  launches += times;
  launched_blocks += blocks * times;
}

void check_sums(const std::vector<int> &in, const std::vector<int> &out, int blocks, int cluster) {
  for (int i = 0; i < blocks * kThreads; ++i) {
    const int first = i / kThreads / cluster * cluster;
    int sum = 0;
    for (int rank = 0; rank < cluster; ++rank) sum += in[(first + rank) * kThreads + i % kThreads];
    CHECK(out[i] == sum);
  }
}

struct Config {
  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
  Config(int blocks, unsigned cluster, cudaStream_t stream) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
};

int main() {
  constexpr int kBlocks = 24;
  Sequence sequence;
  std::vector<int> in(kBlocks * kThreads);
  for (int &value : in) value = sequence.next() >> 16;
  const DeviceArray<int> from(in), to(in.size()), bins(std::vector<int>(kBins, 0));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));

  sum_pairs<<<kBlocks, kThreads>>>(from.data, to.data);
  note(kBlocks);
  check_sums(in, to.read(), kBlocks, 2);
  sum_pairs<<<kBlocks - 1, kThreads>>>(from.data, to.data);  // not whole clusters
  CHECK(cudaGetLastError() != cudaSuccess);

  CUDA(cudaFuncSetAttribute(sum_set, cudaFuncAttributeRequiredClusterWidth, 4));
  CUDA(cudaFuncSetAttribute(sum_set, cudaFuncAttributeRequiredClusterHeight, 1));
  CUDA(cudaFuncSetAttribute(sum_set, cudaFuncAttributeRequiredClusterDepth, 1));
  sum_set<<<kBlocks, kThreads>>>(from.data, to.data);
  note(kBlocks);
  check_sums(in, to.read(), kBlocks, 4);

  for (unsigned cluster : {1u, 3u, 8u}) {
    const Config by_launch(kBlocks, cluster, stream);
    CUDA(cudaLaunchKernelEx(&by_launch.config, sum_any, static_cast<const int *>(from.data), to.data));
    note(kBlocks);
    CUDA(cudaStreamSynchronize(stream));
    check_sums(in, to.read(), kBlocks, static_cast<int>(cluster));
  }
  CUDA(cudaFuncSetAttribute(sum_any, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const Config large(16, 16, stream);
  CUDA(cudaLaunchKernelEx(&large.config, sum_any, static_cast<const int *>(from.data), to.data));
  note(16);
  CUDA(cudaStreamSynchronize(stream));
  check_sums(in, to.read(), 16, 16);

  // In a graph, three times.
  Config counting(8, 4, stream);
  counting.config.dynamicSmemBytes = kBins / 4 * sizeof(int);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaLaunchKernelEx(&counting.config, count_bins, static_cast<const int *>(from.data),
                          static_cast<int>(in.size()), bins.data));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA(cudaGraphLaunch(exec, stream));
  note(8, 3);
  CUDA(cudaStreamSynchronize(stream));
  std::vector<int> expected(kBins, 0);
  for (int value : in) expected[value % kBins] += 3;
  CHECK(bins.read() == expected);

  std::printf("launches %d blocks %d threads %d\n", launches, launched_blocks, launched_blocks * kThreads);
  return verdict();
}
