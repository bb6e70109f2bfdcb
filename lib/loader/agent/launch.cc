#include "lib/loader/agent/launch.h"

#include <alloca.h>
#include <string.h>

#include "lib/loader/agent/contexts.h"
#include "lib/loader/agent/hooks.h"
#include "lib/loader/agent/queue.h"

namespace egpu::agent {
namespace {

constexpr uint32_t round_up_8(uint32_t n) { return (n + 7) & ~7u; }

// The mangled name of a function and where it comes from. A CUkernel launched as a CUfunction
// answers 400 to cuFuncGetName and its kin (facts.md, section 1).
struct Identity {
  const char *name;
  uint64_t module;
  bool is_kernel, module_is_library;
};

// The library that a handle was got from, if the hooks saw that.
uint64_t library_of(const void *handle) {
  Entry *slot = find_slot(reinterpret_cast<uint64_t>(handle));
  return slot ? slot->library.load(std::memory_order_relaxed) : 0;
}

bool identify(CUfunction function, Identity *identity) {
  *identity = {};
  if (cu.cuFuncGetName && cu.cuFuncGetName(&identity->name, function) == 0 && identity->name) {
    CUmodule module = nullptr;
    if (cu.cuFuncGetModule) cu.cuFuncGetModule(&module, function);
    // The images that egpu-load knows are named by their library where there is one.
    uint64_t library = library_of(function);
    if (!library && module) library = library_of(module);
    identity->module = library ? library : reinterpret_cast<uint64_t>(module);
    identity->module_is_library = library != 0;
    return true;
  }
  CUkernel kernel = reinterpret_cast<CUkernel>(function);
  identity->is_kernel = identity->module_is_library = true;
  if (!cu.cuKernelGetName || cu.cuKernelGetName(&identity->name, kernel) != 0 || !identity->name)
    return false;
  CUlibrary library = nullptr;
  if (cu.cuKernelGetLibrary) cu.cuKernelGetLibrary(&library, kernel);
  identity->module = reinterpret_cast<uint64_t>(library);
  return true;
}

void warn_once(std::atomic<bool> *told, const char *text) {
  if (!told->exchange(true)) push_warning("%s", text);
}

// The winner of the claim tells egpu-load about the function.
void ask(Entry *entry, CUfunction function, const Block &block) {
  Identity identity;
  CUcontext context = current_context();
  if (!context || !identify(function, &identity)) {
    // Not a function, or one that this driver cannot name: the original will say what is wrong.
    static std::atomic<bool> told;
    if (context && (!cu.cuFuncGetName || !cu.cuKernelGetName))
      warn_once(&told, "this driver cannot name functions (CUDA 12.3 or later can): kernels are not probed");
    entry->state.store(0, std::memory_order_release);
    return;
  }
  entry->is_kernel.store(identity.is_kernel, std::memory_order_relaxed);
  entry->context.store(context, std::memory_order_relaxed);
  entry->module = identity.module;
  entry->module_is_library = identity.module_is_library;
  entry->patched = nullptr;
  entry->patched_module = nullptr;
  entry->where = nullptr;
  entry->original = 0;
  bool waits = process.mode == session::kStart;
  session::Kernel message = {reinterpret_cast<uint64_t>(function),
                             identity.module,
                             reinterpret_cast<uint64_t>(context),
                             identity.is_kernel,
                             waits,
                             block.x * block.y * block.z,
                             block.shared_bytes};
  size_t name_bytes = strlen(identity.name) + 1;
  Node *node = new_node(Told::packet, session::Kind::kernel, sizeof message + name_bytes);
  if (!node) {
    push_warning("a kernel's name is too long: it is not probed");
    entry->state.store(state_word(Verdict::unprobed), std::memory_order_release);
    return;
  }
  memcpy(node->payload(), &message, sizeof message);
  memcpy(node->payload() + sizeof message, identity.name, name_bytes);
  node->context = context;
  entry->state.store(state_word(Verdict::pending), std::memory_order_release);
  push(node);
}

// Start mode: the first launches of a function wait until egpu-load has decided.
void wait_for_verdict(uint64_t handle) {
  uint64_t deadline = now_ns() + kVerdictLimitNs;
  for (;;) {
    uint32_t seen = verdicts.load(std::memory_order_acquire);
    Verdict verdict;
    Entry *entry = look_up(handle, &verdict);
    if (verdict != Verdict::pending && verdict != Verdict::claimed) return;
    if (!process.active) return;
    uint64_t now = now_ns();
    if (now >= deadline) {
      uint32_t word = state_word(Verdict::pending);
      if (entry->state.compare_exchange_strong(word, state_word(Verdict::late)))
        push_warning("no answer for a kernel in %d s: its launches go on unprobed until there is one",
                     static_cast<int>(kVerdictLimitNs / kNanosecondsPerSecond));
      return;
    }
    // A claim is filled within microseconds and nobody is woken for it.
    uint64_t slice = verdict == Verdict::claimed ? 100 * 1000 : kNanosecondsPerSecond;
    futex_wait(&verdicts, seen, now + slice < deadline ? now + slice : deadline);
  }
}

// Known by the time that this returns, or the session's business no more.
Entry *find_or_ask(CUfunction function, const Block &block, Verdict *verdict) {
  uint64_t handle = reinterpret_cast<uint64_t>(function);
  Entry *entry = look_up(handle, verdict);
  if (!function || !process.active.load(std::memory_order_acquire)) return entry;
  if (*verdict == Verdict::dropped) {
    bool full = false;
    if (Entry *mine = claim(handle, &full)) ask(mine, function, block);
    static std::atomic<bool> told;
    if (full) warn_once(&told, "more functions than the agent's table holds: the rest is not probed");
    entry = look_up(handle, verdict);
  }
  if (process.mode == session::kStart && (*verdict == Verdict::pending || *verdict == Verdict::claimed)) {
    wait_for_verdict(handle);
    entry = look_up(handle, verdict);
  }
  return entry;
}

bool capturing(Target target, CUstream stream) {
  if (target == Target::graph) return true;
  // In start mode every capture began through our hooks; an attach may come in the middle of one.
  if (process.mode == session::kStart && process.captures_active.load(std::memory_order_relaxed) == 0)
    return false;
  auto query = target == Target::per_thread_stream && cu.cuStreamIsCapturing_ptsz
                   ? cu.cuStreamIsCapturing_ptsz
                   : cu.cuStreamIsCapturing;
  int status = driver::kCaptureNone;
  return query && query(stream, &status) == 0 && status != driver::kCaptureNone;
}

// 0: none left for captures.
CUdeviceptr take_slot(ContextState *where, bool captured) {
  if (!captured) {
    uint32_t n = where->next_slot.fetch_add(1, std::memory_order_relaxed);
    return where->slots + kSlotBytes * static_cast<uint64_t>(n % kRingSlots);
  }
  uint32_t n = where->next_capture_slot.fetch_add(1, std::memory_order_relaxed);
  if (n < kCaptureSlots) return where->slots + kSlotBytes * static_cast<uint64_t>(kRingSlots + n);
  where->next_capture_slot.store(kCaptureSlots, std::memory_order_relaxed);
  return 0;
}

// The buffer and size in an `extra` array; false if there is no buffer or there are names we do not know.
bool read_extra(void **extra, const uint8_t **buffer, size_t *bytes) {
  *buffer = nullptr;
  *bytes = 0;
  for (; reinterpret_cast<uintptr_t>(extra[0]) != driver::kLaunchParamEnd; extra += 2) {
    uintptr_t name = reinterpret_cast<uintptr_t>(extra[0]);
    if (name == driver::kLaunchParamBufferPointer)
      *buffer = static_cast<const uint8_t *>(extra[1]);
    else if (name == driver::kLaunchParamBufferSize)
      *bytes = *static_cast<const size_t *>(extra[1]);
    else
      return false;
  }
  return *buffer != nullptr;
}

constexpr CUresult kNotLaunched = -1;  // never a CUresult: this way of redirecting is not possible

// With the two parameters appended. The driver copies all parameters before it returns.
CUresult launch_with_parameters(const Entry &entry, const LaunchArguments &arguments, CUdeviceptr slot,
                                LaunchCall call, void *closure) {
  uint64_t added[2] = {now_ns(), slot};
  if (arguments.extra) {
    const uint8_t *buffer;
    size_t bytes;
    // A buffer may be padded at its end (sizeof a struct), it cannot be shorter.
    if (!read_extra(arguments.extra, &buffer, &bytes) || bytes < entry.parameter_bytes) return kNotLaunched;
    uint32_t offset = round_up_8(entry.parameter_bytes);
    size_t size = offset + sizeof added;
    uint8_t *longer = static_cast<uint8_t *>(alloca(size));
    memset(longer, 0, offset);
    memcpy(longer, buffer, entry.parameter_bytes);
    memcpy(longer + offset, added, sizeof added);
    void *extra[] = {reinterpret_cast<void *>(driver::kLaunchParamBufferPointer), longer,
                     reinterpret_cast<void *>(driver::kLaunchParamBufferSize), &size,
                     reinterpret_cast<void *>(driver::kLaunchParamEnd)};
    return call(closure, {entry.patched, nullptr, extra});
  }
  if (entry.parameter_count && !arguments.params) return kNotLaunched;
  void **params = static_cast<void **>(alloca((entry.parameter_count + 2) * sizeof(void *)));
  if (entry.parameter_count) memcpy(params, arguments.params, entry.parameter_count * sizeof(void *));
  params[entry.parameter_count] = &added[0];
  params[entry.parameter_count + 1] = &added[1];
  return call(closure, {entry.patched, params, nullptr});
}

CUresult launch_patched(Entry *entry, const LaunchArguments &arguments, Target target, CUstream stream,
                        LaunchCall call, void *closure) {
  ContextState *where = entry->where;
  bool captured = capturing(target, stream);
  if (captured) where->captured.store(true);
  if (!(entry->flags & session::kLaunchParameters))
    return call(closure, {entry->patched, arguments.params, arguments.extra});
  CUdeviceptr slot = take_slot(where, captured);
  return slot ? launch_with_parameters(*entry, arguments, slot, call, closure) : kNotLaunched;
}

void report_failure(Entry *entry, CUfunction function, CUresult error) {
  if (entry->reported.exchange(true)) return;
  Identity identity;
  const char *cause = nullptr;
  if (error == kNotLaunched)
    cause = "its parameters could not be extended";
  else if (!cu.cuGetErrorName || cu.cuGetErrorName(error, &cause) != 0 || !cause)
    cause = "unknown CUDA error";
  push_warning("%s: a launch of the patched kernel failed (%s); the original was launched",
               identify(function, &identity) ? identity.name : "?", cause);
}

}  // namespace

CUresult launch_slowly(const LaunchArguments &arguments, Target target, CUstream stream, LaunchCall call,
                       void *closure) {
  Verdict verdict;
  Entry *entry = find_or_ask(arguments.function, arguments.block, &verdict);
  if (!entry || verdict != Verdict::probed) return call(closure, arguments);
  // Detach raises the epoch and then waits until nobody is in flight: whoever is counted here and
  // still sees `probed` is waited for.
  counters.in_flight.fetch_add(1, std::memory_order_seq_cst);
  if (verdict_of(entry->state.load(std::memory_order_seq_cst)) != Verdict::probed) {
    counters.in_flight.fetch_sub(1, std::memory_order_release);
    return call(closure, arguments);
  }
  CUresult error = launch_patched(entry, arguments, target, stream, call, closure);
  if (error == driver::kSuccess) counters.probed.fetch_add(1, std::memory_order_relaxed);
  counters.in_flight.fetch_sub(1, std::memory_order_release);
  if (error == driver::kSuccess) return error;
  CUresult original = call(closure, arguments);
  if (original == driver::kSuccess) report_failure(entry, arguments.function, error);
  return original;
}

// The hooks. Each forwards to its own original, so stream twins keep their meaning.

CUresult hook_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, CUstream stream, void **params, void **extra) {
  return redirect(
      {f, params, extra, {bx, by, bz, shared}}, Target::stream, stream, [&](const LaunchArguments &a) {
        return cu.cuLaunchKernel(a.function, gx, gy, gz, bx, by, bz, shared, stream, a.params, a.extra);
      });
}

