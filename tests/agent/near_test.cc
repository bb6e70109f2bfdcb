#include "lib/loader/agent/near.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace {

using egpu::agent::find_gap;

constexpr uint64_t kPage = 4096, kGuard = 64 * kPage;

TEST(FindGap, Table) {
  struct Case {
    const char *name, *maps;
    uint64_t low, high, want;
  };
  const Case cases[] = {
      {"below the driver",
       "7f0000000000-7f0000100000 r-xp 0 00:00 0 a\n7f0010000000-7f0010200000 r-xp 0 00:00 0 libcuda\n"
       "7f0010200000-7fffffff0000 r-xp 0 00:00 0 b\n",
       0x7f0010000000, 0x7f0010200000, 0x7f0010000000 - kGuard - kPage},
      {"above is nearer",
       "7f0000000000-7f0010200000 r-xp 0 00:00 0 libcuda\n7f0020000000-7fffffffe000 rw-p 0 00:00 0 [stack]\n",
       0x7f0010000000, 0x7f0010200000, 0x7f0010200000 + kGuard},
      {"gap too small", "10000-7f0010200000 r-xp 0 00:00 0 a\n7f0010201000-7f0090300000 r-xp 0 00:00 0 b\n",
       0x7f0010000000, 0x7f0010200000, 0},
      {"too far", "10000-7f0010200000 r-xp 0 00:00 0 a\n7f0010200000-7f00a0000000 r-xp 0 00:00 0 b\n",
       0x7f0010000000, 0x7f0010200000, 0},
      {"garbage", "hello\n", 0x7f0010000000, 0x7f0010200000, 0},
  };
  for (const Case &c : cases) EXPECT_EQ(find_gap(c.maps, c.low, c.high, kPage), c.want) << c.name;
}

TEST(MapNear, IsInReachAndExecutable) {
  uint64_t here = reinterpret_cast<uint64_t>(&mmap);
  uint64_t at = egpu::agent::map_near(here, here + 100, kPage);
  ASSERT_NE(at, 0u);
  EXPECT_LT(at > here ? at - here : here - at, uint64_t{1} << 31);
  *reinterpret_cast<uint8_t *>(at) = 0xc3;  // ret
  reinterpret_cast<void (*)()>(at)();
  munmap(reinterpret_cast<void *>(at), kPage);
}

}  // namespace
