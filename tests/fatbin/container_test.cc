#include "lib/loader/fatbin/container.h"

#include <gtest/gtest.h>

#include "tests/fatbin/data.h"

using namespace egpu::fatbin;

namespace {

TEST(Container, WalksAllEntries) {
  auto bytes = read_data("many.fatbin");
  ASSERT_FALSE(bytes.empty());
  ASSERT_TRUE(is_fatbin(bytes.data(), bytes.size()));
  EXPECT_EQ(fatbin_bytes(bytes.data()), bytes.size());
  Walk walk;
  ASSERT_TRUE(walk.open(bytes.data(), bytes.size()));
  std::vector<std::pair<uint32_t, uint64_t>> seen;
  while (walk.next()) {
    EXPECT_EQ(walk.entry.kind, kPtx);
    seen.emplace_back(walk.entry.arch, walk.entry.flags & (kArchSpecific | kFamily));
  }
  EXPECT_EQ(walk.cause, nullptr);
  EXPECT_EQ(seen, (std::vector<std::pair<uint32_t, uint64_t>>{
                      {75, 0}, {90, 0}, {90, kArchSpecific}, {100, kFamily}, {120, 0}}));
}

TEST(Container, NamesWhatIsMalformed) {
  struct Case {
    const char *name;
    size_t offset;
    uint64_t value;
    size_t value_bytes;
    const char *cause;
  };
  // Offsets in small_fatbin(): the entry header is at 16.
  constexpr Case kCases[] = {
      {"magic", 0, 0xBA55ED51, 4, "not a fatbin header"},
      {"version", 4, 2, 2, "not a fatbin header"},
      {"header size", 6, 24, 2, "not a fatbin header"},
      {"size over the end", 8, 1000, 8, "fatbin is cut off"},
      {"size wraps around", 8, ~uint64_t{0}, 8, "fatbin is cut off"},
      {"size too small for the entry", 8, 70, 8, "entry's payload is cut off"},
      {"size too small for a header", 8, 63, 8, "entry header is cut off"},
      {"entry header of 0", 20, 0, 4, "entry header has an absurd size"},
      {"entry header of 4 GiB", 20, 0xffffffff, 4, "entry header has an absurd size"},
      {"entry header over the end", 20, 4096, 4, "entry header is cut off"},
      {"payload over the end", 24, 1000, 8, "entry's payload is cut off"},
      {"payload wraps around", 24, ~uint64_t{0} - 63, 8, "entry's payload is cut off"},
      {"compressed size", 32, 1000, 4, "entry's compressed size is over its payload's size"},
      {"options record", 36, 60, 4, "entry's options lie outside its header"},
      {"options record far away", 36, 0xfffffff0, 4, "entry's options lie outside its header"},
  };
  for (const Case &c : kCases) {
    auto bytes = small_fatbin(".version 9.0\n");
    std::memcpy(bytes.data() + c.offset, &c.value, c.value_bytes);
    Walk walk;
    walk.open(bytes.data(), bytes.size());
    while (walk.next()) {
    }
    ASSERT_NE(walk.cause, nullptr) << c.name;
    EXPECT_STREQ(walk.cause, c.cause) << c.name;
  }
}

TEST(Container, OptionsTextMustLieInTheHeader) {
  auto bytes = small_fatbin(".version 9.0\n");
  store<uint32_t>(bytes, 36, 56);       // record at 56 of 64
  store<uint32_t>(bytes, 16 + 56, 40);  // text at 40
  store<uint32_t>(bytes, 16 + 60, 25);  // one byte too long
  Walk walk;
  walk.open(bytes.data(), bytes.size());
  EXPECT_FALSE(walk.next());
  EXPECT_STREQ(walk.cause, "entry's options lie outside its header");
  store<uint32_t>(bytes, 16 + 60, 24);
  walk.open(bytes.data(), bytes.size());
  EXPECT_TRUE(walk.next());
  EXPECT_EQ(walk.entry.options_bytes, 24u);
}

TEST(Container, EmptyFatbinHasNoEntries) {
  std::vector<uint8_t> bytes = small_fatbin("");
  bytes.resize(16);
  store<uint64_t>(bytes, 8, 0);
  Walk walk;
  ASSERT_TRUE(walk.open(bytes.data(), bytes.size()));
  EXPECT_FALSE(walk.next());
  EXPECT_EQ(walk.cause, nullptr);
}

}  // namespace
