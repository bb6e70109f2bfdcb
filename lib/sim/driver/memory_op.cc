#include "lib/sim/driver/memory_op.h"

#include <chrono>
#include <thread>
#include <type_traits>

#include "lib/sim/driver/allocation.h"

namespace egpu::sim {
namespace {

constexpr unsigned kMostOperations = 255;
constexpr auto kPause = std::chrono::microseconds(20);

enum Comparison : unsigned { kAtLeast, kEqual, kAnd, kNor, kComparisons };

// Device memory and page-locked host memory, but no managed memory.
bool is_usable(Address address, uint64_t size_bytes) {
  if (address % size_bytes) return false;
  Allocation allocation;
  if (find_allocation(address, &allocation)) return allocation.kind != Allocation::managed;
  return is_device_range(address, size_bytes);
}

Status check(const MemoryOp &operation) {
  switch (operation.type) {
    case kWaitValue32:
    case kWaitValue64:
      if (operation.flags >= kComparisons) return kInvalidValue;
      return is_usable(operation.address, operation.type == kWaitValue32 ? 4 : 8) ? kSuccess : kInvalidValue;
    case kWriteValue32:
    case kWriteValue64:
      if (operation.flags != 0) return kInvalidValue;
      return is_usable(operation.address, operation.type == kWriteValue32 ? 4 : 8) ? kSuccess : kInvalidValue;
    case kMemoryBarrier:
      return operation.barrier_flags <= 1 ? kSuccess : kInvalidValue;
    case kFlushRemoteWrites:
      return kNotSupported;  // CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES is 0
    default:
      return kInvalidValue;
  }
}

template <class Word>
bool holds(Word now, Word value, unsigned comparison) {
  switch (comparison) {
    case kAtLeast:  // cyclic
      return static_cast<std::make_signed_t<Word>>(static_cast<Word>(now - value)) >= 0;
    case kEqual:
      return now == value;
    case kAnd:
      return (now & value) != 0;
    default:
      return static_cast<Word>(~(now | value)) != 0;
  }
}

template <class Word>
void wait(const MemoryOp &operation) {
  const auto *at = reinterpret_cast<const Word *>(operation.address);
  const auto value = static_cast<Word>(operation.value);
  while (!holds(__atomic_load_n(at, __ATOMIC_SEQ_CST), value, operation.flags) &&
         driver().status() == kSuccess)
    std::this_thread::sleep_for(kPause);
}

template <class Word>
void write(const MemoryOp &operation) {
  __atomic_store_n(reinterpret_cast<Word *>(operation.address), static_cast<Word>(operation.value),
                   __ATOMIC_SEQ_CST);
}

}  // namespace

Status memory_op_work(const MemoryOp *operations, unsigned count, unsigned flags, MemoryOpWork *work) {
  if ((count && !operations) || count > kMostOperations || flags != 0) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) CU_TRY(check(operations[i]));
  work->operations.assign(operations, operations + count);
  return kSuccess;
}

void run_memory_ops(const MemoryOpWork &work) {
  for (const MemoryOp &operation : work.operations) {
    switch (operation.type) {
      case kWaitValue32:
        wait<uint32_t>(operation);
        break;
      case kWaitValue64:
        wait<uint64_t>(operation);
        break;
      case kWriteValue32:
        write<uint32_t>(operation);
        break;
      case kWriteValue64:
        write<uint64_t>(operation);
        break;
      default:
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
  }
}

}  // namespace egpu::sim
