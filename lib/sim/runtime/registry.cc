#include "lib/sim/runtime/registry.h"

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/sim/runtime/export.h"

namespace egpu::rt {
namespace {
// By this egpu-sim tells a program that carries this runtime from one that carries NVIDIA's.
[[gnu::used]] constexpr char kRuntimeMark[] = "egpu-cudart: CUDA runtime of eGPU";
}  // namespace

struct Fatbin {
  const void *image = nullptr;
  std::mutex mutex;  // guards the three below
  bool is_loaded = false;
  int load_error = 0;
  Handle library = nullptr;
  std::vector<const void *> symbols;  // host addresses of what it registered
  bool has_managed = false;
};

struct Function {
  Fatbin *fatbin = nullptr;
  std::string name;
  std::atomic<Handle> kernel{nullptr};
};

namespace {

struct Variable {
  Fatbin *fatbin = nullptr;
  std::string name;
  void **managed = nullptr;  // where the host keeps the address of a managed variable
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void *, Function *> functions;  // by host function
  std::unordered_set<const void *> handles;                // Functions, and kernels given out
  std::unordered_set<const Function *> records;
  std::unordered_map<Handle, const void *> host_functions;
  std::unordered_map<const void *, Variable> variables;
};
Registry &registry() {
  static Registry &all = *new Registry;
  return all;
}

// CU_LIBRARY_BINARY_IS_PRESERVED: the image stays where it is, no copy needed.
int load(Fatbin &fatbin) {
  RT_TRY(ensure_driver());
  const std::lock_guard lock(fatbin.mutex);
  if (!fatbin.is_loaded) {
    int option = 1;
    void *value = reinterpret_cast<void *>(1);
    fatbin.load_error =
        cuLibraryLoadData(&fatbin.library, fatbin.image, nullptr, nullptr, 0, &option, &value, 1);
    fatbin.is_loaded = true;
  }
  return fatbin.load_error;
}

int write_managed(Fatbin &fatbin) {
  RT_TRY(load(fatbin));
  std::vector<Variable> managed;
  {
    const std::lock_guard lock(registry().mutex);
    for (const void *symbol : fatbin.symbols)
      if (auto found = registry().variables.find(symbol); found != registry().variables.end())
        if (found->second.managed) managed.push_back(found->second);
  }
  for (const Variable &variable : managed) {
    Address address = 0;
    size_t size_bytes = 0;
    RT_TRY(cuLibraryGetManaged(&address, &size_bytes, fatbin.library, variable.name.c_str()));
    *variable.managed = reinterpret_cast<void *>(address);
  }
  return kOk;
}

Fatbin *fatbin_of(void **handle) { return reinterpret_cast<Fatbin *>(handle); }

Function *find_function(const void *function) {
  const std::lock_guard lock(registry().mutex);
  if (auto found = registry().functions.find(function); found != registry().functions.end())
    return found->second;
  auto *record = static_cast<Function *>(const_cast<void *>(function));
  return registry().records.contains(record) ? record : nullptr;
}

}  // namespace

int find_kernel(const void *function, Handle *kernel) {
  Function *const known = find_function(function);
  if (!known) {
    const std::lock_guard lock(registry().mutex);
    if (!registry().handles.contains(function)) return kInvalidResourceHandle;
    *kernel = const_cast<void *>(function);
    return kOk;
  }
  if ((*kernel = known->kernel.load(std::memory_order_acquire))) return kOk;
  RT_TRY(load(*known->fatbin));
  if (const int error = cuLibraryGetKernel(kernel, known->fatbin->library, known->name.c_str()))
    return error == kNotFoundByDriver ? kInvalidDeviceFunction : error;
  known->kernel.store(*kernel, std::memory_order_release);
  const std::lock_guard lock(registry().mutex);
  for (const void *symbol : known->fatbin->symbols)
    if (auto found = registry().functions.find(symbol);
        found != registry().functions.end() && found->second == known)
      registry().host_functions[*kernel] = symbol;
  return kOk;
}

const void *host_function_of(Handle kernel) {
  const std::lock_guard lock(registry().mutex);
  auto found = registry().host_functions.find(kernel);
  return found == registry().host_functions.end() ? nullptr : found->second;
}

void know_kernel(Handle kernel) {
  const std::lock_guard lock(registry().mutex);
  registry().handles.insert(kernel);
}

int find_variable(const void *symbol, Address *address, size_t *size_bytes) {
  Variable variable;
  {
    const std::lock_guard lock(registry().mutex);
    auto &all = registry().variables;
    auto found = all.find(symbol);
    // Of a managed variable the host passes the variable's address, not the pointer's.
    for (auto each = all.begin(); found == all.end() && each != all.end(); ++each)
      if (each->second.managed && *each->second.managed == symbol) found = each;
    if (found == all.end()) return kInvalidSymbol;
    variable = found->second;
  }
  RT_TRY(load(*variable.fatbin));
  const Handle library = variable.fatbin->library;
  const int error = variable.managed
                        ? cuLibraryGetManaged(address, size_bytes, library, variable.name.c_str())
                        : cuLibraryGetGlobal(address, size_bytes, library, variable.name.c_str());
  return error == kNotFoundByDriver ? kInvalidSymbol : error;
}

}  // namespace egpu::rt

