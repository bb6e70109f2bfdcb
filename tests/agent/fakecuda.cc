#include "tests/agent/fakecuda.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>

using fakecuda::Launch;

// Entry points that the agent hooks: nop, then the implementation `fake_NAME`.
#define HOOKABLE(name)                                                          \
  asm(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name \
      ":\n.byte 0x0f,0x1f,0x84,0x00,0x00,0x00,0x00,0x00\njmp fake_" #name "\n.size " #name ", 16\n")
#define IMPLEMENT extern "C" __attribute__((visibility("hidden"), used)) CUresult
#define EXPORT extern "C" __attribute__((visibility("default"))) CUresult

namespace {

constexpr uint64_t kFunctionMagic = 0xf00d, kKernelMagic = 0xbeef, kDeadMagic = 0xdead;

std::atomic<int> dead_launches{0};

// What a driver frees with its context stays reachable here, or it would count as leaked.
template <class T>
T *keep(T *object) {
  static auto *kept = new std::vector<void *>;
  static std::mutex lock;
  std::lock_guard guard(lock);
  kept->push_back(object);
  return object;
}

struct Module;
struct Library;
struct Function {
  uint64_t magic = kFunctionMagic;
  std::string name;
  Module *module;
  std::vector<size_t> parameter_bytes;
  std::atomic<uint64_t> *counter = nullptr;
  int attributes[16] = {};
  int cache_config = 0;
  std::atomic<uint64_t> launches{0};
  ~Function() { *const_cast<volatile uint64_t *>(&magic) = kDeadMagic; }
};
struct Module {
  std::string text;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<std::string, uint64_t> globals;
  bool patched() const { return text.find("PATCHED") != std::string::npos; }
};
struct Kernel {
  uint64_t magic = kKernelMagic;
  std::string name;
  Library *library;
  std::map<void *, Function *> functions;  // per context
};
struct Library {
  std::string text;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<void *, Module *> modules;
  std::vector<std::unique_ptr<Module>> owned;
};
struct Context {
  int device = 0;
};
struct Stream {
  bool capturing = false;
};
struct Node {
  CUDA_KERNEL_NODE_PARAMS_v2 params;
};
struct Link {
  std::string text;
  char *errors;
};

std::recursive_mutex mutex;
std::vector<Launch> launches;
std::map<std::string, uint64_t> counts;
std::set<Module *> modules;
std::map<uint64_t, size_t> allocations;
std::atomic<bool> busy{false}, broken_capture{false};
std::atomic<int> patched_error{0};
Context primary;
int primary_count = 0;
Function *last_patched_function = nullptr;
thread_local CUcontext current = nullptr;
thread_local int capture_mode = 0;
std::atomic<int> captures{0};

uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

Module *make_module(const std::string &text) {
  auto *module = new Module{text, {}, {}};
  std::regex entry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))"), param(R"(\.param\s+\.(u64|u32|u16|u8))");
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    auto f = std::make_unique<Function>();
    f->name = (*it)[1];
    f->module = module;
    f->attributes[8] = 48 * 1024;
    std::string list = (*it)[2];
    for (std::sregex_iterator p(list.begin(), list.end(), param); p != end; ++p)
      f->parameter_bytes.push_back(std::stoul((*p)[1].str().substr(1)) / 8);
    size_t after = static_cast<size_t>(it->position() + it->length());
    size_t next = text.find(".entry", after), adds = text.find("// adds ", after);
    if (adds < next)
      f->counter = reinterpret_cast<std::atomic<uint64_t> *>(std::stoull(text.substr(adds + 8), nullptr, 0));
    module->functions[f->name] = std::move(f);
  }
  std::regex global(R"(\.global\s+(\w+))");
  for (std::sregex_iterator it(text.begin(), text.end(), global), end; it != end; ++it)
    module->globals[(*it)[1]] = 0x7000 + 16 * module->globals.size();
  std::lock_guard lock(mutex);
  modules.insert(module);
  return module;
}

Function *resolve(CUfunction handle) {
  if (!handle) return nullptr;
  auto *f = reinterpret_cast<Function *>(handle);
  if (f->magic == kFunctionMagic) return f;
  if (f->magic == kDeadMagic) ++dead_launches;
  auto *kernel = reinterpret_cast<Kernel *>(handle);
  if (kernel->magic != kKernelMagic) return nullptr;
  std::lock_guard lock(mutex);
  Library *library = kernel->library;
  Module *&module = library->modules[current];
  if (!module) {
    module = make_module(library->text);
    library->owned.emplace_back(module);
  }
  return module->functions.at(kernel->name).get();
}

