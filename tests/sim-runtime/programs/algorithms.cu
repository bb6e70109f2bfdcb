// CUB and Thrust, as the toolkit ships them.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>

#include "check.h"

struct Square {
  __host__ __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
};

int main() {
  const int n = 3001;
  Sequence random;
  std::vector<int> in(n);
  for (int &value : in) value = static_cast<int>(random.next()) / 65536;
  DeviceArray<int> din(in), sorted(n), sum(1);

  size_t bytes = 0;
  CUDA(cub::DeviceReduce::Sum(nullptr, bytes, din.data, sum.data, n));
  DeviceArray<char> reduce_space(bytes);
  CUDA(cub::DeviceReduce::Sum(reduce_space.data, bytes, din.data, sum.data, n));
  CHECK(sum.read()[0] == std::accumulate(in.begin(), in.end(), 0));

  CUDA(cub::DeviceScan::InclusiveSum(nullptr, bytes, din.data, sorted.data, n));
  DeviceArray<char> scan_space(bytes);
  CUDA(cub::DeviceScan::InclusiveSum(scan_space.data, bytes, din.data, sorted.data, n));
  std::vector<int> expected(n);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  CHECK(sorted.read() == expected);
  record(sorted.read());

  CUDA(cub::DeviceRadixSort::SortKeys(nullptr, bytes, din.data, sorted.data, n));
  DeviceArray<char> sort_space(bytes);
  CUDA(cub::DeviceRadixSort::SortKeys(sort_space.data, bytes, din.data, sorted.data, n));
  expected = in;
  std::sort(expected.begin(), expected.end());
  CHECK(sorted.read() == expected);
  record(sorted.read());

  const thrust::device_vector<int> values(in.begin(), in.end());
  long long squares = 0;
  for (int value : in) squares += static_cast<long long>(value) * value;
  CHECK(thrust::transform_reduce(values.begin(), values.end(), Square{}, 0ll, thrust::plus<long long>{}) ==
        squares);
  return verdict();
}
