// Order of work: streams, the default streams, events, callbacks, several host threads.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class Stream : public CudaTest {};

constexpr int kNotReadyStatus = 600;
void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST_F(Stream, WorkOfOneStreamIsInOrder) {
  const Handle on = stream();
  const Address values = allocate(4096);
  for (unsigned i = 0; i < 23; ++i) EXPECT_EQ(launch("append", on, values, i), 0);
  const std::vector<unsigned> got = list(values);
  ASSERT_EQ(got.size(), 23u);
  for (unsigned i = 0; i < 23; ++i) EXPECT_EQ(got[i], i);
}

TEST_F(Stream, StreamsRunBesideEachOther) {
  Flag flag;
  const Handle held = stream(), other = stream();
  const Address values = allocate(4096);
  EXPECT_EQ(launch("hold", held, flag.address()), 0);
  EXPECT_EQ(launch("append", held, values, 1u), 0);
  EXPECT_EQ(launch("append", other, values, 2u), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", other), 0);
  EXPECT_EQ(cu("cuStreamQuery", other), 0);
  EXPECT_EQ(cu("cuStreamQuery", held), kNotReadyStatus);
  flag.raise();
  EXPECT_THAT(list(values), ElementsAre(2, 1));
}

TEST_F(Stream, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  Flag flag;
  const Handle blocking = stream(), later = stream();
  const Address values = allocate(4096);
  EXPECT_EQ(launch("hold", blocking, flag.address()), 0);
  EXPECT_EQ(launch("append", blocking, values, 1u), 0);
  EXPECT_EQ(launch("append", nullptr, values, 2u), 0);  // after the blocking stream's
  EXPECT_EQ(launch("append", later, values, 3u), 0);    // after the legacy stream's
  nap();
  EXPECT_EQ(cu("cuStreamQuery", later), kNotReadyStatus);
  EXPECT_EQ(cu("cuStreamQuery", static_cast<Handle>(nullptr)), kNotReadyStatus);
  flag.raise();
  EXPECT_THAT(list(values), ElementsAre(1, 2, 3));
}

TEST_F(Stream, NonBlockingStreamsPassTheLegacyOneAndPerThreadStreamsWaitForIt) {
  Flag flag;
  const Handle free_running = stream(kStreamNonBlocking);
  const Address values = allocate(4096);
  EXPECT_EQ(launch("hold", nullptr, flag.address()), 0);
  EXPECT_EQ(launch("append", nullptr, values, 1u), 0);
  EXPECT_EQ(launch("append", free_running, values, 2u), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", free_running), 0);
  // The per-thread stream is a blocking one: it waits.
  EXPECT_EQ(launch_by("cuLaunchKernel_ptsz", function("append"), nullptr, values, 3u), 0);
  nap();
  EXPECT_EQ(cu("cuStreamQuery_ptsz", static_cast<Handle>(nullptr)), kNotReadyStatus);
  flag.raise();
  EXPECT_EQ(cu("cuStreamSynchronize_ptsz", static_cast<Handle>(nullptr)), 0);
  EXPECT_THAT(list(values), ElementsAre(2, 1, 3));
}

TEST_F(Stream, PerThreadStreamsOfTwoThreadsRunBesideEachOther) {
  Flag flag;
  const Address values = allocate(4096);
  const Handle append = function("append"), hold = function("hold");
  EXPECT_EQ(launch_by("cuLaunchKernel_ptsz", hold, nullptr, flag.address()), 0);
  std::thread([&] {
    EXPECT_EQ(cu("cuCtxSetCurrent", context), 0);
    EXPECT_EQ(launch_by("cuLaunchKernel_ptsz", append, nullptr, values, 1u), 0);
    EXPECT_EQ(cu("cuStreamSynchronize_ptsz", static_cast<Handle>(nullptr)), 0);
  }).join();
  EXPECT_EQ(cu("cuStreamQuery_ptsz", static_cast<Handle>(nullptr)), kNotReadyStatus);
  flag.raise();
  EXPECT_THAT(list(values), ElementsAre(1));
}

TEST_F(Stream, EventsOrderStreamsAndMeasureTime) {
  Flag flag;
  const Handle first = stream(), second = stream(), begin = event(), end = event();
  const Address values = allocate(4096);
  EXPECT_EQ(cu("cuEventQuery", begin), 0);  // never recorded
  float milliseconds = -1;
  EXPECT_EQ(cu("cuEventElapsedTime_v2", &milliseconds, begin, end), 400);
  EXPECT_EQ(cu("cuEventRecord", begin, first), 0);
  EXPECT_EQ(launch("hold", first, flag.address()), 0);
  EXPECT_EQ(launch("append", first, values, 1u), 0);
  EXPECT_EQ(cu("cuEventRecord", end, first), 0);
  EXPECT_EQ(cu("cuStreamWaitEvent", second, end, 0u), 0);
  EXPECT_EQ(launch("append", second, values, 2u), 0);
  nap();
  EXPECT_EQ(cu("cuEventQuery", end), kNotReadyStatus);
  EXPECT_EQ(cu("cuEventElapsedTime_v2", &milliseconds, begin, end), kNotReadyStatus);
  flag.raise();
  EXPECT_EQ(cu("cuEventSynchronize", end), 0);
  EXPECT_THAT(list(values), ElementsAre(1, 2));
  EXPECT_EQ(cu("cuEventElapsedTime_v2", &milliseconds, begin, end), 0);
  EXPECT_GE(milliseconds, 15.0f);
  EXPECT_LT(milliseconds, 60000.0f);
  EXPECT_EQ(cu("cuEventDestroy_v2", begin), 0);
}

TEST_F(Stream, HostFunctionsRunInOrderAndMustNotCallTheDriver) {
  struct Seen {
    Handle context;
    int status = -1;
    std::atomic<bool> called{false};
  } seen{context};
  Flag flag;
  const Handle on = stream();
  EXPECT_EQ(launch("hold", on, flag.address()), 0);
  void (*const host)(void *) = [](void *data) {
    auto *at = static_cast<Seen *>(data);
    at->status = cu("cuStreamSynchronize", static_cast<Handle>(nullptr));
    at->called = true;
  };
  EXPECT_EQ(cu("cuLaunchHostFunc", on, host, static_cast<void *>(&seen)), 0);
  nap();
  EXPECT_FALSE(seen.called);
  flag.raise();
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_TRUE(seen.called);
  EXPECT_EQ(seen.status, 800);

  seen.called = false;
  void (*const callback)(Handle, int, void *) = [](Handle, int status, void *data) {
    static_cast<Seen *>(data)->status = status;
    static_cast<Seen *>(data)->called = true;
  };
  EXPECT_EQ(cu("cuStreamAddCallback", on, callback, static_cast<void *>(&seen), 0u), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_TRUE(seen.called);
  EXPECT_EQ(seen.status, 0);
}

TEST_F(Stream, PageableMemoryCanBeReusedAtOnce) {
  Flag flag;
  const Handle on = stream();
  const Address to = allocate(64);
  EXPECT_EQ(launch("hold", on, flag.address()), 0);
  unsigned value = 5;
  EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", to, static_cast<const void *>(&value), sizeof value, on), 0);
  value = 6;
  flag.raise();
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(read<unsigned>(to), 5u);
}

// Each copy of a batch says when its source is read: at the call, or in the order of the stream.
TEST_F(Stream, BatchesOfCopies) {
  Flag flag;
  const Handle on = stream(kStreamNonBlocking);
  const Address to = allocate(64), from = allocate(64);
  unsigned here = 5, values[2] = {7, 8};
  EXPECT_EQ(cu("cuMemcpyHtoD_v2", from, static_cast<const void *>(values), sizeof values), 0);
  const Address targets[] = {to, to + 4, to + 12};
  const Address sources[] = {reinterpret_cast<Address>(&here), from, flag.address()};
  const size_t sizes[] = {4, 8, 4}, first[] = {0, 1};
  const CopyAttributes attributes[] = {{kSourceDuringCall, {}, {}, 0}, {kSourceInStream, {}, {}, 0}};
  const auto batch = [&](size_t count, size_t ranges, Handle stream) {
    return cu("cuMemcpyBatchAsync_v2", static_cast<const Address *>(targets),
              static_cast<const Address *>(sources), static_cast<const size_t *>(sizes), count,
              static_cast<const CopyAttributes *>(attributes), static_cast<const size_t *>(first), ranges,
              stream);
  };
  EXPECT_EQ(launch("hold", on, flag.address()), 0);
  EXPECT_EQ(batch(3, 2, on), 0);
  here = 6;
  flag.raise();
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(read<unsigned>(to), 5u);
  EXPECT_EQ(read<unsigned>(to + 8), 8u);
  EXPECT_EQ(read<unsigned>(to + 12), 1u);
  EXPECT_EQ(batch(3, 0, on), 1);
  EXPECT_EQ(batch(1, 2, on), 1);
  EXPECT_EQ(batch(3, 2, nullptr), 1);
}

TEST_F(Stream, DestroyedStreamsFinishTheirWorkInOrder) {
  Flag flag;
  const Address values = allocate(4096);
  const Handle on = stream();
  EXPECT_EQ(launch("hold", on, flag.address()), 0);
  EXPECT_EQ(launch("append", on, values, 1u), 0);
  EXPECT_EQ(cu("cuStreamDestroy_v2", on), 0);
  EXPECT_EQ(launch("append", nullptr, values, 2u), 0);  // the legacy stream still waits for it
  flag.raise();
  EXPECT_THAT(list(values), ElementsAre(1, 2));
}

TEST_F(Stream, ManyHostThreadsLaunchAtOnce) {
  const Address counter_values = allocate(4096);
  const Handle append = function("append");
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      EXPECT_EQ(cu("cuCtxSetCurrent", context), 0);
      Handle on = nullptr;
      EXPECT_EQ(cu("cuStreamCreate", &on, 1u), 0);
      for (unsigned i = 0; i < 50; ++i)
        EXPECT_EQ(launch_by("cuLaunchKernel", append, on, counter_values, t), 0);
      EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
      EXPECT_EQ(cu("cuStreamDestroy_v2", on), 0);
    });
  for (std::thread &thread : threads) thread.join();
  const std::vector<unsigned> got = list(counter_values);
  ASSERT_EQ(got.size(), 200u);
  for (unsigned t = 0; t < 4; ++t) EXPECT_EQ(std::count(got.begin(), got.end(), t), 50);
}

TEST_F(Stream, HandlesThatAreNoneAreRefused) {
  EGPU_SIMULATED_ONLY("a real driver may do anything with them");
  int unused = 0;
  const Handle on = stream(), when = event();
  EXPECT_EQ(cu("cuStreamDestroy_v2", on), 0);
  EXPECT_EQ(cu("cuStreamQuery", on), 400);
  EXPECT_EQ(cu("cuEventDestroy_v2", when), 0);
  EXPECT_EQ(cu("cuEventQuery", when), 400);
  EXPECT_EQ(cu("cuStreamSynchronize", module), 400);
  EXPECT_EQ(cu("cuStreamSynchronize", static_cast<Handle>(&unused)), 400);
  EXPECT_EQ(cu("cuEventRecord", module, static_cast<Handle>(nullptr)), 400);
  EXPECT_EQ(launch_by("cuLaunchKernel", module, nullptr), 400);
}

}  // namespace
}  // namespace egpu::sim
