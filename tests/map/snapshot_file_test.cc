// The snapshot file: what is written comes back; what is damaged gives an Error.
#include "lib/loader/map/snapshot_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "lib/loader/map/shards.h"
#include "lib/loader/map/snapshot_format.h"

namespace egpu::map {
namespace {

MapSpec make_map(std::string name, Shape shape, bool sharded = false) {
  MapSpec spec;
  spec.name = std::move(name), spec.shape = shape;
  spec.sharded = spec.summed = sharded;
  return spec;
}

class SnapshotFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/dev/shm/egpu-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/maps";
    maps_ = {make_map("launches", {Type::hash, 4, 8, 16}, true), make_map(".rodata", {Type::array, 4, 8, 1}),
             make_map("hist", {Type::percpu_array, 4, 512, 3}),
             make_map("printk", {Type::ringbuf, 0, 0, 64})};
    maps_[0].unit = "ns", maps_[0].key_type_id = 3, maps_[0].value_type_id = 5;
    maps_[1].initial = {1, 2, 3, 4, 5, 6, 7, 8}, maps_[1].read_only = maps_[1].internal = true;
    maps_[2].sharded = true;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Result<SnapshotFile> create() { return SnapshotFile::create(path_, session_, maps_, {9, 8, 7}); }

  std::string directory_, path_;
  SessionInfo session_{4711, "./vecadd 23", "kcount.bpf.o", "Test GPU", 7, 9, 0, 123456789};
  std::vector<MapSpec> maps_;
};

TEST_F(SnapshotFileTest, WhatIsWrittenComesBack) {
  auto writer = create();
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(writer->add_kernel(3, "_Z6vecaddPf", "vecadd(float*)"));
  ASSERT_TRUE(writer->add_site(11, 3, "vecadd.cu:12"));
  const auto &blocks = writer->blocks();
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].shard_count, 7u);
  EXPECT_EQ(blocks[0].stride_bytes, shard_bytes(maps_[0].shape));
  EXPECT_EQ(blocks[1].stride_bytes, 0u);
  EXPECT_EQ(blocks[2].shard_count, 7u);
  EXPECT_EQ(writer->last_shard(), 6u);
  ASSERT_TRUE(writer->begin_update());
  std::vector<uint8_t> content(blocks[2].size_bytes, 0x5a);
  ASSERT_EQ(pwrite(writer->fd(), content.data(), content.size(), static_cast<off_t>(blocks[2].file_offset)),
            static_cast<ssize_t>(content.size()));
  ASSERT_TRUE(writer->end_update(777, true));

  auto reader = SnapshotFile::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  auto snapshot = reader->read();
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->session.pid, 4711);
  EXPECT_EQ(snapshot->session.command, "./vecadd 23");
  EXPECT_EQ(snapshot->session.object, "kcount.bpf.o");
  EXPECT_EQ(snapshot->session.device_name, "Test GPU");
  EXPECT_EQ(snapshot->session.compute_major, 9u);
  EXPECT_EQ(snapshot->session.start_ns, 123456789u);
  EXPECT_EQ(snapshot->time_ns, 777u);
  EXPECT_TRUE(snapshot->is_final);
  EXPECT_EQ(snapshot->btf, (std::vector<uint8_t>{9, 8, 7}));
  ASSERT_EQ(snapshot->maps.size(), 4u);
  EXPECT_EQ(snapshot->maps[0].spec.name, "launches");
  EXPECT_EQ(snapshot->maps[0].spec.unit, "ns");
  EXPECT_EQ(snapshot->maps[0].spec.value_type_id, 5u);
  EXPECT_TRUE(snapshot->maps[0].spec.summed);
  EXPECT_TRUE(snapshot->maps[1].spec.read_only);
  EXPECT_EQ(snapshot->maps[1].spec.initial, maps_[1].initial);
  EXPECT_EQ(std::memcmp(snapshot->maps[1].block.data(), maps_[1].initial.data(), 8), 0);
  EXPECT_EQ(snapshot->maps[2].block, content);
  auto one = reader->read_one(2);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->maps[2].block, content);
  EXPECT_TRUE(one->maps[0].block.empty());
  EXPECT_EQ(one->time_ns, 777u);
  EXPECT_FALSE(reader->read_one(4));
  EXPECT_EQ(snapshot->kernels.at(3).printable, "vecadd(float*)");
  EXPECT_EQ(snapshot->kernels.at(3).mangled, "_Z6vecaddPf");
  EXPECT_EQ(snapshot->sites.at(11).where, "vecadd.cu:12");
  EXPECT_EQ(snapshot->sites.at(11).kernel, 3u);
}

