#include "lib/sim/driver/work.h"

#include <cstring>

#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/array.h"
#include "lib/sim/driver/capture.h"

namespace egpu::sim {
namespace {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

// CUDA Driver API, CUresult: which error a fault leaves behind.
Status status_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::illegal_address:
      return kIllegalAddress;
    case Fault::misaligned_address:
      return kMisalignedAddress;
    case Fault::illegal_instruction:
      return kIllegalInstruction;
    case Fault::assertion:
      return kAssert;
    case Fault::not_simulated:
      return kNotSupported;
    case Fault::trap:
    case Fault::deadlock:
    case Fault::uninitialized_shared:
      return kLaunchFailed;
  }
  return kLaunchFailed;
}

void run_kernel(const KernelWork &work, Context &context) {
  Fault fault{};
  fault.kind = Fault::trap;
  const Result<Ok> done = context.machine().run(work.launch, &fault);
  if (!done)
    driver().fail(status_of(fault.kind), fault.message.empty() ? done.error().message : fault.message);
}

const char *from_address(const Copy3D &copy) {
  const char *base = copy.from_type == kMemoryHost ? static_cast<const char *>(copy.from_host)
                                                   : reinterpret_cast<const char *>(copy.from_device);
  return base + (copy.from_z * copy.from_height + copy.from_y) * copy.from_pitch + copy.from_x_bytes;
}

char *to_address(const Copy3D &copy) {
  char *base = copy.to_type == kMemoryHost ? static_cast<char *>(copy.to_host)
                                           : reinterpret_cast<char *>(copy.to_device);
  return base + (copy.to_z * copy.to_height + copy.to_y) * copy.to_pitch + copy.to_x_bytes;
}

void run_copy(const CopyWork &work) {
  Copy3D copy;
  if (resolve_arrays(work.copy, &copy) != kSuccess) {
    driver().fail(kIllegalAddress, "a copy's array has been destroyed");
    return;
  }
  const char *from = work.staged ? reinterpret_cast<const char *>(work.staged->data()) : from_address(copy);
  char *to = to_address(copy);
  for (size_t z = 0; z < copy.depth; ++z)
    for (size_t y = 0; y < copy.height; ++y)
      std::memmove(to + (z * copy.to_height + y) * copy.to_pitch,
                   from + (z * copy.from_height + y) * copy.from_pitch, copy.width_bytes);
}

void run_memset(const MemsetNodeParams &params) {
  for (size_t y = 0; y < params.height; ++y) {
    char *row = reinterpret_cast<char *>(params.to + y * params.pitch);
    if (params.element_bytes == 1) {
      std::memset(row, static_cast<int>(params.value), params.width);
      continue;
    }
    for (size_t x = 0; x < params.width; ++x)
      std::memcpy(row + x * params.element_bytes, &params.value, params.element_bytes);
  }
}

void run_event(const EventWork &work) {
  const EventRecord record = work.event->record();
  if (work.is_wait) {
    if (record.fence) record.fence->wait();
    return;
  }
  auto fence = std::make_shared<Fence>();
  fence->signal();
  work.event->set_record({fence, std::make_shared<std::atomic<int64_t>>(now_ns())});
}

void run_host(const HostNodeParams &params) {
  ThreadState &thread = thread_state();
  thread.in_callback = true;
  params.function(params.user_data);
  thread.in_callback = false;
}

// First and last byte of one end of a copy: rows are `width` bytes, `pitch` apart.
void extent(Address base, size_t x, size_t y, size_t z, size_t pitch, size_t rows, const Copy3D &copy,
            Address *first, uint64_t *size_bytes) {
  *first = base + (z * rows + y) * pitch + x;
  *size_bytes = ((copy.depth - 1) * rows + copy.height - 1) * pitch + copy.width_bytes;
}

// One end, no array: a device pointer must be device memory, "unified" is whatever it is.
Status check_end(int *type, Address address, uint64_t size_bytes) {
  if (*type == kMemoryHost) return address ? kSuccess : kInvalidValue;
  if (*type != kMemoryDevice && *type != kMemoryUnified) return kInvalidValue;
  if (is_device_range(address, size_bytes)) return kSuccess;
  if (*type == kMemoryDevice || !address) return kInvalidValue;
  uint64_t base = 0, size = 0;
  if (device_of(address, &base, &size))
    return kInvalidValue;  // starts in device memory and runs over its end
  *type = kMemoryHost;
  return kSuccess;
}

}  // namespace

