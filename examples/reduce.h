// Host side of reduce: sums of unsigned numbers, which are exact in any order.
#pragma once
#include <algorithm>
#include <cstdio>

#include "common/example.h"

namespace {

struct ReduceOptions {
  int64_t launches = 5, blocks = 7, size = 10007;
};

constexpr int64_t kStaticBlock = 128, kStaticPart = 64;  // threads of reduce_static; numbers a block sums

bool reduce_once(const ReduceOptions &options, uint64_t seed) {
  const int n = static_cast<int>(options.size);
  const auto blocks = static_cast<unsigned>(options.blocks),
             block = static_cast<unsigned>(example::common().block);
  std::vector<unsigned> values(static_cast<size_t>(n));
  example::Random random(seed);
  unsigned expected = 0;
  for (unsigned &value : values) expected += value = random.next();
  example::Buffer<unsigned> device_values(values.size()), parts(blocks), total(1);
  device_values.upload(values);

  gpu::Config dynamic, fixed;
  dynamic.grid.x = blocks;
  dynamic.block.x = block;
  dynamic.shared_bytes = block * static_cast<unsigned>(sizeof(unsigned));
  fixed.grid.x = static_cast<unsigned>((n + kStaticPart - 1) / kStaticPart);
  fixed.block.x = kStaticBlock;
  const auto count = static_cast<uint64_t>(n);
  for (int64_t i = 0; i < options.launches; ++i) {
    parts.clear();
    total.clear();
    gpu::synchronize_all();
    const unsigned *from = device_values.data();
    unsigned *to = parts.data();
    GPU_LAUNCH(reduce, "reduce", dynamic, from, to, n);
    example::count("reduce", dynamic);
    example::count_accesses("reduce", count, blocks, 4 * (count + blocks));
    to = total.data();
    GPU_LAUNCH(reduce_static, "reduce_static", fixed, from, to, n);
    example::count("reduce_static", fixed);
    example::count_accesses("reduce_static", count, 0, 4 * count);
    gpu::synchronize_all();
    const std::vector<unsigned> of_blocks = parts.download(), of_all = total.download();
    example::dump(of_blocks.data(), of_blocks.size() * sizeof(unsigned));
    example::dump(of_all.data(), sizeof(unsigned));
    unsigned sum = 0;
    for (unsigned part : of_blocks) sum += part;
    if (sum == expected && of_all[0] == expected) continue;
    std::printf("launch %lld: reduce gives %u, reduce_static %u, not %u\n", static_cast<long long>(i), sum,
                of_all[0], expected);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  ReduceOptions options;
  example::parse(argc, argv, "Sums an array by blocks that use shared memory and whose threads leave early.",
                 {{"--launches", "launches of each of the two kernels", &options.launches},
                  {"--blocks", "blocks of `reduce`", &options.blocks},
                  {"--size", "numbers to sum", &options.size}});
  const int64_t block = example::common().block;
  if (block < 32 || (block & (block - 1))) gpu::fail("--block: not a power of two from 32 to 1024");
  if (options.launches < 1 || options.blocks < 1 || options.blocks > 65535 || options.size < 1 ||
      options.size > (1 << 28))
    gpu::fail("options out of range");
  gpu::start();
  bool passed = true;
  for (int64_t i = 0; i < example::common().repeat; ++i)
    passed = reduce_once(options, static_cast<uint64_t>(example::common().seed + i)) && passed;
  return example::finish("reduce", passed);
}