using namespace egpu::rt;

RT_EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  auto *fatbin = new Fatbin;
  fatbin->image = wrapper;
  return reinterpret_cast<void **>(fatbin);
}

RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle) {
  if (fatbin_of(handle)->has_managed) enter([&] { return write_managed(*fatbin_of(handle)); });
}

RT_EXPORT char __cudaInitModule(void **handle) {
  enter([&] { return write_managed(*fatbin_of(handle)); });
  return 1;
}

RT_EXPORT void __cudaUnregisterFatBinary(void **handle) {
  Fatbin *const fatbin = fatbin_of(handle);
  {
    const std::lock_guard lock(registry().mutex);
    for (const void *symbol : fatbin->symbols) {
      registry().functions.erase(symbol);
      registry().variables.erase(symbol);
    }
  }
  const std::lock_guard lock(fatbin->mutex);
  if (fatbin->library) cuLibraryUnload(fatbin->library);
  fatbin->library = nullptr;
}

RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *, const char *name, int, void *,
                                      void *, void *, void *, int *) {
  auto *function = new Function;
  function->fatbin = fatbin_of(handle);
  function->name = name;
  const std::lock_guard lock(registry().mutex);
  function->fatbin->symbols.push_back(host);
  registry().functions[host] = function;
  registry().records.insert(function);
}

RT_EXPORT void __cudaRegisterVar(void **handle, char *host, char *, const char *name, int, size_t, int, int) {
  const std::lock_guard lock(registry().mutex);
  fatbin_of(handle)->symbols.push_back(host);
  registry().variables[host] = {fatbin_of(handle), name, nullptr};
}

RT_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *, const char *name, int, size_t,
                                        int, int) {
  const std::lock_guard lock(registry().mutex);
  fatbin_of(handle)->symbols.push_back(host);
  fatbin_of(handle)->has_managed = true;
  registry().variables[host] = {fatbin_of(handle), name, host};
}

// Texture and surface references ended with CUDA 12; old objects may still register them.
RT_EXPORT void __cudaRegisterTexture(void **, const void *, const void **, const char *, int, int, int) {}
RT_EXPORT void __cudaRegisterSurface(void **, const void *, const void **, const char *, int, int) {}

// The stub keeps the result, also of a failure, in a static: so it gets our record of the
// kernel, which says at each launch what is wrong with it.
RT_EXPORT int __cudaGetKernel(Handle *kernel, const void *function) {
  return enter([&]() -> int {
    Function *const known = find_function(function);
    if (!known) return kInvalidDeviceFunction;
    *kernel = known;
    return kOk;
  });
}
