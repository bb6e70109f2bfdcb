// Host side of vecadd_loop: kernels of about 1 ms, one after the other, until time is up or
// SIGTERM or SIGINT comes. At the end it says how long the longest launch-to-launch time was:
// what an attach must not lengthen.
#pragma once
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "common/example.h"

namespace {

volatile std::sig_atomic_t stopped = 0;
void stop(int) { stopped = 1; }

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

struct LoopOptions {
  int64_t seconds = 0, threads = 1, blocks = 7, rounds = 0, launches = 0, kernel_us = 1000;
  bool check = false;
};

// One host thread's loop: its own stream and memory.
struct Loop {
  const LoopOptions &options;
  uint64_t seed;
  uint64_t launches = 0, wrong = 0;
  double worst_ms = 0, sum_ms = 0;

  static gpu::Config config(const LoopOptions &options) {
    gpu::Config config;
    config.grid.x = static_cast<unsigned>(options.blocks);
    config.block.x = static_cast<unsigned>(example::common().block);
    return config;
  }

  void run(int rounds, Clock::time_point end) {
    gpu::enter_thread();
    gpu::Config launch = config(options);
    launch.stream = gpu::create_stream();
    const int n = static_cast<int>(options.blocks * example::common().block);
    std::vector<float> a(static_cast<size_t>(n)), b(static_cast<size_t>(n));
    example::Random random(seed);
    for (float &value : a) value = static_cast<float>(random.below(512));
    for (float &value : b) value = static_cast<float>(random.below(512));
    const example::Buffer<float> c(a.size());
    example::Buffer<float> device_a(a.size()), device_b(a.size());
    device_a.upload(a);
    device_b.upload(b);
    Clock::time_point last = Clock::now();
    while (!stopped && last < end &&
           (!options.launches || launches < static_cast<uint64_t>(options.launches))) {
      const float *from_a = device_a.data(), *from_b = device_b.data();
      float *to = c.data();
      GPU_LAUNCH(vecadd_loop, "vecadd_loop", launch, from_a, from_b, to, n, rounds);
      gpu::synchronize(launch.stream);
      const Clock::time_point now = Clock::now();
      worst_ms = std::max(worst_ms, milliseconds(now - last));
      sum_ms += milliseconds(now - last);
      last = now;
      ++launches;
      if (options.check) {
        wrong += !right(a, b, c.download(), rounds);
        last = Clock::now();  // the check's time is not the launch's
      }
    }
    const std::vector<float> result = c.download();
    if (launches) wrong += !right(a, b, result, rounds);
    example::dump(result.data(), result.size() * sizeof(float));
    gpu::destroy_stream(launch.stream);
  }

  static bool right(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c,
                    int rounds) {
    for (size_t i = 0; i < a.size(); ++i) {
      const float sum = a[i] + b[i];
      if (c[i] != (rounds % 2 ? 1023.0f - sum : sum)) return false;
    }
    return true;
  }
};

// How many rounds make a kernel of the time wanted? Doubles until it takes a quarter of it, and scales.
int calibrate(const LoopOptions &options, uint64_t *launches) {
  const gpu::Config launch = Loop::config(options);
  const int n = static_cast<int>(options.blocks * example::common().block);
  const example::Buffer<float> c(static_cast<size_t>(n));
  example::Buffer<float> a(static_cast<size_t>(n));
  a.clear();
  const double wanted_ms = static_cast<double>(options.kernel_us) / 1000;
  for (int rounds = 16;; rounds *= 2) {
    const float *from = a.data();
    float *to = c.data();
    const Clock::time_point begin = Clock::now();
    GPU_LAUNCH(vecadd_loop, "vecadd_loop", launch, from, from, to, n, rounds);
    gpu::synchronize_all();
    const double ms = milliseconds(Clock::now() - begin);
    ++*launches;
    if (*launches > 1 && (ms > wanted_ms / 4 || rounds > (1 << 28)))  // the first one pays for loading
      return std::max(1, static_cast<int>(rounds * std::min(wanted_ms / ms, 4.0)));
  }
}

}  // namespace

int main(int argc, char **argv) {
  LoopOptions options;
  example::parse(
      argc, argv, "Launches of about 1 ms in a loop, until --seconds, --launches, SIGTERM or SIGINT.",
      {{"--seconds", "stop after so many seconds; 0: at the signal", &options.seconds},
       {"--launches", "stop after so many launches per thread; 0: no limit", &options.launches},
       {"--threads", "host threads, each with its own stream", &options.threads},
       {"--blocks", "blocks of a launch", &options.blocks},
       {"--kernel-us", "time of a kernel that is aimed at", &options.kernel_us},
       {"--rounds", "loop rounds of a kernel; 0: try out how many give --kernel-us", &options.rounds},
       {"--check", "check the result of every launch, not only of the last", nullptr, nullptr,
        &options.check}});
  if (options.threads < 1 || options.blocks < 1 || options.blocks > 65535 || options.kernel_us < 1 ||
      options.rounds < 0 || options.rounds > (1 << 30))
    gpu::fail("options out of range");
  std::signal(SIGTERM, stop);
  std::signal(SIGINT, stop);
  gpu::start();
  bool passed = true;
  for (int64_t repeat = 0; repeat < example::common().repeat; ++repeat) {
    uint64_t launches = 0;
    const int rounds = options.rounds ? static_cast<int>(options.rounds) : calibrate(options, &launches);
    std::printf("ready: rounds %d\n", rounds);
    std::fflush(stdout);
    const Clock::time_point end =
        options.seconds ? Clock::now() + std::chrono::seconds(options.seconds) : Clock::time_point::max();
    std::vector<Loop> loops;
    for (int64_t t = 0; t < options.threads; ++t)
      loops.push_back({options, static_cast<uint64_t>(example::common().seed + t)});
    std::vector<std::thread> threads;
    for (Loop &loop : loops) threads.emplace_back([&loop, rounds, end] { loop.run(rounds, end); });
    for (std::thread &thread : threads) thread.join();
    double worst_ms = 0, sum_ms = 0;
    uint64_t looped = 0;
    for (const Loop &loop : loops) {
      worst_ms = std::max(worst_ms, loop.worst_ms);
      sum_ms += loop.sum_ms;
      looped += loop.launches;
      passed = passed && loop.wrong == 0;
    }
    example::count("vecadd_loop", Loop::config(options), launches + looped);
    std::printf("launches %llu, launch to launch: mean %.3f ms, worst %.3f ms\n",
                static_cast<unsigned long long>(looped), looped ? sum_ms / static_cast<double>(looped) : 0.0,
                worst_ms);
  }
  return example::finish("vecadd_loop", passed);
}
