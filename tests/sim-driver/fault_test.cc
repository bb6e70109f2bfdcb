// Sticky errors: a kernel's fault is the answer to every later call.
#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

class Fault : public CudaTest {};

TEST_F(Fault, IllegalAddressSticks) {
  in_own_process([&] {
    const Address values = allocate(64);
    EXPECT_EQ(launch("store", nullptr, Address{0x10}, 1u), 0);  // the launch itself succeeds
    EXPECT_EQ(cu("cuCtxSynchronize"), 700);
    Address address = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &address, size_t{64}), 700);
    unsigned value = 0;
    EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&value), values, size_t{4}), 700);
    EXPECT_EQ(cu("cuStreamSynchronize", static_cast<Handle>(nullptr)), 700);
  });
}

TEST_F(Fault, WorkBehindAFaultIsNotDone) {
  in_own_process([&] {
    Flag flag, list;  // host memory: it can be read after the fault
    const Address misaligned = allocate(64) + 1;
    EXPECT_EQ(launch("hold", nullptr, flag.address()), 0);
    EXPECT_EQ(launch("store", nullptr, misaligned, 1u), 0);
    EXPECT_EQ(launch("append", nullptr, list.address(), 5u), 0);
    flag.raise();
    EXPECT_EQ(cu("cuCtxSynchronize"), 716);
    EXPECT_EQ(*static_cast<unsigned *>(list.memory), 0u);
  });
}

TEST_F(Fault, MisalignedAddress) {
  in_own_process([&] {
    const Address values = allocate(64);
    EXPECT_EQ(launch("store", nullptr, values + 2, 1u), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), 716);
  });
}

TEST_F(Fault, PastTheEndOfAnAllocation) {
  EGPU_SIMULATED_ONLY("a GPU maps whole pages");
  in_own_process([&] {
    const Address values = allocate(64);
    EXPECT_EQ(launch("store", nullptr, values + 60, 1u), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    EXPECT_EQ(launch("store", nullptr, values + 64, 1u), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), 700);
  });
}

TEST_F(Fault, FreedMemory) {
  in_own_process([&] {
    const Address values = allocate(64);
    EXPECT_EQ(cu("cuMemFree_v2", values), 0);
    EXPECT_EQ(cu("cuMemFree_v2", values), 1);
    EXPECT_EQ(launch("store", nullptr, values, 1u), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), 700);
  });
}

TEST_F(Fault, Trap) {
  in_own_process([&] {
    EXPECT_EQ(launch("stop", nullptr), 0);
    EXPECT_EQ(cu("cuCtxSynchronize"), 719);
  });
}

TEST_F(Fault, CopiesAreCheckedAtTheCall) {
  const Address values = allocate(64);
  unsigned char bytes[128] = {};
  EXPECT_EQ(cu("cuMemcpyHtoD_v2", values, static_cast<const void *>(bytes), size_t{65}), 1);
  EXPECT_EQ(cu("cuMemcpyHtoD_v2", Address{16}, static_cast<const void *>(bytes), size_t{4}), 1);
  EXPECT_EQ(cu("cuMemsetD32_v2", values + 2, 0u, size_t{1}), 1);
  EXPECT_EQ(cu("cuMemsetD32_v2", values, 0u, size_t{17}), 1);
  EXPECT_EQ(cu("cuMemcpyHtoD_v2", values, static_cast<const void *>(bytes), size_t{64}), 0);
}

}  // namespace
}  // namespace egpu::sim