// The parameters as the device would see them, from either form.
bool read_parameters(const Function &f, void **params, void **extra, std::vector<uint64_t> *values) {
  const char *buffer = nullptr;
  size_t bytes = 0, offset = 0;
  for (; extra && extra[0]; extra += 2) {
    if (reinterpret_cast<uintptr_t>(extra[0]) == kLaunchParamBufferPointer)
      buffer = static_cast<char *>(extra[1]);
    if (reinterpret_cast<uintptr_t>(extra[0]) == kLaunchParamBufferSize)
      bytes = *static_cast<size_t *>(extra[1]);
  }
  for (size_t i = 0; i < f.parameter_bytes.size(); ++i) {
    size_t size = f.parameter_bytes[i];
    uint64_t value = 0;
    offset = (offset + size - 1) / size * size;
    if (buffer) {
      if (offset + size > bytes) return false;
      memcpy(&value, buffer + offset, size);
    } else {
      if (!params) return false;
      memcpy(&value, params[i], size);
    }
    offset += size;
    values->push_back(value);
  }
  return true;
}

CUresult launch(const char *entry_point, CUfunction handle, unsigned shared, CUstream stream, void **params,
                void **extra, bool cooperative = false) {
  Function *f = resolve(handle);
  if (!f || !current) return kInvalidHandle;
  if (f->module->patched() && patched_error) return patched_error;
  if (shared > static_cast<unsigned>(f->attributes[8])) return kInvalidValue;
  Launch record;
  if (!read_parameters(*f, params, extra, &record.parameters)) return kInvalidValue;
  if (f->name == "egpu_agent_clock") {
    *reinterpret_cast<std::atomic<uint64_t> *>(record.parameters[0]) =
        monotonic_ns() - static_cast<uint64_t>(fakecuda::kClockOffsetNs);
    return 0;
  }
  f->launches.fetch_add(1);
  if (f->counter) f->counter->fetch_add(1);
  auto *s = reinterpret_cast<Stream *>(stream);
  record.captured = reinterpret_cast<uintptr_t>(stream) > 2 && s->capturing;
  record.entry_point = entry_point;
  record.function = f->name;
  record.module_text = f->module->text;
  record.stream = stream;
  record.cooperative = cooperative;
  std::lock_guard lock(mutex);
  if (f->module->patched()) last_patched_function = f;
  ++counts[f->name + (f->module->patched() ? "/patched" : "")];
  if (launches.size() < 10000) launches.push_back(std::move(record));
  return 0;
}

class ControlImplementation final : public fakecuda::Control {
 public:
  std::vector<Launch> launches() override {
    std::lock_guard lock(mutex);
    return ::launches;
  }
  uint64_t launch_count(const char *function, bool patched) override {
    std::lock_guard lock(mutex);
    return counts[std::string(function) + (patched ? "/patched" : "")];
  }
  void reset() override {
    std::lock_guard lock(mutex);
    ::launches.clear();
    counts.clear();
    busy = false;
    patched_error = 0;
    broken_capture = false;
  }
  void set_busy(bool b) override { busy = b; }
  void fail_patched(int error) override { patched_error = error; }
  CUcontext create_context() override { return reinterpret_cast<CUcontext>(new Context); }
  int modules_alive() override {
    std::lock_guard lock(mutex);
    return static_cast<int>(modules.size());
  }
  long device_bytes() override {
    std::lock_guard lock(mutex);
    long total = 0;
    for (auto &[address, bytes] : allocations) total += static_cast<long>(bytes);
    return total;
  }
  int attribute(CUfunction f, int attribute) override { return resolve(f)->attributes[attribute]; }
  int cache_config(CUfunction f) override { return resolve(f)->cache_config; }
  bool capture_was_broken() override { return broken_capture; }
  int dead_function_uses() override { return dead_launches; }
  CUfunction last_patched() override { return reinterpret_cast<CUfunction>(last_patched_function); }
};

std::string image_text(const void *image) {
  const char *text = static_cast<const char *>(image);
  uint32_t magic;
  memcpy(&magic, image, sizeof magic);
  if (magic == 0x466243b1 || magic == 0xba55ed50 || memcmp(image, "\177ELF", 4) == 0)
    return ".entry from_binary()";
  return text;
}

// A call that a global capture elsewhere forbids, unless this thread is relaxed.
void unsafe_call() {
  if (captures > 0 && capture_mode != kCaptureModeRelaxed) broken_capture = true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) fakecuda::Control *fake_control() {
  static ControlImplementation control;
  return &control;
}

// -- Hooked entry points

