// What a stream can be asked to do and a graph node can hold: the same descriptions for both.
#pragma once
#include <variant>

#include "lib/sim/driver/graph_memory.h"
#include "lib/sim/driver/memory_op.h"
#include "lib/sim/driver/stream.h"

namespace egpu::sim {

struct KernelWork {
  Handle function = nullptr;  // as launched: a CUfunction or a CUkernel
  Launch launch;
  std::vector<CUlaunchAttribute> attributes;  // what the program has set, for it to read back
};
struct CopyWork {
  Copy3D copy{};
  std::shared_ptr<std::vector<unsigned char>> staged;  // pageable source, copied at the call
};
struct MemsetWork {
  MemsetNodeParams params{};
};
struct HostWork {
  HostNodeParams params{};
};
struct EventWork {
  std::shared_ptr<Event> event;
  bool is_wait = false;
};
struct EmptyWork {};
struct GraphWork;

using Work = std::variant<KernelWork, CopyWork, MemsetWork, HostWork, std::shared_ptr<const GraphWork>,
                          EmptyWork, EventWork, MemoryOpWork, GraphMemoryWork>;

struct GraphWork {
  std::vector<Work> steps;  // in an order that keeps the dependencies
  std::vector<bool> is_disabled;
  std::vector<std::shared_ptr<void>> resources;  // user objects, kept while it may run
};

NodeType type_of(const Work &work);

/// Does it, on the calling thread. After a fault nothing is done any more.
void run(const Work &work, Context &context);

/// Gives the work to the stream, or adds it to the graph that the stream is captured into.
/// `fence` may be null; it stays empty when captured.
Status submit(Stream &stream, Work work, std::shared_ptr<Fence> *fence = nullptr);

/// Are the ends of the copy memory that it may touch? Fills in which end is host memory.
Status check_copy(Copy3D &copy);
Status check_memset(const MemsetNodeParams &params);

}  // namespace egpu::sim
