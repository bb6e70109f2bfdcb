// Memory operations of streams: waiting for a value in memory, writing one; one by one, batched, and as
// nodes of graphs. Only the second version of the API, as on the H200.
//
// A wait asks the memory again and again, on the stream's thread: nobody says when it changes.
// Source: CUDA Driver API, "Stream Memory Operations".
#pragma once
#include <vector>

#include "lib/sim/driver/driver.h"

namespace egpu::sim {

enum MemoryOpType : int {
  kWaitValue32 = 1,
  kWriteValue32 = 2,
  kFlushRemoteWrites = 3,
  kWaitValue64 = 4,
  kWriteValue64 = 5,
  kMemoryBarrier = 6,
};

struct MemoryOpWork {
  std::vector<MemoryOp> operations;
};

/// The operations as work; kInvalidValue: the address, the alignment, the type, the flags or the count.
Status memory_op_work(const MemoryOp *operations, unsigned count, unsigned flags, MemoryOpWork *work);
/// Does them in order; a fault ends the waiting.
void run_memory_ops(const MemoryOpWork &work);

}  // namespace egpu::sim
