// Memory that graphs allocate. Its address is fixed when the allocation node is made; the memory is there
// from that node's run to a free node's, or until it is freed as other memory is.
//
// A program may launch or free only what the order of its calls allows; whether the memory is there follows
// in the order of the streams. Source: CUDA Driver API, cuGraphAddMemAllocNode.
#pragma once
#include "lib/sim/driver/stream.h"

namespace egpu::sim {

struct GraphWork;

class GraphMemory : public std::enable_shared_from_this<GraphMemory> {
 public:
  /// Null: too large.
  static std::shared_ptr<GraphMemory> make(Context &context, uint64_t size_bytes);
  GraphMemory(Context &its_context, Address its_base, uint64_t its_size_bytes)
      : context(its_context), base(its_base), size_bytes(its_size_bytes) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory &) = delete;
  GraphMemory &operator=(const GraphMemory &) = delete;

  Context &context;
  const Address base;
  const uint64_t size_bytes;
  /// By the order of calls: launched, and not freed since.
  std::atomic<bool> is_given{false};

  /// What the nodes do.
  void appear();
  void vanish();
};

struct GraphMemoryWork {
  std::shared_ptr<GraphMemory> memory;
  bool is_free = false;
};

/// The memory of a graph that the address is in, whether it is there now or not; null: none.
std::shared_ptr<GraphMemory> find_graph_memory(Address address);
bool is_graph_memory(Address address, uint64_t size_bytes);
/// Bytes of the device that are there now, and the most so far.
struct GraphMemoryUse {
  uint64_t now_bytes, most_bytes;
};
GraphMemoryUse graph_memory_use(const Device &device);
void reset_most_graph_memory(const Device &device);

/// Before a launch: kInvalidValue if something that it allocates has not been freed since the last one
/// (`frees_first`: it is now), or what it frees is not allocated.
Status give_graph_memory(Stream &stream, const GraphWork &work, bool frees_first);
bool has_graph_memory(const GraphWork &work);

}  // namespace egpu::sim
