// Initialization, versions, error texts, the profiler's switches, tables of other interfaces.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "lib/sim/driver/driver.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

namespace egpu::sim {

bool trace_enabled = [] {
  const char *text = std::getenv("EGPU_SIM_TRACE");
  return text && *text && std::strcmp(text, "0") != 0;
}();

void trace_call(const char *name, Status status) {
  std::fprintf(stderr, "egpu-sim: %s = %d\n", name, static_cast<int>(status));
}

namespace {

constexpr int kDriverVersion = 13000;

struct ErrorText {
  int number;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
#define X(number, name, constant, text) {number, #name, text},
#include "lib/sim/driver/status.inc"
#undef X
};

const ErrorText *find_error(int number) {
  for (const ErrorText &error : kErrors)
    if (error.number == number) return &error;
  return nullptr;
}

// The library named by CUDA_INJECTION64_PATH is loaded at the first cuInit of the process, and
// its InitializeInjection is called before that cuInit, or a concurrent one, returns. The
// library's own calls of cuInit return at once.
void inject_once() {
  if (thread_state().in_injection) return;
  static std::once_flag &once = *new std::once_flag;
  std::call_once(once, [] {
    const char *path = std::getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path) return;
    thread_state().in_injection = true;
    if (void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
      if (auto *initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) initialize();
    } else {
      std::fprintf(stderr, "egpu-sim: warning: CUDA_INJECTION64_PATH: %s\n", dlerror());
    }
    thread_state().in_injection = false;
  });
}

// Private tables are asked for by NVIDIA's own runtime and libraries only: among them the one
// with which they check that the driver is NVIDIA's (6bd5fb6c-f45b-4ae7-8987-d93912fd9df9). This
// driver is not, has no such table, and says so; the check is never answered.
void explain_relinking() {
  static std::once_flag &once = *new std::once_flag;
  std::call_once(once, [] {
    std::fputs(
        "egpu-sim: error: this program carries NVIDIA's CUDA runtime, which runs on NVIDIA's driver only.\n"
        "egpu-sim: hint: on the simulated GPU run a driver-API program, or relink this one with a runtime "
        "that "
        "takes any driver: build with `nvcc -cudart shared` and put eGPU's libcudart.so.13 on "
        "LD_LIBRARY_PATH, or "
        "set NVCC_PREPEND_FLAGS=-L<directory of eGPU's libcudart_static.a>\n",
        stderr);
  });
}

}  // namespace
}  // namespace egpu::sim

CU_API(cuInit, (unsigned flags), (flags)) {
  if (flags != 0) return kInvalidValue;
  CU_TRY(initialize_devices());
  inject_once();
  return kSuccess;
}

CU_API(cuDriverGetVersion, (int *version), (version)) {
  if (!version) return kInvalidValue;
  *version = kDriverVersion;
  return kSuccess;
}

CU_API(cuGetErrorName, (int error, const char **name), (error, name)) {
  if (!name) return kInvalidValue;
  const ErrorText *found = find_error(error);
  *name = found ? found->name : nullptr;
  return found ? kSuccess : kInvalidValue;
}

CU_API(cuGetErrorString, (int error, const char **text), (error, text)) {
  if (!text) return kInvalidValue;
  const ErrorText *found = find_error(error);
  *text = found ? found->text : nullptr;
  return found ? kSuccess : kInvalidValue;
}

CU_API(cuProfilerStart, (), ()) { return driver().initialized ? kSuccess : kNotInitialized; }
CU_API(cuProfilerStop, (), ()) { return driver().initialized ? kSuccess : kNotInitialized; }

CU_API(cuGetExportTable, (const void **table, const Uuid *id), (table, id)) {
  if (!table || !id) return kInvalidValue;
  explain_relinking();
  return kNotSupported;
}
