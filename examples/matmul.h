// Host side of matmul. The numbers are small multiples of powers of two, so that every product
// and sum is exact in a float and the check needs no tolerance.
#pragma once
#include <cstdio>

#include "common/example.h"

namespace {

struct MatmulOptions {
  int64_t launches = 3, size = 50;
};

constexpr int64_t kTileSize = 16;
constexpr float kScale[4] = {1.0f, 0.5f, 2.0f, -0.25f}, kBias[2] = {0.5f, 0.25f};

bool right(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c, size_t n) {
  for (size_t row = 0; row < n; ++row)
    for (size_t column = 0; column < n; ++column) {
      float sum = 0;
      for (size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
      const float expected = sum * kScale[(row + column) % 4] + kBias[row % 2], got = c[row * n + column];
      if (got == expected) continue;
      std::printf("c[%zu][%zu] is %g, not %g\n", row, column, static_cast<double>(got),
                  static_cast<double>(expected));
      return false;
    }
  return true;
}

bool matmul_once(const MatmulOptions &options, uint64_t seed) {
  const auto n = static_cast<size_t>(options.size);
  std::vector<float> a(n * n), b(n * n);
  example::Random random(seed);
  for (float &value : a) value = static_cast<float>(static_cast<int>(random.below(33)) - 16) / 4;
  for (float &value : b) value = static_cast<float>(static_cast<int>(random.below(33)) - 16) / 4;
  example::Buffer<float> device_a(a.size()), device_b(b.size()), device_c(a.size());
  device_a.upload(a);
  device_b.upload(b);
  const unsigned no_launches = 0, no_blocks[64] = {};
  GPU_WRITE(scale, kScale);
  GPU_WRITE(launches, no_launches);
  GPU_WRITE(blocks_done, no_blocks);

  gpu::Config config;
  config.grid.x = config.grid.y = static_cast<unsigned>((options.size + kTileSize - 1) / kTileSize);
  config.block.x = config.block.y = kTileSize;
  const uint64_t elements = n * n, loads = elements * config.grid.x + elements * config.grid.y + 1,
                 stores = elements + 1;
  for (int64_t i = 0; i < options.launches; ++i) {
    device_c.clear();
    const float *from_a = device_a.data(), *from_b = device_b.data();
    float *to = device_c.data();
    const int size = static_cast<int>(n);
    GPU_LAUNCH(matmul, "matmul", config, from_a, from_b, to, size);
    example::count("matmul", config);
    example::count_accesses("matmul", loads, stores, 4 * (loads + stores));
    gpu::synchronize_all();
    const std::vector<float> c = device_c.download();
    example::dump(c.data(), c.size() * sizeof(float));
    if (!right(a, b, c, n)) return false;
  }
  unsigned launched = 0, done[64];
  GPU_READ(launches, launched);
  GPU_READ(blocks_done, done);
  example::dump(&launched, sizeof launched);
  example::dump(done, sizeof done);
  unsigned expected[64] = {};
  for (unsigned row = 0; row < config.grid.y; ++row)
    expected[row % 64] += config.grid.x * static_cast<unsigned>(options.launches);
  bool passed = launched == static_cast<unsigned>(options.launches);
  for (int i = 0; i < 64; ++i) passed = passed && done[i] == expected[i];
  if (!passed)
    std::printf("the kernel's own counters are wrong: %u launches, %u blocks in row 0\n", launched, done[0]);
  return passed;
}

}  // namespace

int main(int argc, char **argv) {
  MatmulOptions options;
  example::parse(argc, argv,
                 "Tiled matrix product with __device__ and __constant__ variables; blocks are 16 x 16.",
                 {{"--launches", "launches, one after the other", &options.launches},
                  {"--size", "rows and columns of the matrices", &options.size}});
  if (options.launches < 1 || options.size < 1 || options.size > 4096) gpu::fail("options out of range");
  gpu::start();
  bool passed = true;
  for (int64_t i = 0; i < example::common().repeat; ++i)
    passed = matmul_once(options, static_cast<uint64_t>(example::common().seed + i)) && passed;
  return example::finish("matmul", passed);
}
