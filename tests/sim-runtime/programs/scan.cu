// Exclusive scan: blocks, then their sums, then the offsets.
#include "check.h"

constexpr int kBlock = 256;

__global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *sums, int n) {
  __shared__ unsigned values[2][kBlock];
  const int t = threadIdx.x, i = blockIdx.x * kBlock + t;
  int from = 0;
  values[0][t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < kBlock; step *= 2) {
    values[1 - from][t] = values[from][t] + (t >= step ? values[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (i < n) out[i] = t ? values[from][t - 1] : 0;
  if (t == kBlock - 1 && sums) sums[blockIdx.x] = values[from][t];
}

__global__ void add_offsets(unsigned *out, const unsigned *offsets, int n) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) out[i] += offsets[blockIdx.x];
}

int main() {
  const int n = 40009, blocks = (n + kBlock - 1) / kBlock;
  Sequence random;
  std::vector<unsigned> in(n);
  for (unsigned &value : in) value = random.next() >> 20;
  DeviceArray<unsigned> din(in), out(n), sums(blocks), offsets(blocks);
  scan_blocks<<<blocks, kBlock>>>(din.data, out.data, sums.data, n);
  scan_blocks<<<1, kBlock>>>(sums.data, offsets.data, nullptr, blocks);
  add_offsets<<<blocks, kBlock>>>(out.data, offsets.data, n);
  const auto scanned = out.read();
  unsigned expected = 0;
  for (int i = 0; i < n; ++i) {
    CHECK(scanned[i] == expected);
    expected += in[i];
  }
  record(scanned);
  return verdict();
}
