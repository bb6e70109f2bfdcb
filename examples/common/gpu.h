// What the examples need of CUDA, so that their host side is written once.
//
// Two implementations: gpu_runtime.cu over the CUDA runtime (nvcc builds), gpu_driver.cc over
// the driver API by dlopen and PTX text that is embedded in the program. Pointers are device
// addresses. Every failure prints "FAIL ..." and ends the program with status 1.
#pragma once
#include <cstddef>
#include <cstdint>

#include "options.h"

namespace gpu {

using Stream = void *;  // a CUstream; null: the default stream
using Graph = void *;   // an executable graph

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};
struct Config {
  Dim grid, block;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
};

void start();         // once, before all else
void enter_thread();  // once in every other thread
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *allocate(size_t size_bytes);
void release(void *address);
void upload(void *to, const void *from, size_t size_bytes);
void download(void *to, const void *from, size_t size_bytes);
void clear(void *to, size_t size_bytes);

Stream create_stream();
void destroy_stream(Stream stream);
void synchronize(Stream stream);
void synchronize_all();

void begin_capture(Stream stream);
Graph end_capture(Stream stream);
void launch_graph(Graph graph, Stream stream);
void destroy_graph(Graph graph);

void check_launch(const char *kernel);                                           // runtime only
void launch_packed(const char *kernel, const Config &config, void **arguments);  // driver only
void write_variable(const char *name, const void *from, size_t size_bytes);      // driver only
void read_variable(const char *name, void *to, size_t size_bytes);               // driver only

template <class... Arguments>
void launch(const char *kernel, const Config &config, Arguments... arguments) {
  void *addresses[] = {static_cast<void *>(&arguments)...};
  launch_packed(kernel, config, addresses);
}

}  // namespace gpu

// GPU_LAUNCH(kernel, "its PTX name", config, arguments): arguments have the kernel's types exactly.
// GPU_WRITE / GPU_READ(variable, host array): a __device__ or __constant__ variable.
#ifdef __CUDACC__
#  define GPU_LAUNCH(kernel, name, config, ...)                                                   \
    do {                                                                                          \
      kernel<<<dim3((config).grid.x, (config).grid.y, (config).grid.z),                           \
               dim3((config).block.x, (config).block.y, (config).block.z), (config).shared_bytes, \
               static_cast<cudaStream_t>((config).stream)>>>(__VA_ARGS__);                        \
      gpu::check_launch(name);                                                                    \
    } while (0)
#  define GPU_WRITE(variable, from)                                               \
    (cudaMemcpyToSymbol(variable, &(from), sizeof(from)) == cudaSuccess ? (void)0 \
                                                                        : gpu::fail("write " #variable))
#  define GPU_READ(variable, to)                                                \
    (cudaMemcpyFromSymbol(&(to), variable, sizeof(to)) == cudaSuccess ? (void)0 \
                                                                      : gpu::fail("read " #variable))
#else
#  define GPU_LAUNCH(kernel, name, config, ...) gpu::launch(name, config, __VA_ARGS__)
#  define GPU_WRITE(variable, from) gpu::write_variable(#variable, &(from), sizeof(from))
#  define GPU_READ(variable, to) gpu::read_variable(#variable, &(to), sizeof(to))
#endif