NodeType type_of(const Work &work) {
  return std::visit(
      Overload{[](const KernelWork &) { return kNodeKernel; }, [](const CopyWork &) { return kNodeMemcpy; },
               [](const MemsetWork &) { return kNodeMemset; }, [](const HostWork &) { return kNodeHost; },
               [](const std::shared_ptr<const GraphWork> &) { return kNodeGraph; },
               [](const EmptyWork &) { return kNodeEmpty; },
               [](const EventWork &event) { return event.is_wait ? kNodeWaitEvent : kNodeEventRecord; },
               [](const MemoryOpWork &) { return kNodeMemoryOps; },
               [](const GraphMemoryWork &memory) {
                 return memory.is_free ? kNodeMemoryFree : kNodeMemoryAllocation;
               }},
      work);
}

void run(const Work &work, Context &context) {
  if (driver().status() != kSuccess) return;
  std::visit(Overload{[&](const KernelWork &kernel) { run_kernel(kernel, context); },
                      [](const CopyWork &copy) { run_copy(copy); },
                      [](const MemsetWork &set) { run_memset(set.params); },
                      [](const HostWork &host) { run_host(host.params); },
                      [&](const std::shared_ptr<const GraphWork> &graph) {
                        for (size_t i = 0; i < graph->steps.size(); ++i)
                          if (!graph->is_disabled[i]) run(graph->steps[i], context);
                      },
                      [](const EmptyWork &) {}, [](const EventWork &event) { run_event(event); },
                      [](const MemoryOpWork &memory) { run_memory_ops(memory); },
                      [](const GraphMemoryWork &work_of_memory) {
                        work_of_memory.is_free ? work_of_memory.memory->vanish()
                                               : work_of_memory.memory->appear();
                      }},
             work);
}

Status submit(Stream &stream, Work work, std::shared_ptr<Fence> *fence) {
  const std::lock_guard lock(stream.context.order);
  if (stream.capture) return capture_work(stream, std::move(work));
  CU_TRY(check_not_implicit(stream));
  Context &context = stream.context;
  auto held = std::make_shared<Work>(std::move(work));
  const std::shared_ptr<Fence> done = stream.enqueue([held, &context] { run(*held, context); });
  if (fence) *fence = done;
  return kSuccess;
}

Status check_copy(Copy3D &copy) {
  if (copy.width_bytes == 0 || copy.height == 0 || copy.depth == 0) return kSuccess;
  Copy3D at;
  CU_TRY(resolve_arrays(copy, &at));
  if (at.height > 1 && (at.from_pitch < at.width_bytes || at.to_pitch < at.width_bytes)) return kInvalidValue;
  Address from = at.from_type == kMemoryHost ? reinterpret_cast<Address>(at.from_host) : at.from_device;
  Address to = at.to_type == kMemoryHost ? reinterpret_cast<Address>(at.to_host) : at.to_device;
  Address first = 0;
  uint64_t size_bytes = 0;
  extent(from, at.from_x_bytes, at.from_y, at.from_z, at.from_pitch, at.from_height, at, &first, &size_bytes);
  CU_TRY(check_end(&at.from_type, first, size_bytes));
  if (copy.from_type == kMemoryUnified && at.from_type == kMemoryHost) {
    copy.from_type = kMemoryHost;
    copy.from_host = reinterpret_cast<const void *>(from);
  }
  extent(to, at.to_x_bytes, at.to_y, at.to_z, at.to_pitch, at.to_height, at, &first, &size_bytes);
  CU_TRY(check_end(&at.to_type, first, size_bytes));
  if (copy.to_type == kMemoryUnified && at.to_type == kMemoryHost) {
    copy.to_type = kMemoryHost;
    copy.to_host = reinterpret_cast<void *>(to);
  }
  return kSuccess;
}

Status check_memset(const MemsetNodeParams &params) {
  if (params.element_bytes != 1 && params.element_bytes != 2 && params.element_bytes != 4)
    return kInvalidValue;
  if (params.width == 0 || params.height == 0) return kSuccess;
  if (params.to % params.element_bytes) return kInvalidValue;
  const uint64_t row_bytes = params.width * params.element_bytes;
  if (params.height > 1 && params.pitch < row_bytes) return kInvalidValue;
  return is_device_range(params.to, (params.height - 1) * params.pitch + row_bytes) ? kSuccess
                                                                                    : kInvalidValue;
}

}  // namespace egpu::sim
