// The printk ring: formats, order, incomplete and damaged records.
#include "lib/loader/map/printk.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lib/loader/map/layout.h"

namespace egpu::map {
namespace {

TEST(Printk, Formats) {
  struct Row {
    const char *format;
    std::vector<uint64_t> arguments;
    const char *expected;
  };
  const Row rows[] = {
      {"plain", {}, "plain"},
      {"%d %u", {0xffffffffffffffff, 0xffffffffffffffff}, "-1 4294967295"},
      {"%lld %lu %ld", {0xffffffffffffffff, 0xffffffffffffffff, 1}, "-1 18446744073709551615 1"},
      {"%x %llX %#x", {0xabcdef0123, 0xabcdef0123, 16}, "cdef0123 ABCDEF0123 0x10"},
      {"[%5d|%-5d|%05d]", {42, 42, 42}, "[   42|42   |00042]"},
      {"%p %c%%", {0x7f00, 'Z'}, "0x7f00 Z%"},
      {"%hhd %hu", {0x1ff, 0x12345}, "-1 9029"},
      {"%.3d", {5}, "005"},
      {"%s and %d", {1, 2}, "%s and 2"},
      {"%d %d", {1}, "1 %d"},
      {"end %", {1}, "end %"},
      {"%n%d", {1, 2}, "%n2"},
      {"%ll", {1}, "%ll"},
  };
  for (const Row &row : rows) EXPECT_EQ(format_printk(row.format, row.arguments), row.expected) << row.format;
  EXPECT_EQ(format_printk("%99999999d", {1}).size(), 256u);
  EXPECT_EQ(format_printk("%.99999999d", {1}).size(), 256u);
}

class Ring : public ::testing::Test {
 protected:
  void SetUp() override {
    maps.resize(2);
    maps[0].spec.name = ".rodata";
    const char formats[] = "n=%d\n\0second %d";
    maps[0].spec.initial.assign(formats, formats + sizeof formats);
    maps[1].spec.name = "printk";
    maps[1].spec.shape = {Type::ringbuf, 0, 0, 4};
    maps[1].block.resize(block_bytes(maps[1].spec.shape, 1));
  }
  PrintkHeader *header() { return reinterpret_cast<PrintkHeader *>(maps[1].block.data()); }
  PrintkRecord *put(uint64_t position, uint32_t offset, uint64_t argument) {
    auto *records = reinterpret_cast<PrintkRecord *>(maps[1].block.data() + sizeof(PrintkHeader));
    records[position % 4] = {position + 1, 1000 + position, 0, offset, 3, 9, 1, 0, {argument, 0, 0}};
    header()->head = std::max(header()->head, position + 1);
    return &records[position % 4];
  }
  std::vector<MapData> maps;
};

TEST_F(Ring, LinesComeInOrderAndOnce) {
  put(0, 0, 23), put(1, 6, 24);
  auto batch = read_printk(maps, 1, 0);
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_EQ(batch->lines.size(), 2u);
  EXPECT_EQ(batch->lines[0].text, "n=23");
  EXPECT_EQ(batch->lines[0].time_ns, 1000u);
  EXPECT_EQ(batch->lines[0].kernel, 3u);
  EXPECT_EQ(batch->lines[0].site, 9u);
  EXPECT_EQ(batch->lines[1].text, "second 24");
  EXPECT_EQ(batch->tail, 2u);
  EXPECT_TRUE(read_printk(maps, 1, 2)->lines.empty());
}

TEST_F(Ring, WrapsAround) {
  for (uint64_t i = 0; i < 6; i++) put(i, 0, i);
  header()->tail = 2;
  auto batch = read_printk(maps, 1, 0);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->lines.size(), 4u);
  EXPECT_EQ(batch->lines[0].text, "n=2");
  EXPECT_EQ(batch->lines[3].text, "n=5");
}

TEST_F(Ring, AnIncompleteRecordStopsTheReaderThere) {
  put(0, 0, 1);
  put(1, 0, 2)->sequence = 0;
  put(2, 0, 3);
  header()->dropped = 8;
  auto batch = read_printk(maps, 1, 0);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->lines.size(), 1u);
  EXPECT_EQ(batch->tail, 1u);
  EXPECT_EQ(batch->dropped, 8u);
}

TEST_F(Ring, DamageIsAnError) {
  put(0, 17, 1);  // beyond the constants
  EXPECT_FALSE(read_printk(maps, 1, 0));
  put(0, 0, 1)->map = 2;
  EXPECT_FALSE(read_printk(maps, 1, 0));
  put(0, 0, 1);
  EXPECT_FALSE(read_printk(maps, 1, 7));  // ahead of the GPU
  header()->head = 100;                   // more than the ring holds
  EXPECT_FALSE(read_printk(maps, 1, 0));
  header()->head = 1;
  maps[1].block.resize(8);
  EXPECT_FALSE(read_printk(maps, 1, 0));
  EXPECT_FALSE(read_printk(maps, 0, 0));
}

}  // namespace
}  // namespace egpu::map
