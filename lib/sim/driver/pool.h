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
};

/// `stream` may be null: kInvalidHandle. Memory nodes of graphs are not simulated: kNotSupported.
Status allocate_in_order(Context &context, Stream *stream, size_t size_bytes, Address *address);
Status free_in_order(Stream *stream, Address address);

}  // namespace egpu::sim
