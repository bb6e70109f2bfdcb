// How a function of the runtime is written:
//
//   RT_API(cudaMalloc, (void **address, size_t size_bytes), (address, size_bytes)) { return ...; }
//
// exports a function of that name around the body; its result becomes the thread's last error.
// RT_STREAM_API writes the per-thread twin as well (nvcc --default-stream per-thread calls
// cuda*_ptsz and _ptds); its body calls which(stream). RT_FORWARD and RT_STREAM_FORWARD are for
// functions that only need a context and the driver's function of the same meaning.
#pragma once
#include <new>

#include "lib/sim/runtime/context.h"
#include "lib/sim/runtime/driver.h"

#define RT_UNPACK(...) __VA_ARGS__
#define RT_EXPORT extern "C" [[gnu::visibility("default")]]
#define RT_TRY(expression)                            \
  do {                                                \
    if (const int failed = expression) return failed; \
  } while (false)

namespace egpu::rt {

using Which = Handle (*)(Handle stream);  // what a null stream means

inline Handle legacy(Handle stream) { return stream; }
inline Handle per_thread(Handle stream) { return stream ? stream : sim::kPerThreadStream; }

template <class Body>
inline int enter(Body body) {
  int error;
  try {
    error = body();
  } catch (const std::bad_alloc &) {
    error = kOutOfMemory;
  } catch (...) {
    error = kUnknownError;
  }
  if (error) thread_state().last_error = error;
  return error;
}

}  // namespace egpu::rt

#define RT_API(name, parameters, arguments)                          \
  static int name##_body parameters;                                 \
  RT_EXPORT int name parameters {                                    \
    return ::egpu::rt::enter([&] { return name##_body arguments; }); \
  }                                                                  \
  static int name##_body parameters

#define RT_STREAM_ENTRY(name, body, which, parameters, arguments)                           \
  RT_EXPORT int name parameters {                                                           \
    return ::egpu::rt::enter([&] { return body(::egpu::rt::which, RT_UNPACK arguments); }); \
  }

// RT_STREAM_API(cudaMallocAsync, _ptsz, (...), (...)) { ... which(stream) ... }
#define RT_STREAM_API(name, suffix, parameters, arguments)                      \
  static int name##_body(::egpu::rt::Which which, RT_UNPACK parameters);        \
  RT_STREAM_ENTRY(name, name##_body, legacy, parameters, arguments)             \
  RT_STREAM_ENTRY(name##suffix, name##_body, per_thread, parameters, arguments) \
  static int name##_body([[maybe_unused]] ::egpu::rt::Which which, RT_UNPACK parameters)

#define RT_FORWARD(name, entry, parameters, arguments) \
  RT_EXPORT int name parameters {                      \
    return ::egpu::rt::enter([&]() -> int {            \
      RT_TRY(::egpu::rt::ensure_context());            \
      return ::egpu::rt::entry arguments;              \
    });                                                \
  }

#define RT_STREAM_FORWARD(name, entry, parameters, arguments)      \
  RT_STREAM_FORWARD_AS(name, entry, legacy, parameters, arguments) \
  RT_STREAM_FORWARD_AS(name##_ptsz, entry, per_thread, parameters, arguments)
#define RT_STREAM_FORWARD_AS(name, entry, meaning, parameters, arguments)     \
  RT_EXPORT int name parameters {                                             \
    [[maybe_unused]] constexpr ::egpu::rt::Which which = ::egpu::rt::meaning; \
    return ::egpu::rt::enter([&]() -> int {                                   \
      RT_TRY(::egpu::rt::ensure_context());                                   \
      return ::egpu::rt::entry arguments;                                     \
    });                                                                       \
  }