CUresult hook_cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                  unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                                  void **extra) {
  return redirect({f, params, extra, {bx, by, bz, shared}}, Target::per_thread_stream, stream,
                  [&](const LaunchArguments &a) {
                    return cu.cuLaunchKernel_ptsz(a.function, gx, gy, gz, bx, by, bz, shared, stream,
                                                  a.params, a.extra);
                  });
}

static Block block_of(const driver::CUlaunchConfig *config) {
  if (!config) return {};
  return {config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes};
}

CUresult hook_cuLaunchKernelEx(const driver::CUlaunchConfig *config, CUfunction f, void **params,
                               void **extra) {
  return redirect(
      {f, params, extra, block_of(config)}, Target::stream, config ? config->hStream : nullptr,
      [&](const LaunchArguments &a) { return cu.cuLaunchKernelEx(config, a.function, a.params, a.extra); });
}

CUresult hook_cuLaunchKernelEx_ptsz(const driver::CUlaunchConfig *config, CUfunction f, void **params,
                                    void **extra) {
  return redirect({f, params, extra, block_of(config)}, Target::per_thread_stream,
                  config ? config->hStream : nullptr, [&](const LaunchArguments &a) {
                    return cu.cuLaunchKernelEx_ptsz(config, a.function, a.params, a.extra);
                  });
}

CUresult hook_cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                        void **params) {
  return redirect(
      {f, params, nullptr, {bx, by, bz, shared}}, Target::stream, stream, [&](const LaunchArguments &a) {
        return cu.cuLaunchCooperativeKernel(a.function, gx, gy, gz, bx, by, bz, shared, stream, a.params);
      });
}

CUresult hook_cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                             unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                             void **params) {
  return redirect({f, params, nullptr, {bx, by, bz, shared}}, Target::per_thread_stream, stream,
                  [&](const LaunchArguments &a) {
                    return cu.cuLaunchCooperativeKernel_ptsz(a.function, gx, gy, gz, bx, by, bz, shared,
                                                             stream, a.params);
                  });
}

}  // namespace egpu::agent
