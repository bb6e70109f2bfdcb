// Host side of vecadd: many launches over several streams and host threads, each into its own
// slice of the output, some of them by replaying a captured graph.
#pragma once
#include <thread>

#include "common/example.h"

namespace {

#ifndef VECADD_KERNEL
#  define VECADD_KERNEL "plain"  // vecadd_ns: "ns"
#endif

constexpr const char *kPlain = "vecadd", *kTemplate = "_ZN2ns6vecaddIfLi4EEEvPKT_S3_PS1_i";

struct VecaddOptions {
  int64_t launches = 23, blocks = 7, streams = 3, threads = 2, size = 0, graph = 0;
  std::string kernel = VECADD_KERNEL;
};

struct Vecadd {
  VecaddOptions options;
  int n = 0;
  example::Buffer<float> &a, &b, &c;

  bool is_template(int64_t launch) const {
    return options.kernel == "ns" || (options.kernel == "both" && launch % 2 == 1);
  }
  // The launch's inputs start at its number, so that no two launches compute the same.
  void launch(int64_t number, gpu::Stream stream, uint64_t times) const {
    const float *from_a = a.data() + number, *from_b = b.data();
    float *to = c.data() + number * n;
    gpu::Config config;
    config.grid.x = static_cast<unsigned>(options.blocks);
    config.block.x = static_cast<unsigned>(example::common().block);
    config.stream = stream;
    const uint64_t done = static_cast<uint64_t>(n) * times;
    if (is_template(number)) {
      example::count(kTemplate, config, times);
      example::count_accesses(kTemplate, 2 * done, done, 12 * done);
      GPU_LAUNCH((ns::vecadd<float, 4>), kTemplate, config, from_a, from_b, to, n);
    } else {
      example::count(kPlain, config, times);
      example::count_accesses(kPlain, 2 * done, done, 12 * done);
      GPU_LAUNCH(vecadd, kPlain, config, from_a, from_b, to, n);
    }
  }
};

bool vecadd_once(const VecaddOptions &options, int n, uint64_t seed) {
  const int64_t direct = options.launches - options.graph, slices = direct + (options.graph ? 1 : 0);
  std::vector<float> a(static_cast<size_t>(n + options.launches)), b(static_cast<size_t>(n));
  example::Random random(seed);
  for (float &value : a) value = static_cast<float>(random.below(4096));
  for (float &value : b) value = static_cast<float>(random.below(4096));
  example::Buffer<float> device_a(a.size()), device_b(b.size()), device_c(static_cast<size_t>(slices * n));
  device_a.upload(a);
  device_b.upload(b);
  device_c.clear();
  gpu::synchronize_all();

  std::vector<gpu::Stream> streams;
  for (int64_t i = 0; i < options.streams; ++i) streams.push_back(gpu::create_stream());
  const Vecadd work{options, n, device_a, device_b, device_c};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < options.threads; ++t)
    threads.emplace_back([&, t] {
      gpu::enter_thread();
      for (int64_t l = t; l < direct; l += options.threads)
        work.launch(l, streams[static_cast<size_t>(l % options.streams)], 1);
    });
  for (std::thread &thread : threads) thread.join();
  if (options.graph) {
    gpu::begin_capture(streams[0]);
    work.launch(direct, streams[0], static_cast<uint64_t>(options.graph));
    const gpu::Graph graph = gpu::end_capture(streams[0]);
    for (int64_t i = 0; i < options.graph; ++i) gpu::launch_graph(graph, streams[0]);
    gpu::synchronize(streams[0]);
    gpu::destroy_graph(graph);
  }
  for (gpu::Stream stream : streams) gpu::synchronize(stream);
  for (gpu::Stream stream : streams) gpu::destroy_stream(stream);

  const std::vector<float> c = device_c.download();
  example::dump(c.data(), c.size() * sizeof(float));
  for (int64_t l = 0; l < slices; ++l)
    for (int64_t i = 0; i < n; ++i) {
      const float expected = a[static_cast<size_t>(i + l)] + b[static_cast<size_t>(i)];
      const float got = c[static_cast<size_t>(l * n + i)];
      if (got == expected) continue;
      std::printf("launch %lld: c[%lld] is %g, not %g\n", static_cast<long long>(l),
                  static_cast<long long>(i), static_cast<double>(got), static_cast<double>(expected));
      return false;
    }
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  VecaddOptions options;
  example::parse(argc, argv,
                 "c = a + b, in many small launches. By default the last block has a partial warp.",
                 {{"--launches", "number of launches in all", &options.launches},
                  {"--blocks", "blocks of a launch", &options.blocks},
                  {"--streams", "streams that the launches go round", &options.streams},
                  {"--threads", "host threads that launch", &options.threads},
                  {"--size", "elements added by a launch; 0: nearly all threads have one", &options.size},
                  {"--graph", "so many of the launches replay a captured graph", &options.graph},
                  {"--kernel", "plain, ns (a template in a namespace) or both", nullptr, &options.kernel}});
  const int64_t block = example::common().block, threads = options.blocks * block;
  const int64_t capacity = options.kernel == "ns" ? 4 * threads : threads;
  int64_t n = options.size ? options.size : threads - (block > 13 ? 13 : 0);
  if (options.kernel != "plain" && options.kernel != "ns" && options.kernel != "both")
    gpu::fail("--kernel: unknown");
  if (options.launches < 1 || options.blocks < 1 || options.streams < 1 || options.threads < 1 ||
      options.graph < 0 || options.graph > options.launches || n < 1 || n > capacity ||
      n * options.launches > (int64_t{1} << 30))
    gpu::fail("options out of range (a launch adds at most %lld elements)", static_cast<long long>(capacity));
  gpu::start();
  bool passed = true;
  for (int64_t i = 0; i < example::common().repeat; ++i)
    passed = vecadd_once(options, static_cast<int>(n), static_cast<uint64_t>(example::common().seed + i)) &&
             passed;
  return example::finish(options.kernel == "ns" ? "vecadd_ns" : "vecadd", passed);
}
