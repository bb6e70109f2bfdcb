// Host side of diverge: both kernels against the same computation on the CPU.
#pragma once
#include <cstdio>

#include "common/example.h"

namespace {

struct DivergeOptions {
  int64_t launches = 3, blocks = 7, size = 0;
};

unsigned collatz(unsigned value) {
  if (value == 0) return 0xffffffffu;
  unsigned count = 0;
  for (; value != 1; ++count) {
    const bool odd = value & 1;
    value = odd ? 3 * value + 1 : value / 2;
    if (odd && value % 5 == 0) count += 0x10000u;
  }
  return count;
}

unsigned mixed(unsigned x, unsigned rounds) {
  while (rounds-- > 0) x = x * 1664525u + 1013904223u;
  return x;
}

// What diverge_switch stores; the case x % 5 == 4 stores nothing.
unsigned switched(unsigned x) {
  switch (x % 5) {
    case 0:
      return mixed(x, 1);
    case 1:
      return mixed(x, x % 7) ^ x;
    case 2:
      return x * x;
    case 3:
      return x % 11 * (x % 11 - 1) / 2 * x;
    default:
      return 0;
  }
}

bool diverge_once(const DivergeOptions &options, int n, uint64_t seed) {
  std::vector<unsigned> start(static_cast<size_t>(n));
  example::Random random(seed);
  for (unsigned &value : start) value = random.below(2003);
  uint64_t switch_stores = 0;
  for (unsigned value : start) switch_stores += value % 5 != 4;
  example::Buffer<unsigned> device_start(start.size()), steps(start.size()), out(start.size());
  device_start.upload(start);

  gpu::Config config, strided;
  config.grid.x = static_cast<unsigned>(options.blocks);
  strided.grid.x = (config.grid.x + 1) / 2;  // its threads take more than one number each
  config.block.x = strided.block.x = static_cast<unsigned>(example::common().block);
  const auto count = static_cast<uint64_t>(n);
  for (int64_t i = 0; i < options.launches; ++i) {
    steps.clear();
    out.clear();
    const unsigned *from = device_start.data();
    unsigned *to = steps.data();
    GPU_LAUNCH(diverge, "diverge", config, from, to, n);
    example::count("diverge", config);
    example::count_accesses("diverge", count, count, 8 * count);
    to = out.data();
    GPU_LAUNCH(diverge_switch, "diverge_switch", strided, from, to, n);
    example::count("diverge_switch", strided);
    example::count_accesses("diverge_switch", count, switch_stores, 4 * (count + switch_stores));
    gpu::synchronize_all();
    const std::vector<unsigned> got_steps = steps.download(), got_out = out.download();
    example::dump(got_steps.data(), got_steps.size() * sizeof(unsigned));
    example::dump(got_out.data(), got_out.size() * sizeof(unsigned));
    for (size_t k = 0; k < start.size(); ++k) {
      if (got_steps[k] == collatz(start[k]) && got_out[k] == switched(start[k])) continue;
      std::printf("%u: diverge gives %#x, not %#x; diverge_switch %#x, not %#x\n", start[k], got_steps[k],
                  collatz(start[k]), got_out[k], switched(start[k]));
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  DivergeOptions options;
  example::parse(argc, argv, "Loops and branches that every lane takes its own number of times.",
                 {{"--launches", "launches of each of the two kernels", &options.launches},
                  {"--blocks", "blocks of `diverge`; diverge_switch has half as many", &options.blocks},
                  {"--size", "numbers; 0: nearly all threads of `diverge` have one", &options.size}});
  const int64_t block = example::common().block, capacity = options.blocks * block;
  const int64_t n = options.size ? options.size : capacity - (block > 13 ? 13 : 0);
  if (options.launches < 1 || options.blocks < 1 || options.blocks > 65535 || n < 1 || n > capacity)
    gpu::fail("options out of range (`diverge` takes at most blocks x block = %lld numbers)",
              static_cast<long long>(capacity));
  gpu::start();
  bool passed = true;
  for (int64_t i = 0; i < example::common().repeat; ++i)
    passed = diverge_once(options, static_cast<int>(n), static_cast<uint64_t>(example::common().seed + i)) &&
             passed;
  return example::finish("diverge", passed);
}
