// gpu.h over the CUDA driver API: libcuda.so.1 by dlopen, kernels from the PTX text that ptx.S
// embeds. No header of NVIDIA's is needed: the few types are handles and numbers.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "gpu.h"

extern "C" const char example_ptx[];

namespace gpu {
namespace {

using Status = int;  // CUresult
using Handle = void *;
using Address = unsigned long long;  // CUdeviceptr

struct LaunchConfig {  // CUlaunchConfig of cuda.h
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Handle stream;
  void *attributes;
  unsigned attribute_count;
};

void *library = nullptr;

void *resolve(const char *name) {
  void *address = dlsym(library, name);
  if (!address) fail("libcuda.so.1: no %s", name);
  return address;
}

// Calls a driver function by name: looked up once per call site's type and name.
template <class... Arguments>
Status raw(const char *name, Arguments... arguments) {
  return reinterpret_cast<Status (*)(Arguments...)>(resolve(name))(arguments...);
}

void check(const char *what, Status status) {
  if (status == 0) return;
  const char *text = nullptr;
  raw("cuGetErrorName", status, &text);
  fail("%s: error %d (%s)", what, status, text ? text : "unknown");
}

template <class... Arguments>
void call(const char *name, Arguments... arguments) {
  check(name, raw(name, arguments...));
}

Handle context = nullptr, module = nullptr;  // the module is a CUlibrary with --api library
using LaunchKernel = Status (*)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                Handle, void **, void **);
using LaunchCooperative = Status (*)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, Handle, void **);
using LaunchEx = Status (*)(const LaunchConfig *, Handle, void **, void **);

bool uses_library() { return example::common().api == "library"; }

Handle kernel_named(const char *name) {
  static std::mutex mutex;
  static std::map<std::string, Handle> kernels;
  const std::lock_guard lock(mutex);
  Handle &kernel = kernels[name];
  if (!kernel) call(uses_library() ? "cuLibraryGetKernel" : "cuModuleGetFunction", &kernel, module, name);
  return kernel;
}

Address address_of(const void *pointer) { return reinterpret_cast<Address>(pointer); }

Address variable(const char *name, size_t size_bytes) {
  Address address = 0;
  size_t has_bytes = 0;
  call(uses_library() ? "cuLibraryGetGlobal" : "cuModuleGetGlobal_v2", &address, &has_bytes, module, name);
  if (has_bytes < size_bytes) fail("%s: has %zu bytes", name, has_bytes);
  return address;
}

}  // namespace

void start() {
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail("no CUDA driver: %s", dlerror());
  int device = 0;
  call("cuInit", 0u);
  call("cuDeviceGet", &device, 0);
  call("cuDevicePrimaryCtxRetain", &context, device);
  enter_thread();
  const void *image = example_ptx;
  Handle none = nullptr;
  if (uses_library())
    call("cuLibraryLoadData", &module, image, none, none, 0u, none, none, 0u);
  else
    call("cuModuleLoadData", &module, image);
}

void enter_thread() { call("cuCtxSetCurrent", context); }

void *allocate(size_t size_bytes) {
  Address address = 0;
  call("cuMemAlloc_v2", &address, size_bytes ? size_bytes : 1);
  return reinterpret_cast<void *>(address);
}
void release(void *address) { call("cuMemFree_v2", address_of(address)); }
void upload(void *to, const void *from, size_t size_bytes) {
  call("cuMemcpyHtoD_v2", address_of(to), from, size_bytes);
}
void download(void *to, const void *from, size_t size_bytes) {
  call("cuMemcpyDtoH_v2", to, address_of(from), size_bytes);
}
void clear(void *to, size_t size_bytes) {
  call("cuMemsetD8_v2", address_of(to), static_cast<unsigned char>(0), size_bytes);
}

Stream create_stream() {
  Handle stream = nullptr;
  call("cuStreamCreate", &stream, 1u);  // CU_STREAM_NON_BLOCKING
  return stream;
}
void destroy_stream(Stream stream) { call("cuStreamDestroy_v2", stream); }
void synchronize(Stream stream) { call("cuStreamSynchronize", stream); }
void synchronize_all() { call("cuCtxSynchronize"); }

void begin_capture(Stream stream) { call("cuStreamBeginCapture_v2", stream, 0); }
Graph end_capture(Stream stream) {
  Handle graph = nullptr, executable = nullptr;
  call("cuStreamEndCapture", stream, &graph);
  call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  call("cuGraphDestroy", graph);
  return executable;
}
void launch_graph(Graph graph, Stream stream) { call("cuGraphLaunch", graph, stream); }
void destroy_graph(Graph graph) { call("cuGraphExecDestroy", graph); }

void check_launch(const char *) {}

void launch_packed(const char *name, const Config &config, void **arguments) {
  const Handle kernel = kernel_named(name);
  const auto &[grid, block, shared_bytes, stream] = config;
  const std::string &way = example::common().launch;
  if (way == "plain" || way == "per-thread") {
    static const auto launch =
        reinterpret_cast<LaunchKernel>(resolve(way == "plain" ? "cuLaunchKernel" : "cuLaunchKernel_ptsz"));
    check("cuLaunchKernel", launch(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes,
                                   stream, arguments, nullptr));
  } else if (way == "cooperative") {
    static const auto launch = reinterpret_cast<LaunchCooperative>(resolve("cuLaunchCooperativeKernel"));
    check("cuLaunchCooperativeKernel",
          launch(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, stream, arguments));
  } else if (way == "ex") {
    static const auto launch = reinterpret_cast<LaunchEx>(resolve("cuLaunchKernelEx"));
    const LaunchConfig all{grid.x,  grid.y,       grid.z, block.x, block.y,
                           block.z, shared_bytes, stream, nullptr, 0};
    check("cuLaunchKernelEx", launch(&all, kernel, arguments, nullptr));
  } else {
    fail("--launch: unknown way");
  }
}

void write_variable(const char *name, const void *from, size_t size_bytes) {
  call("cuMemcpyHtoD_v2", variable(name, size_bytes), from, size_bytes);
}
void read_variable(const char *name, void *to, size_t size_bytes) {
  call("cuMemcpyDtoH_v2", to, variable(name, size_bytes), size_bytes);
}

}  // namespace gpu