TEST_F(SnapshotFileTest, OnlyTheUserMayReadIt) {
  auto writer = create();
  ASSERT_TRUE(writer);
  struct stat st{};
  ASSERT_EQ(stat(path_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(SnapshotFileTest, NamesArriveWhileReadersAreThere) {
  auto writer = create();
  auto reader = SnapshotFile::open(path_);
  ASSERT_TRUE(reader);
  for (uint32_t i = 0; i < 301; i++) {
    ASSERT_TRUE(writer->add_kernel(i, "k" + std::to_string(i), "kernel " + std::to_string(i)));
    if (i % 100 == 0) {
      auto snapshot = reader->read(false);
      ASSERT_TRUE(snapshot);
      EXPECT_EQ(snapshot->kernels.size(), i + 1);
      EXPECT_EQ(snapshot->kernels.at(i).printable, "kernel " + std::to_string(i));
      EXPECT_TRUE(snapshot->maps[0].block.empty());
    }
  }
}

// A writer fills a block with one byte per update; no reader may see two different bytes.
TEST_F(SnapshotFileTest, ReadersNeverSeeHalfAnUpdate) {
  auto writer = create();
  ASSERT_TRUE(writer);
  std::atomic<bool> stop = false;
  std::thread thread([&] {
    const auto &block = writer->blocks()[2];
    for (uint64_t i = 1; !stop; i++) {
      std::vector<uint8_t> content(block.size_bytes, static_cast<uint8_t>(i));
      if (!writer->begin_update()) return;
      if (pwrite(writer->fd(), content.data(), content.size(), static_cast<off_t>(block.file_offset)) < 0)
        return;
      if (!writer->end_update(i)) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  auto reader = SnapshotFile::open(path_);
  ASSERT_TRUE(reader);
  for (int i = 0; i < 300; i++) {
    auto snapshot = reader->read();
    ASSERT_TRUE(snapshot) << snapshot.error().message;
    for (uint8_t byte : snapshot->maps[2].block) ASSERT_EQ(byte, static_cast<uint8_t>(snapshot->time_ns));
  }
  stop = true;
  thread.join();
}

TEST_F(SnapshotFileTest, AnUpdateThatNeverEndsIsAnError) {
  auto writer = create();
  ASSERT_TRUE(writer->begin_update());
  auto snapshot = SnapshotFile::open(path_)->read();
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().message.find("being updated"), std::string::npos);
}

TEST_F(SnapshotFileTest, ShrinkingUnderAReaderIsAnError) {
  auto writer = create();
  auto reader = SnapshotFile::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(truncate(path_.c_str(), 4096), 0);
  auto snapshot = reader->read();
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().message.find("truncated"), std::string::npos) << snapshot.error().message;
}

TEST_F(SnapshotFileTest, OtherFilesAreRefused) {
  EXPECT_FALSE(SnapshotFile::open(directory_ + "/none"));
  EXPECT_FALSE(SnapshotFile::open(directory_));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(SnapshotFile::open(path_));
  ASSERT_EQ(unlink(path_.c_str()), 0);
  close(::open(path_.c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_FALSE(SnapshotFile::open(path_));
}

// Every 8-byte field of the fixed part set to values that overflow, and random damage: an Error or
// a snapshot, never a crash (the dev preset runs this under ASan and UBSan).
TEST_F(SnapshotFileTest, DamagedFilesNeverCrash) {
  auto writer = create();
  ASSERT_TRUE(writer->add_kernel(1, "a", "b"));
  ASSERT_TRUE(writer->add_site(1, 1, "c"));
  int fd = ::open(path_.c_str(), O_RDWR);
  std::vector<uint8_t> good(sizeof(format::FileHeader) + 4 * sizeof(format::FileMap));
  ASSERT_EQ(pread(fd, good.data(), good.size(), 0), static_cast<ssize_t>(good.size()));
  int refused = 0;
  auto attempt = [&](const std::vector<uint8_t> &bytes) {
    ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    auto file = SnapshotFile::open(path_);
    if (!file || !file->read(false)) refused++;
  };
  const uint64_t values[] = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, 0xffffffff, 0x7fffffffffffffff, 4096};
  for (size_t offset = 0; offset + 8 <= good.size(); offset += 4) {
    for (uint64_t value : values) {
      auto bytes = good;
      std::memcpy(bytes.data() + offset, &value, sizeof value);
      attempt(bytes);
    }
  }
  std::mt19937_64 random(20251);
  for (int i = 0; i < 2000; i++) {
    auto bytes = good;
    for (int n = 0; n < 3; n++) bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    attempt(bytes);
  }
  EXPECT_GT(refused, 1000);
  // The rows and the heap's offsets in them.
  attempt(good);
  auto rows = reinterpret_cast<const format::FileHeader *>(good.data())->kernel_rows_offset;
  for (size_t offset = 0; offset < sizeof(format::KernelRow); offset += 8) {
    for (uint64_t value : values) {
      uint64_t before = 0;
      ASSERT_EQ(pread(fd, &before, 8, static_cast<off_t>(rows + offset)), 8);
      ASSERT_EQ(pwrite(fd, &value, 8, static_cast<off_t>(rows + offset)), 8);
      auto file = SnapshotFile::open(path_);
      ASSERT_TRUE(file);
      (void)file->read(false);
      ASSERT_EQ(pwrite(fd, &before, 8, static_cast<off_t>(rows + offset)), 8);
    }
  }
  close(fd);
}

TEST(Shards, Plan) {
  struct Row {
    const char *name;
    std::vector<MapSpec> maps;
    uint64_t budget;
    std::vector<uint32_t> expected;
  };
  MapSpec percpu = make_map("p", {Type::percpu_array, 4, 8, 4});
  const Row rows[] = {
      {"small maps are split", {make_map("a", {Type::array, 4, 8, 1}, true)}, kShardBudgetBytes, {132}},
      {"only if asked", {make_map("a", {Type::array, 4, 8, 1})}, kShardBudgetBytes, {1}},
      {"too large", {make_map("a", {Type::array, 4, 8, 1 << 20}, true)}, kShardBudgetBytes, {1}},
      {"the large one yields",
       {make_map("large", {Type::hash, 8, 24, 65536}, true),
        make_map("small", {Type::array, 4, 512, 1}, true)},
       kShardBudgetBytes,
       {1, 132}},
      {"no budget, but percpu stays", {make_map("a", {Type::array, 4, 8, 1}, true), percpu}, 0, {1, 132}},
  };
  for (const Row &row : rows) {
    auto plan = plan_shards(row.maps, 132, row.budget);
    ASSERT_TRUE(plan) << row.name;
    EXPECT_EQ(*plan, row.expected) << row.name;
  }
  EXPECT_FALSE(plan_shards({}, 0));
  EXPECT_FALSE(plan_shards({}, 1 << 20));
}

TEST(Shards, ImpossibleShapes) {
  const Shape shapes[] = {{Type{3}, 4, 8, 1},
                          {Type::array, 8, 8, 1},
                          {Type::array, 4, 0, 1},
                          {Type::array, 4, 8, 0},
                          {Type::hash, 0, 8, 1},
                          {Type::hash, 513, 8, 1},
                          {Type::hash, 4, 0xffffffff, 1},
                          {Type::hash, 4, 8, 0xffffffff},
                          {Type::array, 4, 64 << 20, 1 << 28},
                          {Type::ringbuf, 0, 0, 1 << 28}};
  for (const Shape &shape : shapes) EXPECT_FALSE(checked_block_bytes(shape, 1)) << shape.key_size;
  EXPECT_FALSE(checked_block_bytes({Type::array, 4, 8, 1}, 0));
  EXPECT_FALSE(checked_block_bytes({Type::array, 4, 8, 1}, 5000));
  EXPECT_TRUE(checked_block_bytes({Type::hash, 8, 24, 65536}, 132));
}

}  // namespace
}  // namespace egpu::map
