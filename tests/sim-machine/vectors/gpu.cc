#include "tests/sim-machine/vectors/gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace egpu::vectors {
namespace {

using Status = int;
using Address = uint64_t;
constexpr int kErrorLogBuffer = 5, kErrorLogBytes = 6;  // CUjit_option
constexpr size_t kScratchBytes = 16;                    // of a thread

struct Driver {
  Status (*init)(unsigned);
  Status (*version)(int *);
  Status (*device_name)(char *, int, int);
  Status (*retain)(void **, int);
  Status (*set_current)(void *);
  Status (*load)(void **, const void *, unsigned, const int *, void **);
  Status (*unload)(void *);
  Status (*function)(void **, void *, const char *);
  Status (*allocate)(Address *, size_t);
  Status (*free)(Address);
  Status (*to_device)(Address, const void *, size_t);
  Status (*to_host)(void *, Address, size_t);
  Status (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);
  Status (*error_name)(Status, const char **);
};

class CudaGpu : public Gpu {
 public:
  ~CudaGpu() override {
    for (Array &array : arrays_)
      if (array.address) cu_.free(array.address);
  }

  Result<Ok> start() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return Error{std::string("no CUDA driver: ") + dlerror()};
    const auto find = [library](auto *function, const char *name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      return *function != nullptr;
    };
    if (!(find(&cu_.init, "cuInit") && find(&cu_.version, "cuDriverGetVersion") &&
          find(&cu_.device_name, "cuDeviceGetName") && find(&cu_.retain, "cuDevicePrimaryCtxRetain") &&
          find(&cu_.set_current, "cuCtxSetCurrent") && find(&cu_.load, "cuModuleLoadDataEx") &&
          find(&cu_.unload, "cuModuleUnload") && find(&cu_.function, "cuModuleGetFunction") &&
          find(&cu_.allocate, "cuMemAlloc_v2") && find(&cu_.free, "cuMemFree_v2") &&
          find(&cu_.to_device, "cuMemcpyHtoD_v2") && find(&cu_.to_host, "cuMemcpyDtoH_v2") &&
          find(&cu_.launch, "cuLaunchKernel") && find(&cu_.error_name, "cuGetErrorName")))
      return Error{std::string("the CUDA driver lacks a function: ") + dlerror()};
    char name[128] = "";
    int version = 0;
    void *context = nullptr;
    Status status = cu_.init(0);
    if (!status) status = cu_.version(&version);
    if (!status) status = cu_.device_name(name, sizeof name, 0);
    if (!status) status = cu_.retain(&context, 0);
    if (!status) status = cu_.set_current(context);
    name_ = std::string(name) + ", driver " + std::to_string(version / 1000) + "." +
            std::to_string(version % 1000 / 10);
    return checked(status, "opening the GPU");
  }

  std::string name() const override { return name_; }

  Result<Ok> load(const std::string &ptx) override {
    if (module_) cu_.unload(module_);
    module_ = nullptr;
    std::vector<char> log(16384);
    const int options[] = {kErrorLogBuffer, kErrorLogBytes};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
    const Status status = cu_.load(&module_, ptx.c_str(), 2, options, values);
    return checked(status, std::string("compiling PTX: ") + log.data());
  }

  Result<Ok> launch(const Launch &launch, std::vector<Parameter> *parameters) override {
    void *function = nullptr;
    std::vector<void *> values;
    Status status = cu_.function(&function, module_, launch.kernel.c_str());
    arrays_.resize(std::max(arrays_.size(), parameters->size()));
    for (size_t i = 0; i < parameters->size(); ++i) {
      auto &[bytes, is_array] = (*parameters)[i];
      values.push_back(is_array ? static_cast<void *>(&arrays_[i].address) : bytes.data());
      if (!is_array) continue;
      if (!status) status = grow(&arrays_[i], bytes.size());
      if (!status) status = cu_.to_device(arrays_[i].address, bytes.data(), bytes.size());
    }
    const auto &grid = launch.grid, &block = launch.block;
    if (!status)
      status = cu_.launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                          launch.shared_bytes, nullptr, values.data(), nullptr);
    for (size_t i = 0; i < parameters->size(); ++i) {
      auto &[bytes, is_array] = (*parameters)[i];
      if (is_array && !status) status = cu_.to_host(bytes.data(), arrays_[i].address, bytes.size());
    }
    return checked(status, launch.kernel);
  }

 private:
  struct Array {
    Address address = 0;
    size_t size_bytes = 0;
  };

  Status grow(Array *array, size_t size_bytes) {
    if (array->size_bytes >= size_bytes) return 0;
    if (array->address) cu_.free(array->address);
    *array = {};
    const Status status = cu_.allocate(&array->address, size_bytes);
    if (!status) array->size_bytes = size_bytes;
    return status;
  }

  Result<Ok> checked(Status status, const std::string &what) const {
    if (status == 0) return Ok{};
    const char *name = nullptr;
    if (cu_.error_name(status, &name) != 0 || !name) name = "unknown error";
    return Error{what + ": " + name};
  }

  Driver cu_{};
  std::string name_;
  void *module_ = nullptr;
  std::vector<Array> arrays_;  // by parameter; used again and again
};

}  // namespace

Result<std::unique_ptr<Gpu>> Gpu::open() {
  auto gpu = std::make_unique<CudaGpu>();
  TRY(Ok started, gpu->start());
  (void)started;
  return std::unique_ptr<Gpu>(std::move(gpu));
}

Result<std::vector<uint64_t>> Gpu::run(const std::string &kernel, size_t threads,
                                       const std::vector<uint64_t> &inputs, size_t result_words) {
  const auto *words = reinterpret_cast<const uint8_t *>(inputs.data());
  std::vector<Parameter> parameters = {{{words, words + inputs.size() * 8}, true},
                                       {std::vector<uint8_t>(result_words * 8), true},
                                       {std::vector<uint8_t>(threads * kScratchBytes), true}};
  TRY(Ok done, launch({kernel, {1, 1, 1}, {static_cast<unsigned>(threads), 1, 1}}, &parameters));
  (void)done;
  std::vector<uint64_t> results(result_words);
  std::memcpy(results.data(), parameters[1].bytes.data(), result_words * 8);
  return results;
}

int print_gpu() {
  auto gpu = Gpu::open();
  std::puts(gpu ? (*gpu)->name().c_str() : ("SKIP: " + gpu.error().message).c_str());
  return gpu ? 0 : 77;
}

}  // namespace egpu::vectors
