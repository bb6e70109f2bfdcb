// A GPU through the driver API, whose few functions are declared here: nothing of CUDA is needed to
// build. Source: CUDA Driver API 13.0.
#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "lib/bpf2ptx/insn/format.h"
#include "tests/tools/machines.h"

namespace egpu::bpf::run {
namespace {

using Status = int;
constexpr int kErrorLogBuffer = 5, kErrorLogBytes = 6;  // CUjit_option
constexpr int kMajor = 75, kMinor = 76;                 // CUdevice_attribute

constexpr uint64_t kPieceBytes = 16 << 20, kAlignBytes = 256;

struct Driver {
  Status (*init)(unsigned);
  Status (*device_get)(int *, int);
  Status (*attribute)(int *, int, int);
  Status (*retain)(void **, int);
  Status (*set_current)(void *);
  Status (*load)(void **, const void *, unsigned, const int *, void **);
  Status (*unload)(void *);
  Status (*function)(void **, void *, const char *);
  Status (*allocate)(uint64_t *, size_t);
  Status (*set8)(uint64_t, unsigned char, size_t);
  Status (*to_device)(uint64_t, const void *, size_t);
  Status (*to_host)(void *, uint64_t, size_t);
  Status (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);
  Status (*synchronize)();
  Status (*error_string)(Status, const char **);
};

class CudaDevice : public Device {
 public:
  Result<Ok> open() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library_) return Error{std::string("no CUDA driver: ") + dlerror()};
    bool all = find(&cu_.init, "cuInit") && find(&cu_.device_get, "cuDeviceGet") &&
               find(&cu_.attribute, "cuDeviceGetAttribute") &&
               find(&cu_.retain, "cuDevicePrimaryCtxRetain") && find(&cu_.set_current, "cuCtxSetCurrent") &&
               find(&cu_.load, "cuModuleLoadDataEx") && find(&cu_.unload, "cuModuleUnload") &&
               find(&cu_.function, "cuModuleGetFunction") && find(&cu_.allocate, "cuMemAlloc_v2") &&
               find(&cu_.set8, "cuMemsetD8_v2") && find(&cu_.to_device, "cuMemcpyHtoD_v2") &&
               find(&cu_.to_host, "cuMemcpyDtoH_v2") && find(&cu_.launch, "cuLaunchKernel") &&
               find(&cu_.synchronize, "cuCtxSynchronize") && find(&cu_.error_string, "cuGetErrorString");
    if (!all) return Error{std::string("the CUDA driver lacks a function: ") + dlerror()};
    int device = 0, major = 0, minor = 0;
    void *context = nullptr;
    Status status = cu_.init(0);
    if (!status) status = cu_.device_get(&device, 0);
    if (!status) status = cu_.attribute(&major, kMajor, device);
    if (!status) status = cu_.attribute(&minor, kMinor, device);
    if (!status) status = cu_.retain(&context, device);
    if (!status) status = cu_.set_current(context);
    arch_ = format("sm_{}{}", major, minor);
    return checked(status, "opening the GPU");
  }

  // Out of large pieces: a call of the driver costs more than a program.
  Result<uint64_t> allocate(uint64_t size_bytes) override {
    uint64_t rounded_bytes = (size_bytes + kAlignBytes - 1) & ~(kAlignBytes - 1);
    if (rounded_bytes > left_bytes_) {
      left_bytes_ = std::max(rounded_bytes, kPieceBytes);
      Status status = cu_.allocate(&next_, left_bytes_);
      if (!status) status = cu_.set8(next_, 0, left_bytes_);
      TRY(Ok ok, checked(status, "allocating"));
      (void)ok;
    }
    left_bytes_ -= rounded_bytes;
    return std::exchange(next_, next_ + rounded_bytes);
  }
  Result<Ok> write(uint64_t address, const void *data, uint64_t size_bytes) override {
    return checked(cu_.to_device(address, data, size_bytes), "copying to the GPU");
  }
  Result<Ok> read(uint64_t address, void *data, uint64_t size_bytes) override {
    return checked(cu_.to_host(data, address, size_bytes), "copying from the GPU");
  }
  Result<Ok> launch(const std::string &ptx, uint32_t blocks, uint64_t parameter) override {
    std::vector<char> log(16384);
    int options[] = {kErrorLogBuffer, kErrorLogBytes};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
    void *module = nullptr, *kernel = nullptr, *parameters[] = {&parameter};
    if (Status status = cu_.load(&module, ptx.c_str(), 2, options, values))
      return checked(status, std::string("compiling PTX: ") + log.data());
    Status status = cu_.function(&kernel, module, "batch");
    if (!status) status = cu_.launch(kernel, blocks, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    if (!status) status = cu_.synchronize();
    if (!status) status = cu_.unload(module);
    return checked(status, "running the programs");
  }
  std::string arch() const override { return arch_; }

 private:
  template <class F>
  bool find(F *function, const char *name) {
    *function = reinterpret_cast<F>(dlsym(library_, name));
    return *function != nullptr;
  }
  Result<Ok> checked(Status status, const std::string &what) const {
    if (status == 0) return Ok{};
    const char *text = nullptr;
    if (cu_.error_string(status, &text) != 0 || !text) text = "unknown error";
    return Error{format("{}: CUDA error {}: {}", what, status, text)};
  }

  uint64_t next_ = 0, left_bytes_ = 0;
  void *library_ = nullptr;
  Driver cu_{};
  std::string arch_;
};

}  // namespace

Result<std::unique_ptr<Device>> cuda_device() {
  auto device = std::make_unique<CudaDevice>();
  TRY(Ok opened, device->open());
  (void)opened;
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace egpu::bpf::run