HOOKABLE(cuLaunchKernel);
IMPLEMENT fake_cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned shared, CUstream stream, void **params, void **extra) {
  return launch("cuLaunchKernel", f, shared, stream, params, extra);
}
HOOKABLE(cuLaunchKernel_ptsz);
IMPLEMENT fake_cuLaunchKernel_ptsz(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned shared, CUstream stream, void **params, void **extra) {
  return launch("cuLaunchKernel_ptsz", f, shared, stream, params, extra);
}
HOOKABLE(cuLaunchKernelEx);
IMPLEMENT fake_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) {
  return launch("cuLaunchKernelEx", f, config->sharedMemBytes, config->hStream, params, extra);
}
HOOKABLE(cuLaunchKernelEx_ptsz);
// Calls another exported entry point, as a driver might: a redirected launch then comes by twice.
IMPLEMENT fake_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params,
                                     void **extra) {
  return cuLaunchKernelEx(config, f, params, extra);
}
HOOKABLE(cuLaunchCooperativeKernel);
IMPLEMENT fake_cuLaunchCooperativeKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned shared, CUstream stream, void **params) {
  return launch("cuLaunchCooperativeKernel", f, shared, stream, params, nullptr, true);
}

HOOKABLE(cuGraphAddKernelNode_v2);
IMPLEMENT fake_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph, const CUgraphNode *, size_t,
                                       const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  CUfunction f = params->func ? params->func : reinterpret_cast<CUfunction>(params->kern);
  CUresult result = launch("cuGraphAddKernelNode_v2", f, params->sharedMemBytes, nullptr,
                           params->kernelParams, params->extra);
  if (result == 0) *node = reinterpret_cast<CUgraphNode>(keep(new Node{*params}));
  return result;
}
HOOKABLE(cuGraphKernelNodeGetParams_v2);
IMPLEMENT fake_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  *params = reinterpret_cast<Node *>(node)->params;
  return 0;
}
HOOKABLE(cuGraphKernelNodeSetParams_v2);
IMPLEMENT fake_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  CUresult result = launch("cuGraphKernelNodeSetParams_v2", params->func, params->sharedMemBytes, nullptr,
                           params->kernelParams, params->extra);
  if (result == 0) reinterpret_cast<Node *>(node)->params = *params;
  return result;
}
HOOKABLE(cuGraphAddNode_v2);
IMPLEMENT fake_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *,
                                 const CUgraphEdgeData *, size_t, CUgraphNodeParams *params) {
  return fake_cuGraphAddKernelNode_v2(node, graph, nullptr, 0, &params->kernel);
}

HOOKABLE(cuStreamBeginCapture_v2);
IMPLEMENT fake_cuStreamBeginCapture_v2(CUstream stream, int) {
  reinterpret_cast<Stream *>(stream)->capturing = true;
  ++captures;
  return 0;
}
HOOKABLE(cuStreamEndCapture);
IMPLEMENT fake_cuStreamEndCapture(CUstream stream, CUgraph *) {
  reinterpret_cast<Stream *>(stream)->capturing = false;
  --captures;
  return broken_capture ? 901 : 0;
}

HOOKABLE(cuModuleLoadData);
IMPLEMENT fake_cuModuleLoadData(CUmodule *module, const void *image) {
  unsafe_call();
  std::string text = image_text(image);
  if (text.find("BROKEN") != std::string::npos) return 218;
  *module = reinterpret_cast<CUmodule>(make_module(text));
  return 0;
}
HOOKABLE(cuModuleLoad);
IMPLEMENT fake_cuModuleLoad(CUmodule *module, const char *) {
  *module = reinterpret_cast<CUmodule>(make_module(".entry from_file()"));
  return 0;
}
HOOKABLE(cuModuleUnload);
IMPLEMENT fake_cuModuleUnload(CUmodule module) {
  unsafe_call();
  std::lock_guard lock(mutex);
  if (!modules.erase(reinterpret_cast<Module *>(module))) return kInvalidHandle;
  delete reinterpret_cast<Module *>(module);
  return 0;
}
HOOKABLE(cuLibraryLoadData);
IMPLEMENT fake_cuLibraryLoadData(CUlibrary *library, const void *code, int *, void **, unsigned, int *,
                                 void **, unsigned) {
  auto *l = new Library;
  l->text = image_text(code);
  std::unique_ptr<Module> names(make_module(l->text));
  modules.erase(names.get());
  for (auto &[name, f] : names->functions) {
    l->kernels[name] = std::make_unique<Kernel>();
    l->kernels[name]->name = name;
    l->kernels[name]->library = l;
  }
  *library = reinterpret_cast<CUlibrary>(l);
  return 0;
}
HOOKABLE(cuLibraryUnload);
IMPLEMENT fake_cuLibraryUnload(CUlibrary library) {
  std::lock_guard lock(mutex);
  for (auto &m : reinterpret_cast<Library *>(library)->owned) modules.erase(m.get());
  delete reinterpret_cast<Library *>(library);
  return 0;
}
HOOKABLE(cuFuncSetAttribute);
IMPLEMENT fake_cuFuncSetAttribute(CUfunction f, int attribute, int value) {
  Function *function = resolve(f);
  if (!function || attribute > 15) return kInvalidHandle;
  function->attributes[attribute] = value;
  return 0;
}
HOOKABLE(cuFuncSetCacheConfig);
IMPLEMENT fake_cuFuncSetCacheConfig(CUfunction f, int config) {
  resolve(f)->cache_config = config;
  return 0;
}
HOOKABLE(cuKernelSetAttribute);
IMPLEMENT fake_cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice) {
  return fake_cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}
