#include "lib/sim/driver/driver.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/module.h"
#include "lib/sim/driver/peer.h"
#include "lib/sim/driver/stream.h"

namespace egpu::sim {
namespace {

uint64_t next_context_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

// A number from the environment; a malformed one is said once and ignored.
uint64_t number_from(const char *name, uint64_t standard, uint64_t lowest, uint64_t highest) {
  const char *text = std::getenv(name);
  if (!text || !*text) return standard;
  char *end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 0);
  if (*end == 0 && value >= lowest && value <= highest) return value;
  std::fprintf(stderr, "egpu-sim: warning: %s=%s: not a number from %llu to %llu, using %llu\n", name, text,
               static_cast<unsigned long long>(lowest), static_cast<unsigned long long>(highest),
               static_cast<unsigned long long>(standard));
  return standard;
}

DeviceConfig config_from_environment() {
  DeviceConfig config;
  config.sm_count = static_cast<uint32_t>(number_from("EGPU_SIM_SMS", 4, 1, 1024));
  config.host_threads = static_cast<uint32_t>(number_from("EGPU_SIM_THREADS", 0, 0, 1024));
  config.seed = number_from("EGPU_SIM_SEED", 0, 0, UINT64_MAX);
  config.check_shared = number_from("EGPU_SIM_CHECK_SHARED", 0, 0, 1) != 0;
  if (const char *path = std::getenv("EGPU_SIM_TRACE_FILE"); path && *path) {
    Result<std::shared_ptr<Trace>> trace = open_trace_file(path);
    if (trace)
      config.trace = *trace;
    else
      std::fprintf(stderr, "egpu-sim: warning: EGPU_SIM_TRACE_FILE=%s\n", trace.error().message.c_str());
  }
  if (const char *text = std::getenv("EGPU_SIM_CC"); text && *text) {
    int major = 0, minor = 0, used = 0;
    if (std::sscanf(text, "%d.%d%n", &major, &minor, &used) == 2 && !text[used] && major >= 5 &&
        major <= 20 && minor >= 0 && minor <= 9) {
      config.compute_major = major;
      config.compute_minor = minor;
    } else {
      std::fprintf(stderr, "egpu-sim: warning: EGPU_SIM_CC=%s: not like 9.0, using %d.%d\n", text,
                   config.compute_major, config.compute_minor);
    }
  }
  return config;
}

// Thread states: a plain thread-local pointer, because C++ thread-locals are destroyed before
// atexit handlers run and those still call the driver. Ended threads' states are freed by the key.
thread_local ThreadState *this_thread = nullptr;

pthread_key_t thread_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void *state) {
      this_thread = nullptr;
      auto *ended = static_cast<ThreadState *>(state);
      for (const auto &[context, stream] : ended->streams) {
        const std::lock_guard lock(context->order);
        if (!stream->closed()) stream->retire_after_work();
      }
      delete ended;
    });
    return made;
  }();
  return key;
}

}  // namespace

ThreadState &thread_state() {
  if (!this_thread) {
    this_thread = new ThreadState;
    pthread_setspecific(thread_key(), this_thread);
  }
  return *this_thread;
}

Driver &driver() {
  static Driver &driver = *new Driver;
  return driver;
}

Status initialize_devices() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Driver &all = driver();
  if (all.initialized) return kSuccess;
  const DeviceConfig config = config_from_environment();
  const uint64_t count = number_from("EGPU_SIM_DEVICES", 1, 0, 64);
  for (uint64_t i = 0; i < count; ++i) {
    auto device = std::make_unique<Device>();
    device->ordinal = static_cast<Ordinal>(i);
    device->machine = Machine::create(config);
    if (!device->machine) return kNoDevice;
    device->machine->memory().set_limit(kDeviceBytes);
    auto primary = std::make_shared<Context>(*device, true, 0);
    device->primary = primary.get();
    publish(std::move(primary));
    all.devices.push_back(std::move(device));
  }
  if (count == 0) return kNoDevice;
  all.initialized = true;
  return kSuccess;
}

Device *find_device(Ordinal ordinal) {
  Driver &all = driver();
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= all.devices.size()) return nullptr;
  return all.devices[static_cast<size_t>(ordinal)].get();
}

Status current_context(Context **context) {
  if (!driver().initialized.load(std::memory_order_acquire)) return kNotInitialized;
  ThreadState &thread = thread_state();
  if (thread.in_callback)
    return kNotPermitted;  // Driver API, cuLaunchHostFunc: "must not make CUDA API calls"
  if (thread.stack.empty() || !thread.stack.back()) return kInvalidContext;
  *context = thread.stack.back();
  if ((*context)->destroyed) return kContextIsDestroyed;
  return driver().status();
}

Context::Context(Device &its_device, bool primary, unsigned its_flags)
    : Object(kKind), device(its_device), is_primary(primary), id(next_context_id()), flags(its_flags) {}

void Driver::fail(Status status, const std::string &why) {
  int expected = kSuccess;
  if (!fault.compare_exchange_strong(expected, status)) return;
  std::fprintf(stderr, "egpu-sim: error %d: %s\n", static_cast<int>(status), why.c_str());
}

Stream &Context::legacy_stream() {
  const std::lock_guard lock(order);
  if (!legacy_) {
    legacy_ = std::make_shared<Stream>(*this, StreamRole::legacy, 0, 0);
    streams.insert(legacy_);
  }
  return *legacy_;
}

Stream &Context::per_thread_stream() {
  std::shared_ptr<Stream> &stream = thread_state().streams[this];
  const std::lock_guard lock(order);
  if (!stream || stream->closed()) stream = std::make_shared<Stream>(*this, StreamRole::per_thread, 0, 0);
  streams.insert(stream);
  return *stream;
}

Status Context::synchronize() {
  std::vector<std::shared_ptr<Fence>> fences;
  {
    const std::lock_guard lock(order);
    for (const std::shared_ptr<Stream> &stream : streams)
      if (std::shared_ptr<Fence> last = stream->last_fence()) fences.push_back(std::move(last));
  }
  for (const std::shared_ptr<Fence> &fence : fences) fence->wait();
  return driver().status();
}

void Context::adopt(Handle owned) {
  const std::lock_guard lock(owned_mutex_);
  owned_.insert(owned);
}

void Context::disown(Handle owned) {
  const std::lock_guard lock(owned_mutex_);
  owned_.erase(owned);
}

void Context::reset() {
  synchronize();
  forget_peer_access(*this);
  {
    const std::lock_guard lock(order);
    for (const std::shared_ptr<Stream> &stream : streams) {
      if (stream->role == StreamRole::created) retire(handle_of(*stream));
      stream->close();
    }
    streams.clear();
    legacy_.reset();
  }
  std::set<Handle> owned;
  {
    const std::lock_guard lock(owned_mutex_);
    owned.swap(owned_);
  }
  for (Handle handle : owned) {
    if (const std::shared_ptr<LoadedModule> module = find<LoadedModule>(handle))
      module->unload();
    else
      retire(handle);
  }
  free_allocations_of(*this);
}

}  // namespace egpu::sim
