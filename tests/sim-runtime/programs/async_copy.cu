// Copies from global to shared memory that threads do not wait for: cuda::memcpy_async into a cuda::barrier
// (a bulk copy on sm_90) and into a cuda::pipeline of two stages, cooperative_groups::memcpy_async, and the
// bulk instructions of cuda::ptx both ways. Each kernel sums neighbours in its block's tile.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kThreads = 128, kTiles = 3, kBlocks = 7;
constexpr int kTileBytes = kThreads * sizeof(int), kCount = kBlocks * kTiles * kThreads;

__device__ int neighbours(const int *tile) {
  return tile[threadIdx.x] + 2 * tile[(threadIdx.x + 1) % kThreads] + 3 * tile[(threadIdx.x + 17) % kThreads];
}

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void by_barrier(const int *in, int *out) {
  __shared__ alignas(16) int tile[kThreads];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  for (int t = 0; t < kTiles; ++t) {
    const int first = (blockIdx.x * kTiles + t) * kThreads;
    cuda::memcpy_async(cg::this_thread_block(), tile, in + first, cuda::aligned_size_t<16>(kTileBytes),
                       barrier);
    barrier.arrive_and_wait();
    out[first + threadIdx.x] = neighbours(tile);
    __syncthreads();
  }
}

__global__ void by_pipeline(const int *in, int *out) {
  __shared__ alignas(16) int tiles[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipeline = cuda::make_pipeline(cg::this_thread_block(), &state);
  const int first = blockIdx.x * kTiles * kThreads, i = threadIdx.x;
  const auto fetch = [&](int t) {
    pipeline.producer_acquire();
    cuda::memcpy_async(&tiles[t % 2][i], in + first + t * kThreads + i, sizeof(int), pipeline);
    pipeline.producer_commit();
  };
  fetch(0);
  for (int t = 0; t < kTiles; ++t) {
    if (t + 1 < kTiles) fetch(t + 1);
    pipeline.consumer_wait();
    out[first + t * kThreads + i] = neighbours(tiles[t % 2]);
    pipeline.consumer_release();
  }
}

__global__ void by_group(const int *in, int *out) {
  __shared__ alignas(16) int tile[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  for (int t = 0; t < kTiles; ++t) {
    const int first = (blockIdx.x * kTiles + t) * kThreads;
    cg::memcpy_async(block, tile, in + first, size_t{kTileBytes});
    cg::wait(block);
    out[first + threadIdx.x] = neighbours(tile);
    block.sync();
  }
}

__global__ void by_bulk(const int *in, int *out, int *total) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(16) int tile[kThreads], sums[kThreads];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 1);
  __syncthreads();
  for (int t = 0; t < kTiles; ++t) {
    const int first = (blockIdx.x * kTiles + t) * kThreads;
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + first, kTileBytes, &barrier);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                     kTileBytes);
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, t % 2)) {
    }
    sums[threadIdx.x] = neighbours(tile);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + first, sums, kTileBytes);
      ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, total, sums, kTileBytes);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
}

int main() {
  Sequence random;
  std::vector<int> in(kCount), expected(kCount), total(kThreads, 0);
  for (int &value : in) value = random.next() >> 12;
  for (int i = 0; i < kCount; ++i) {
    const int *tile = in.data() + i / kThreads * kThreads, t = i % kThreads;
    expected[i] = tile[t] + 2 * tile[(t + 1) % kThreads] + 3 * tile[(t + 17) % kThreads];
    total[t] += expected[i];
  }
  const DeviceArray<int> from(in), sums(std::vector<int>(kThreads, 0));
  const auto run = [&](auto &&launch) {
    const DeviceArray<int> to(std::vector<int>(kCount, 0));
    launch(to.data);
    CHECK(to.read() == expected);
  };
  run([&](int *to) { by_barrier<<<kBlocks, kThreads>>>(from.data, to); });
  run([&](int *to) { by_pipeline<<<kBlocks, kThreads>>>(from.data, to); });
  run([&](int *to) { by_group<<<kBlocks, kThreads>>>(from.data, to); });
  run([&](int *to) { by_bulk<<<kBlocks, kThreads>>>(from.data, to, sums.data); });
  CHECK(sums.read() == total);
  return verdict();
}
