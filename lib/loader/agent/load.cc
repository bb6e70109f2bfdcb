#include "lib/loader/agent/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/loader/agent/compile.h"
#include "lib/loader/agent/maps.h"
#include "lib/loader/agent/measure.h"
#include "lib/loader/agent/socket.h"

namespace egpu::agent {

using session::LoadKernel;
using session::LoadModule;

namespace {

// Bounds of a CUDA kernel's parameters: 32,764 bytes (CUDA Programming Guide, sm_70 and later).
constexpr uint32_t kMaxParameterBytes = 32764, kMaxParameters = 32764;

// The file of a `load`, read into memory of our own: a mapping would fault if it were truncated.
struct Text {
  uint8_t *bytes;
  size_t size;
};

Text read_text(int fd) {
  struct stat file;
  constexpr off_t kLimit = off_t{1} << 30;
  if (fd < 0 || fstat(fd, &file) != 0 || file.st_size <= 0 || file.st_size > kLimit) return {nullptr, 0};
  size_t size = static_cast<size_t>(file.st_size), done = 0;
  uint8_t *bytes = static_cast<uint8_t *>(malloc(size));
  while (bytes && done < size) {
    ssize_t got = pread(fd, bytes + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return {bytes, done};
}

// Is there a NUL-ended string at the offset?
bool is_string(const Text &text, uint64_t offset) {
  return offset < text.size && memchr(text.bytes + offset, 0, text.size - offset) != nullptr;
}

const char *check(const session::Load &load, const Text &text, const LoadModule *modules,
                  const LoadKernel *kernels) {
  for (uint32_t i = 0; i < load.module_count; ++i) {
    const LoadModule &m = modules[i];
    if (m.text_offset > text.size || m.text_bytes > text.size - m.text_offset || m.text_bytes == 0 ||
        text.bytes[m.text_offset + m.text_bytes - 1] != 0)
      return "a module's text is outside of the file or not NUL-ended";
  }
  for (uint32_t i = 0; i < load.kernel_count; ++i) {
    const LoadKernel &k = kernels[i];
    if (k.flags & session::kUnprobed) continue;
    if (k.module >= load.module_count) return "a kernel's module is out of range";
    if (!is_string(text, k.name_offset)) return "a kernel's name is outside of the file";
    if (k.parameter_count > kMaxParameters || k.parameter_bytes > kMaxParameterBytes)
      return "a kernel has too many parameters";
  }
  return nullptr;
}

// One module on its way from text to a loaded cubin.
struct Job {
  Compiled compiled;
  CUresult error;
  uint32_t compile_us, load_us;
  PatchedModule *module;
};

uint32_t microseconds_since(uint64_t begin_ns) { return static_cast<uint32_t>((now_ns() - begin_ns) / 1000); }

// All compiles first, then all loads back to back: each load waits for the running kernels.
void compile_and_load(ContextState *state, const session::Load &load, const Text &text,
                      const LoadModule *modules, Job *jobs) {
  for (uint32_t i = 0; i < load.module_count; ++i) {
    uint64_t begin = now_ns();
    jobs[i].error = compile_ptx(reinterpret_cast<const char *>(text.bytes + modules[i].text_offset),
                                modules[i].text_bytes, &jobs[i].compiled);
    jobs[i].compile_us = microseconds_since(begin);
  }
  for (uint32_t i = 0; i < load.module_count; ++i) {
    Job &job = jobs[i];
    if (job.error != 0) continue;
    job.module = static_cast<PatchedModule *>(calloc(1, sizeof(PatchedModule)));
    if (!job.module) {
      job.error = driver::kOutOfMemory;
      continue;
    }
    uint64_t begin = now_ns();
    job.error = cu.cuModuleLoadData(&job.module->module, job.compiled.cubin);
    job.load_us = microseconds_since(begin);
    if (job.error == 0) {
      job.module->next = state->modules;
      state->modules = job.module;
    } else {
      free(job.module);
      job.module = nullptr;
    }
  }
}

// The entry for a patched function: launched by an entry point that calls another, it passes through.
// `handle` may also be the CUfunction of a CUkernel: then it is redirected like the kernel.
void add_entry(uint64_t handle, Verdict verdict, const Entry &from, uint64_t module) {
  Verdict now;
  if (look_up(handle, &now)) return;
  bool full;
  Entry *entry = claim(handle, &full);
  if (!entry) return;
  entry->is_kernel.store(false, std::memory_order_relaxed);
  entry->context.store(from.context.load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry->module = module;
  entry->module_is_library = verdict == Verdict::probed && from.module_is_library;
  entry->patched = from.patched;
  entry->patched_module = from.patched_module;
  entry->flags = from.flags;
  entry->parameter_count = from.parameter_count;
  entry->parameter_bytes = from.parameter_bytes;
  entry->where = from.where;
  entry->original = from.handle.load(std::memory_order_relaxed);
  entry->reported = false;
  if (verdict == Verdict::probed) entry->patched_module->live.fetch_add(1);
  entry->state.store(state_word(verdict), std::memory_order_seq_cst);
}

// Pending or late -> verdict; false if the entry was dropped or decided meanwhile.
bool decide(Entry *entry, Verdict verdict) {
  uint32_t word = entry->state.load(std::memory_order_acquire);
  for (;;) {
    Verdict now = verdict_of(word);
    if (now != Verdict::pending && now != Verdict::late) return false;
    if (entry->state.compare_exchange_weak(word, state_word(verdict))) return true;
  }
}

// Null if published, else why not.
const char *publish(ContextState *state, const LoadKernel &kernel, const Text &text, const Job *jobs) {
  CUcontext context = state->handle;
  Entry *entry = find_entry(kernel.function, context);
  if (!entry) return nullptr;  // unloaded while it was being patched
  Verdict now = verdict_of(entry->state.load());
  if (now != Verdict::pending && now != Verdict::late) return nullptr;
  if (kernel.flags & session::kUnprobed) {
    decide(entry, Verdict::unprobed);
    return nullptr;
  }
  PatchedModule *module = jobs[kernel.module].module;
  const char *why = nullptr;
  if (!module)
    why = "module was not loaded";
  else if (cu.cuModuleGetFunction(&entry->patched, module->module,
                                  reinterpret_cast<const char *>(text.bytes + kernel.name_offset)) != 0)
    why = "not found in its patched module";
  else if (cu.cuFuncLoad &&
           cu.cuFuncLoad(entry->patched) != 0)  // lazy loading would do it at the first launch
    why = "could not be loaded";
  else if ((kernel.flags & session::kLaunchParameters) && make_slots(state) != 0)
    why = "no device memory for launch slots";
  if (why) {
    decide(entry, Verdict::unprobed);
    return why;
  }
  entry->flags = kernel.flags;
  entry->parameter_count = kernel.parameter_count;
  entry->parameter_bytes = kernel.parameter_bytes;
  entry->where = state;
  entry->patched_module = module;
  entry->reported = false;
  if (uint8_t config = entry->cache_config; config && cu.cuFuncSetCacheConfig)
    cu.cuFuncSetCacheConfig(entry->patched, config - 1);
  if (uint8_t config = entry->shared_config; config && cu.cuFuncSetSharedMemConfig)
    cu.cuFuncSetSharedMemConfig(entry->patched, config - 1);
  copy_attributes(*entry);
  add_entry(reinterpret_cast<uint64_t>(entry->patched), Verdict::patched, *entry,
            reinterpret_cast<uint64_t>(module->module));
  // In start mode this would load the original, which is never launched; there the hooks see who asks for it.
  CUfunction twin = nullptr;
  if (process.mode == session::kAttach && entry->is_kernel && cu.cuKernelGetFunction &&
      cu.cuKernelGetFunction(&twin, reinterpret_cast<CUkernel>(kernel.function)) == 0 && twin)
    add_entry(reinterpret_cast<uint64_t>(twin), Verdict::probed, *entry, entry->module);
  module->live.fetch_add(1);
  if (!decide(entry, Verdict::probed)) module->live.fetch_sub(1);
  // Once more: the target may have set one after the first copy and before the hooks saw `probed`.
  copy_attributes(*entry);
  if (kernel.flags & session::kMeasure) measure(*entry, kernel);
  return nullptr;
}

void answer(uint32_t index, const Job &job) {
  session::Loaded loaded = {index, job.error == 0, job.compile_us, job.load_us};
  const char *log = job.compiled.errors[0] ? job.compiled.errors : job.compiled.remarks;
  char text[64];
  if (job.error != 0 && !log[0]) {
    const char *name = nullptr;
    if (!cu.cuGetErrorName || cu.cuGetErrorName(job.error, &name) != 0 || !name) name = "unknown CUDA error";
    strncpy(text, name, sizeof text - 1);
    text[sizeof text - 1] = 0;
    log = text;
  }
  send_packet(session::Kind::loaded, &loaded, sizeof loaded, log, strlen(log) + 1);
}

}  // namespace

void copy_attributes(const Entry &entry) {
  // Larger first: a preferred carve-out may need the dynamic size to be allowed.
  constexpr int kAttributes[] = {driver::kFuncMaxDynamicSharedBytes,  driver::kFuncPreferredCarveout,
                                 driver::kFuncNonPortableClusterSize, driver::kFuncRequiredClusterWidth,
                                 driver::kFuncRequiredClusterHeight,  driver::kFuncRequiredClusterDepth,
                                 driver::kFuncClusterSchedulingPolicy};
  uint64_t handle = entry.handle.load(std::memory_order_relaxed);
  for (int attribute : kAttributes) {
    int wanted = 0, has = 0;
    CUresult error = driver::kInvalidHandle;
    if (!entry.is_kernel)
      error = cu.cuFuncGetAttribute(&wanted, attribute, reinterpret_cast<CUfunction>(handle));
    else if (cu.cuKernelGetAttribute)
      error = cu.cuKernelGetAttribute(&wanted, attribute, reinterpret_cast<CUkernel>(handle),
                                      entry.where->device);
    if (error != 0 || cu.cuFuncGetAttribute(&has, attribute, entry.patched) != 0 || wanted == has) continue;
    // Fails for what the PTX fixes (.reqnctapercluster): then the patched module says the same.
    cu.cuFuncSetAttribute(entry.patched, attribute, wanted);
  }
}

void load_modules(const session::Load &load, int fd) {
  Text text = read_text(fd);
  if (fd >= 0) close(fd);
  size_t tables = load.module_count * sizeof(LoadModule) + load.kernel_count * sizeof(LoadKernel);
  ContextState *state = find_context(reinterpret_cast<CUcontext>(load.context));
  const char *why = nullptr;
  if (!text.bytes || text.size < tables) why = "the file is shorter than its tables";
  const LoadModule *modules = reinterpret_cast<const LoadModule *>(text.bytes);
  const LoadKernel *kernels = reinterpret_cast<const LoadKernel *>(modules + load.module_count);
  if (!why) why = check(load, text, modules, kernels);
  if (!why && (!state || !enter_context(state->handle))) why = "the context is gone";
  Job *jobs = why ? nullptr : static_cast<Job *>(calloc(load.module_count + size_t{1}, sizeof(Job)));
  if (!jobs) {
    send_warning("load: %s", why ? why : "out of memory");
    // Launches wait for these: they get their original kernels.
    for (uint32_t i = 0; text.size >= tables && i < load.kernel_count; ++i)
      if (Entry *entry = find_entry(kernels[i].function, reinterpret_cast<CUcontext>(load.context)))
        decide(entry, Verdict::unprobed);
    wake_launches();
    // egpu-load waits for one answer per module.
    session::Loaded refused = {0, 0, 0, 0};
    const char *log = why ? why : "out of memory";
    for (; text.size >= tables && refused.module < load.module_count; ++refused.module)
      send_packet(session::Kind::loaded, &refused, sizeof refused, log, strlen(log) + 1);
    free(text.bytes);
    return;
  }
  compile_and_load(state, load, text, modules, jobs);
  for (uint32_t i = 0; i < load.kernel_count; ++i)
    if (const char *cause = publish(state, kernels[i], text, jobs);
        cause && jobs[kernels[i].module].error == 0)
      send_warning("%s: %s", reinterpret_cast<const char *>(text.bytes + kernels[i].name_offset), cause);
  wake_launches();
  for (uint32_t i = 0; i < load.module_count; ++i) {
    answer(i, jobs[i]);
    free_compiled(&jobs[i].compiled);
  }
  free(jobs);
  free(text.bytes);
}

void look_up_globals(const session::WantGlobals &want, const char *names, size_t bytes) {
  session::Globals fixed = {want.module, 0, 0};
  if (want.count > bytes) {
    send_warning("want_globals: fewer names than it says");
    return;
  }
  uint64_t *addresses = static_cast<uint64_t *>(calloc(want.count + size_t{1}, sizeof(uint64_t)));
  if (!addresses) return;
  // A function may be told as its library's although it is a CUfunction itself.
  bool is_library = want.is_library;
  for_each_entry([&](Entry &entry, Verdict) {
    if (entry.module == want.module) is_library = entry.module_is_library;
  });
  bool here = enter_context(reinterpret_cast<CUcontext>(want.context)) != nullptr;
  for (const char *end = names + bytes; fixed.count < want.count && names < end; ++fixed.count) {
    size_t length = strnlen(names, static_cast<size_t>(end - names));
    if (names + length == end) break;  // not NUL-ended
    CUdeviceptr address = 0;
    size_t size = 0;
    CUresult error = driver::kNotFound;
    if (here && is_library) {
      CUlibrary library = reinterpret_cast<CUlibrary>(want.module);
      if (cu.cuLibraryGetGlobal) error = cu.cuLibraryGetGlobal(&address, &size, library, names);
      if (error != 0 && cu.cuLibraryGetManaged)
        error = cu.cuLibraryGetManaged(&address, &size, library, names);
    } else if (here) {
      error = cu.cuModuleGetGlobal_v2(&address, &size, reinterpret_cast<CUmodule>(want.module), names);
    }
    addresses[fixed.count] = error == 0 ? address : 0;
    names += length + 1;
  }
  send_packet(session::Kind::globals, &fixed, sizeof fixed, addresses, fixed.count * sizeof(uint64_t));
  free(addresses);
}

}  // namespace egpu::agent
