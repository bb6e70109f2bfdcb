// Errors: the thread's last one, names and texts; versions; the driver's entry points.
#include "lib/sim/runtime/export.h"

using namespace egpu::rt;

namespace {

constexpr int kRuntimeVersion = 13000;

struct ErrorText {
  int number;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
#define X(number, name, text) {number, #name, text},
#include "lib/sim/runtime/errors.inc"
#undef X
};

const ErrorText *find_error(int number) {
  for (const ErrorText &error : kErrors)
    if (error.number == number) return &error;
  return nullptr;
}

// cudaDriverEntryPointQueryResult: 0 found, 1 not found.
int entry_point(const char *name, void **entry, unsigned version, uint64_t flags, int *status) {
  if (!name || !entry) return kInvalidValue;
  RT_TRY(ensure_driver());
  int found = 1;
  const int error = cuGetProcAddress_v2(name, entry, static_cast<int>(version), flags, &found);
  if (status) *status = found;
  return error == kNotFoundByDriver ? (status ? kOk : kInvalidSymbol) : error;
}

}  // namespace

RT_EXPORT int cudaGetLastError() {
  const int error = thread_state().last_error;
  thread_state().last_error = kOk;
  return error;
}
RT_EXPORT int cudaPeekAtLastError() { return thread_state().last_error; }

RT_EXPORT const char *cudaGetErrorName(int error) {
  const ErrorText *found = find_error(error);
  return found ? found->name : "unrecognized error code";
}
RT_EXPORT const char *cudaGetErrorString(int error) {
  const ErrorText *found = find_error(error);
  return found ? found->text : "unrecognized error code";
}

RT_API(cudaRuntimeGetVersion, (int *version), (version)) {
  if (!version) return kInvalidValue;
  *version = kRuntimeVersion;
  return kOk;
}
// CUDA Runtime API: 0 if no driver is installed.
RT_API(cudaDriverGetVersion, (int *version), (version)) {
  if (!version) return kInvalidValue;
  *version = 0;
  if (!find_entry("cuDriverGetVersion")) return kOk;
  return cuDriverGetVersion(version);
}

RT_STREAM_API(cudaGetDriverEntryPoint, _ptsz, (const char *name, void **entry, uint64_t flags, int *status),
              (name, entry, flags, status)) {
  return entry_point(name, entry, kRuntimeVersion, flags ? flags : which(nullptr) ? 2 : 0, status);
}
RT_STREAM_API(cudaGetDriverEntryPointByVersion, _ptsz,
              (const char *name, void **entry, unsigned version, uint64_t flags, int *status),
              (name, entry, version, flags, status)) {
  return entry_point(name, entry, version, flags ? flags : which(nullptr) ? 2 : 0, status);
}

RT_FORWARD(cudaProfilerStart, cuProfilerStart, (), ())
RT_FORWARD(cudaProfilerStop, cuProfilerStop, (), ())
