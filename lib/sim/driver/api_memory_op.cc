// Memory operations of streams.
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/work.h"

using namespace egpu::sim;

namespace {

Status submit_all(DefaultStream which, Handle handle, const MemoryOp *operations, unsigned count,
                  unsigned flags) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  MemoryOpWork work;
  CU_TRY(memory_op_work(operations, count, flags, &work));
  return submit(*stream, std::move(work));
}

Status submit_one(DefaultStream which, Handle stream, MemoryOpType type, Address address, uint64_t value,
                  unsigned flags) {
  MemoryOp operation{};
  operation.type = type;
  operation.address = address;
  operation.value = value;
  operation.flags = flags;
  return submit_all(which, stream, &operation, 1, 0);
}

}  // namespace

CU_STREAM_API(cuStreamWaitValue32_v2, _ptsz, (Handle stream, Address address, uint32_t value, unsigned flags),
              (stream, address, value, flags)) {
  return submit_one(which, stream, kWaitValue32, address, value, flags);
}
CU_STREAM_API(cuStreamWaitValue64_v2, _ptsz, (Handle stream, Address address, uint64_t value, unsigned flags),
              (stream, address, value, flags)) {
  return submit_one(which, stream, kWaitValue64, address, value, flags);
}
CU_STREAM_API(cuStreamWriteValue32_v2, _ptsz,
              (Handle stream, Address address, uint32_t value, unsigned flags),
              (stream, address, value, flags)) {
  return submit_one(which, stream, kWriteValue32, address, value, flags);
}
CU_STREAM_API(cuStreamWriteValue64_v2, _ptsz,
              (Handle stream, Address address, uint64_t value, unsigned flags),
              (stream, address, value, flags)) {
  return submit_one(which, stream, kWriteValue64, address, value, flags);
}
CU_STREAM_API(cuStreamBatchMemOp_v2, _ptsz,
              (Handle stream, unsigned count, MemoryOp *operations, unsigned flags),
              (stream, count, operations, flags)) {
  return submit_all(which, stream, operations, count, flags);
}
