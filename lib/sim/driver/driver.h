// The process's simulated driver: devices, contexts, and what each host thread has current.
// All of it is made once and never freed (see object.h).
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lib/sim/driver/object.h"
#include "lib/sim/machine/machine.h"

namespace egpu::sim {

class Context;
class Stream;

inline constexpr uint64_t kDeviceBytes = uint64_t{16} << 30;  // of a device's memory

struct Device {
  Ordinal ordinal = 0;
  std::unique_ptr<Machine> machine;
  Context *primary = nullptr;
  std::mutex mutex;  // guards the two below
  int primary_references = 0;
  unsigned primary_flags = 0;
};

class Context : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::context;
  Context(Device &device, bool is_primary, unsigned flags);

  Device &device;
  const bool is_primary;
  const uint64_t id;
  unsigned flags;
  std::atomic<bool> destroyed{false};  // a primary one: until it is retained again

  /// Waits for all that was enqueued on all streams before the call.
  Status synchronize();
  /// Frees modules, streams, events and memory; the context is as new (primary) or dead.
  void reset();

  Machine &machine() const { return *device.machine; }
  Stream &legacy_stream();
  Stream &per_thread_stream();  // of the calling thread

  std::mutex order;  // guards the order of enqueuing over all streams, and capture states
  std::set<std::shared_ptr<Stream>> streams;  // all of them; guarded by `order`

  // CUlimit: stack, printf buffer, malloc heap of kernels. Remembered; nothing runs out here.
  std::array<std::atomic<size_t>, 3> limits{1024, size_t{1} << 20, size_t{8} << 20};

  void adopt(Handle owned);  // destroyed with the context: modules, events
  void disown(Handle owned);

 private:
  std::shared_ptr<Stream> legacy_;
  std::mutex owned_mutex_;
  std::set<Handle> owned_;
};

struct ThreadState {
  std::vector<Context *> stack;                          // the last one is current
  std::map<Context *, std::shared_ptr<Stream>> streams;  // this thread's default streams
  int capture_mode = kCaptureGlobal;
  bool in_callback = false, in_injection = false;
};
ThreadState &thread_state();

struct Driver {
  /// The error that all further calls give in all contexts: a kernel's fault is for good (CUDA Driver API,
  /// CUDA_ERROR_ILLEGAL_ADDRESS: "the process must be terminated").
  Status status() const { return static_cast<Status>(fault.load(std::memory_order_acquire)); }
  /// Makes the first fault the status and prints why.
  void fail(Status status, const std::string &why);

  std::atomic<bool> initialized{false};
  std::atomic<int> fault{kSuccess};
  std::vector<std::unique_ptr<Device>> devices;
};
Driver &driver();

/// The object of a handle, or `missing`; an error too before cuInit.
template <class T>
Status require(Handle handle, Status missing, std::shared_ptr<T> *object) {
  if (!driver().initialized) return kNotInitialized;
  *object = find<T>(handle);
  return *object ? kSuccess : missing;
}

/// Makes the devices that the environment asks for. Idempotent.
Status initialize_devices();

/// The device, or null if there is no such ordinal.
Device *find_device(Ordinal ordinal);

/// The current context if it can be used: else the error to return.
Status current_context(Context **context);

// Declares `context`, or returns the reason there is none.
#define CU_CONTEXT(context)                                                                            \
  ::egpu::sim::Context *context = nullptr;                                                             \
  if (const ::egpu::sim::Status status_ = ::egpu::sim::current_context(&context); status_ != kSuccess) \
  return status_
// Returns if the expression is an error.
#define CU_TRY(expression) \
  if (const ::egpu::sim::Status status_ = (expression); status_ != kSuccess) return status_

}  // namespace egpu::sim
