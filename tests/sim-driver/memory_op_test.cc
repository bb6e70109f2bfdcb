// Memory operations of streams and graphs.
#include "lib/sim/driver/memory_op.h"

#include <chrono>
#include <thread>

#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

constexpr int kNotReadyStatus = 600;

class MemoryOps : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    int has_64_bits = 0;
    ASSERT_EQ(cu("cuDeviceGetAttribute", &has_64_bits, 122, 0), 0);
    if (!has_64_bits) GTEST_SKIP() << "a device without memory operations of 64 bits";
  }
  int wait32(Handle on, Address at, uint32_t value, unsigned flags = 0) {
    return cu("cuStreamWaitValue32_v2", on, at, value, flags);
  }
  int wait64(Handle on, Address at, uint64_t value, unsigned flags = 0) {
    return cu("cuStreamWaitValue64_v2", on, at, value, flags);
  }
  int write32(Handle on, Address at, uint32_t value, unsigned flags = 0) {
    return cu("cuStreamWriteValue32_v2", on, at, value, flags);
  }
  int write64(Handle on, Address at, uint64_t value, unsigned flags = 0) {
    return cu("cuStreamWriteValue64_v2", on, at, value, flags);
  }
  // Does the stream reach its end in this time?
  bool ends(Handle on) {
    for (int i = 0; i < 40; ++i) {
      if (cu("cuStreamQuery", on) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
};

struct Wait {
  const char *name;
  bool is_64;
  unsigned flags;
  uint64_t wanted, not_yet, then;
};

TEST_F(MemoryOps, WhatAWaitWaitsFor) {
  const Wait table[] = {
      {"at least", false, 0, 5, 4, 5},
      {"at least: cyclic", false, 0, 5, 0xfffffff0, 9},
      {"at least: beyond the end", false, 0, 0xfffffff0, 0xffffffe0, 2},
      {"equal", false, 1, 5, 6, 5},
      {"and", false, 2, 6, 9, 12},
      {"nor", false, 3, 0xffff0000, 0xffff, 0xfffe},
      {"at least, 64 bits", true, 0, uint64_t{1} << 40, 7, uint64_t{1} << 41},
      {"equal, 64 bits", true, 1, uint64_t{1} << 40 | 1, 1, uint64_t{1} << 40 | 1},
      {"and, 64 bits", true, 2, uint64_t{1} << 40, ~(uint64_t{1} << 40), uint64_t{1} << 40},
      {"nor, 64 bits", true, 3, 0xffffffff, 0xffffffffull << 32, 0xfffffffeull << 32},
  };
  const Handle on = stream(kStreamNonBlocking), other = stream(kStreamNonBlocking);
  const Address at = allocate(8);
  for (const Wait &row : table) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(write64(on, at, row.not_yet), 0);
    EXPECT_EQ(row.is_64 ? wait64(on, at, row.wanted, row.flags)
                        : wait32(on, at, static_cast<uint32_t>(row.wanted), row.flags),
              0);
    EXPECT_FALSE(ends(on));
    EXPECT_EQ(row.is_64 ? write64(other, at, row.then) : write32(other, at, static_cast<uint32_t>(row.then)),
              0);
    EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  }
}

TEST_F(MemoryOps, HostMemoryAndKernelsInOrder) {
  Flag flag;
  const Handle on = stream();
  const Address values = allocate(4096), mark = flag.address() + 4;
  EXPECT_EQ(launch("append", on, values, 1u), 0);
  EXPECT_EQ(wait32(on, flag.address(), 1, 1), 0);
  EXPECT_EQ(launch("append", on, values, 2u), 0);
  EXPECT_EQ(write32(on, mark, 17), 0);
  EXPECT_FALSE(ends(on));
  flag.raise();
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(static_cast<unsigned *>(flag.memory)[1], 17u);
  EXPECT_EQ(list(values), (std::vector<unsigned>{1, 2}));
}

TEST_F(MemoryOps, WhatIsRefused) {
  const Handle on = stream();
  const Address at = allocate(64);
  Address managed = 0;
  ASSERT_EQ(cu("cuMemAllocManaged", &managed, size_t{64}, 1u), 0);
  unsigned plain = 0;
  MemoryOp none{};
  expect_all({
      {"null", 1, [&] { return wait32(on, 0, 1); }},
      {"pageable memory", 1, [&] { return write32(on, reinterpret_cast<Address>(&plain), 1); }},
      {"managed memory", 1, [&] { return write32(on, managed, 1); }},
      {"misaligned", 1, [&] { return write32(on, at + 2, 1); }},
      {"misaligned for 64 bits", 1, [&] { return wait64(on, at + 4, 1); }},
      {"no such comparison", 1, [&] { return wait32(on, at, 1, 4); }},
      {"no such write", 1, [&] { return write32(on, at, 1, 2); }},
      {"an empty batch", 0, [&] { return cu("cuStreamBatchMemOp_v2", on, 0u, &none, 0u); }},
      {"no such operation", 1, [&] { return cu("cuStreamBatchMemOp_v2", on, 1u, &none, 0u); }},
      {"nothing of it is done", 0, [&] { return cu("cuStreamSynchronize", on); }},
  });
  EXPECT_EQ(read<unsigned>(at), 0u);
}

MemoryOp operation(MemoryOpType type, Address at, uint64_t value, unsigned flags = 0) {
  MemoryOp made{};
  made.type = type;
  made.address = at;
  made.value = value;
  made.flags = flags;
  return made;
}

TEST_F(MemoryOps, BatchesAndNodes) {
  const Handle on = stream(kStreamNonBlocking);
  const Address at = allocate(64);
  MemoryOp batch[] = {operation(kWriteValue32, at, 3), operation(kWaitValue32, at, 3, 1),
                      operation(kWriteValue64, at + 8, uint64_t{5} << 32)};
  EXPECT_EQ(cu("cuStreamBatchMemOp_v2", on, 3u, static_cast<MemoryOp *>(batch), 0u), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(read<unsigned>(at), 3u);
  EXPECT_EQ(read<uint64_t>(at + 8), uint64_t{5} << 32);

  // Captured, it is a node whose operations can be changed in the executable.
  Handle graph = nullptr, exec = nullptr, node = nullptr;
  size_t count = 1;
  EXPECT_EQ(cu("cuStreamBeginCapture_v2", on, int{kCaptureGlobal}), 0);
  EXPECT_EQ(write32(on, at, 7), 0);
  ASSERT_EQ(cu("cuStreamEndCapture", on, &graph), 0);
  EXPECT_EQ(read<unsigned>(at), 3u);
  ASSERT_EQ(cu("cuGraphGetNodes", graph, &node, &count), 0);
  int type = -1;
  EXPECT_EQ(cu("cuGraphNodeGetType", node, &type), 0);
  EXPECT_EQ(type, kNodeMemoryOps);
  MemoryOpNodeParams params{};
  EXPECT_EQ(cu("cuGraphBatchMemOpNodeGetParams", node, &params), 0);
  ASSERT_EQ(params.count, 1u);
  EXPECT_EQ(params.operations[0].type, kWriteValue32);
  EXPECT_EQ(static_cast<uint32_t>(params.operations[0].value), 7u);
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(read<unsigned>(at), 7u);
  batch[0].value = 9;
  params = {context, 1, batch, 0};
  EXPECT_EQ(
      cu("cuGraphExecBatchMemOpNodeSetParams", exec, node, static_cast<const MemoryOpNodeParams *>(&params)),
      0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(read<unsigned>(at), 9u);
}

}  // namespace
}  // namespace egpu::sim
