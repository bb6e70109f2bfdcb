// Stream-ordered allocation and memory pools. Every pool is the device's memory: nothing is kept.
#pragma once
#include "lib/sim/driver/stream.h"

namespace egpu::sim {

class Pool : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::pool;
  explicit Pool(Device &its_device) : Object(kKind), device(its_device) {}
  Device &device;
  std::atomic<uint64_t> release_threshold{0};
  std::atomic<bool> is_default{false};

  /// Whether kernels of the other device may use the pool's memory.
  void set_access(Device &other, bool is_allowed);
  std::vector<Device *> accessing_devices() const;

 private:
  mutable std::mutex mutex_;
  std::set<Device *> accessing_;
};

/// The pool that the device allocates from; its own one if none has been set.
std::shared_ptr<Pool> current_pool(Device &device);
/// The other devices that may use the pool's memory.
std::vector<Device *> devices_of_pool(Handle pool);

/// `stream` may be null: kInvalidHandle. In a captured one they become nodes of its graph.
Status allocate_in_order(Stream *stream, Pool &pool, size_t size_bytes, Address *address);
Status free_in_order(Stream *stream, Address address);

}  // namespace egpu::sim
