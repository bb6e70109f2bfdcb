// How an entry point of the driver is written:
//
//   CU_API(cuCtxSetCurrent, (Handle context), (context)) { return ...; }
//
// exports a function of that name around the body; CU_STREAM_API writes its per-thread twin as
// well, and the body calls which.resolve(stream). An exported function looks like the real
// driver's: a frame, then a test of a global flag (a rip-relative operand), so that code which
// relocates its first bytes meets what it will meet there. tests/sim-driver decodes them all.
// No exception leaves: out of memory and everything else become error codes.
#pragma once
#include <new>

#include "lib/sim/driver/api.h"

namespace egpu::sim {

extern bool trace_enabled;  // EGPU_SIM_TRACE=1: entry points and results on stderr
void trace_call(const char *name, Status status);

template <class Body>
inline Status enter(const char *name, Body body) {
  Status status;
  try {
    status = body();
  } catch (const std::bad_alloc &) {
    status = kOutOfMemory;
  } catch (...) {
    status = kUnknown;
  }
  if (trace_enabled) [[unlikely]]
    trace_call(name, status);
  return status;
}

// Which stream a null handle means.
enum class DefaultStream { legacy, per_thread };

}  // namespace egpu::sim

#define CU_UNPACK(...) __VA_ARGS__
#define CU_EXPORT extern "C" [[gnu::visibility("default")]]

#define CU_API(name, parameters, arguments)                                  \
  static ::egpu::sim::Status name##_body parameters;                         \
  CU_EXPORT ::egpu::sim::Status name parameters;                             \
  CU_EXPORT ::egpu::sim::Status name parameters {                            \
    return ::egpu::sim::enter(#name, [&] { return name##_body arguments; }); \
  }                                                                          \
  static ::egpu::sim::Status name##_body parameters

#define CU_STREAM_ENTRY(name, body, which, parameters, arguments)                                            \
  CU_EXPORT ::egpu::sim::Status name parameters;                                                             \
  CU_EXPORT ::egpu::sim::Status name parameters {                                                            \
    return ::egpu::sim::enter(#name,                                                                         \
                              [&] { return body(::egpu::sim::DefaultStream::which, CU_UNPACK arguments); }); \
  }

// CU_STREAM_API(cuStreamQuery, _ptsz, (Handle stream), (stream)) { ... `which` is known here }
#define CU_STREAM_API(name, suffix, parameters, arguments)                                        \
  static ::egpu::sim::Status name##_body(::egpu::sim::DefaultStream which, CU_UNPACK parameters); \
  CU_STREAM_ENTRY(name, name##_body, legacy, parameters, arguments)                               \
  CU_STREAM_ENTRY(name##suffix, name##_body, per_thread, parameters, arguments)                   \
  static ::egpu::sim::Status name##_body([[maybe_unused]] ::egpu::sim::DefaultStream which,       \
                                         CU_UNPACK parameters)