HOOKABLE(cuCtxDestroy_v2);
IMPLEMENT fake_cuCtxDestroy_v2(CUcontext context) {
  delete reinterpret_cast<Context *>(context);
  if (current == context) current = nullptr;
  return 0;
}
HOOKABLE(cuDevicePrimaryCtxRelease_v2);
IMPLEMENT fake_cuDevicePrimaryCtxRelease_v2(CUdevice) {
  std::lock_guard lock(mutex);
  if (primary_count == 0) return kInvalidContext;
  --primary_count;
  return 0;
}

// -- Others

EXPORT cuInit(unsigned) {
  // As the real one does (facts.md, section 1).
  const char *path = getenv("CUDA_INJECTION64_PATH");
  if (!path) return 0;
  void *library = dlopen(path, RTLD_NOW);
  if (!library) return 0;
  auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize) initialize();
  return 0;
}
EXPORT cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  auto *l = reinterpret_cast<Library *>(library);
  if (!l->kernels.count(name)) return kNotFound;
  *kernel = reinterpret_cast<CUkernel>(l->kernels[name].get());
  return 0;
}
EXPORT cuGraphCreate(CUgraph *graph, unsigned) {
  *graph = reinterpret_cast<CUgraph>(uintptr_t{0x6000});
  return 0;
}
HOOKABLE(cuLibraryGetModule);
IMPLEMENT fake_cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  auto *l = reinterpret_cast<Library *>(library);
  resolve(reinterpret_cast<CUfunction>(l->kernels.begin()->second.get()));  // loads it
  *module = reinterpret_cast<CUmodule>(l->modules[current]);
  return 0;
}
EXPORT cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name) {
  auto &functions = reinterpret_cast<Module *>(module)->functions;
  if (!functions.count(name)) return kNotFound;
  *f = reinterpret_cast<CUfunction>(functions[name].get());
  return 0;
}
EXPORT cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
  auto &globals = reinterpret_cast<Module *>(module)->globals;
  if (!globals.count(name)) return kNotFound;
  *address = globals[name];
  *bytes = 4;
  return 0;
}
EXPORT cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name) {
  if (reinterpret_cast<Library *>(library)->text.find(std::string(".global ") + name) == std::string::npos)
    return kNotFound;
  *address = 0x9000;
  *bytes = 4;
  return 0;
}
EXPORT cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary, const char *name) {
  if (strcmp(name, "managed") != 0) return kNotFound;
  *address = 0xa000;
  *bytes = 4;
  return 0;
}
EXPORT cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *state) {
  auto *link = new Link{{}, nullptr};
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == kJitErrorLogBuffer) link->errors = static_cast<char *>(values[i]);
  *state = reinterpret_cast<CUlinkState>(link);
  return 0;
}
EXPORT cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t bytes, const char *, unsigned, int *,
                        void **) {
  auto *link = reinterpret_cast<Link *>(state);
  if (type != kJitInputPtx || static_cast<char *>(data)[bytes - 1] != 0) return kInvalidValue;
  link->text = static_cast<char *>(data);
  if (link->text.find("BROKEN") == std::string::npos) return 0;
  if (link->errors) strcpy(link->errors, "ptxas application ptx input, line 3; error: BROKEN");
  return 218;
}
EXPORT cuLinkComplete(CUlinkState state, void **cubin, size_t *bytes) {
  auto *link = reinterpret_cast<Link *>(state);
  *cubin = link->text.data();
  *bytes = link->text.size() + 1;
  return 0;
}
EXPORT cuLinkDestroy(CUlinkState state) {
  delete reinterpret_cast<Link *>(state);
  return 0;
}
EXPORT cuFuncGetName(const char **name, CUfunction f) {
  if (reinterpret_cast<Function *>(f)->magic != kFunctionMagic) return kInvalidHandle;
  *name = reinterpret_cast<Function *>(f)->name.c_str();
  return 0;
}
EXPORT cuFuncGetModule(CUmodule *module, CUfunction f) {
  if (reinterpret_cast<Function *>(f)->magic != kFunctionMagic) return kInvalidHandle;
  *module = reinterpret_cast<CUmodule>(reinterpret_cast<Function *>(f)->module);
  return 0;
}
EXPORT cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
  if (reinterpret_cast<Function *>(f)->magic != kFunctionMagic) return kInvalidHandle;
  *value = reinterpret_cast<Function *>(f)->attributes[attribute];
  return 0;
}
EXPORT cuKernelGetName(const char **name, CUkernel kernel) {
  if (reinterpret_cast<Kernel *>(kernel)->magic != kKernelMagic) return kInvalidHandle;
  *name = reinterpret_cast<Kernel *>(kernel)->name.c_str();
  return 0;
}
EXPORT cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
  *library = reinterpret_cast<CUlibrary>(reinterpret_cast<Kernel *>(kernel)->library);
  return 0;
}
HOOKABLE(cuKernelGetFunction);
IMPLEMENT fake_cuKernelGetFunction(CUfunction *f, CUkernel kernel) {
  *f = reinterpret_cast<CUfunction>(resolve(reinterpret_cast<CUfunction>(kernel)));
  return *f ? 0 : kInvalidHandle;
}
EXPORT cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice) {
  *value = resolve(reinterpret_cast<CUfunction>(kernel))->attributes[attribute];
  return 0;
}
EXPORT cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
EXPORT cuDeviceGetName(char *name, int bytes, CUdevice) {
  strncpy(name, "Fake GPU", static_cast<size_t>(bytes));
  return 0;
}
EXPORT cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  *value = attribute == kDeviceMultiprocessorCount ? fakecuda::kSmCount
           : attribute == kDeviceComputeMajor      ? 9
                                                   : 0;
  return 0;
}
EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  std::lock_guard lock(mutex);
  ++primary_count;
  *context = reinterpret_cast<CUcontext>(&primary);
  return 0;
}
EXPORT cuDevicePrimaryCtxGetState(CUdevice, unsigned *flags, int *active) {
  std::lock_guard lock(mutex);
  *flags = 0;
  *active = primary_count > 0;
  return 0;
}
EXPORT cuCtxGetCurrent(CUcontext *context) {
  *context = current;
  return 0;
}
EXPORT cuCtxSetCurrent(CUcontext context) {
  current = context;
  return 0;
}
EXPORT cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return current ? 0 : kInvalidContext;
}
EXPORT cuCtxSynchronize() {
  if (captures > 0) broken_capture = true;
  while (busy) usleep(1000);
  return 0;
}
EXPORT cuGetErrorName(CUresult error, const char **name) {
  *name = error == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : "CUDA_ERROR_SOMETHING";
  return 0;
}
EXPORT cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, capture_mode);
  return 0;
}
EXPORT cuStreamCreate(CUstream *stream, unsigned) {
  unsafe_call();
  *stream = reinterpret_cast<CUstream>(keep(new Stream));
  return 0;
}
EXPORT cuStreamDestroy_v2(CUstream) { return 0; }
EXPORT cuStreamSynchronize(CUstream) { return 0; }
EXPORT cuStreamQuery(CUstream) { return 0; }
EXPORT cuStreamIsCapturing(CUstream stream, int *status) {
  *status = reinterpret_cast<uintptr_t>(stream) > 2 && reinterpret_cast<Stream *>(stream)->capturing;
  return 0;
}
EXPORT cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  unsafe_call();
  *address = reinterpret_cast<CUdeviceptr>(malloc(bytes));
  memset(reinterpret_cast<void *>(*address), 0xee, bytes);
  std::lock_guard lock(mutex);
  allocations[*address] = bytes;
  return 0;
}
EXPORT cuMemFree_v2(CUdeviceptr address) {
  unsafe_call();
  std::lock_guard lock(mutex);
  if (!allocations.erase(address)) return kInvalidValue;
  free(reinterpret_cast<void *>(address));
  return 0;
}
EXPORT cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  *address = keep(calloc(1, bytes));
  return 0;
}
EXPORT cuMemFreeHost(void *) { return 0; }
EXPORT cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream) {
  memset(reinterpret_cast<void *>(address), value, bytes);
  return 0;
}
EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream) {
  memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream) {
  memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
