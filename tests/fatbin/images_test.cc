#include "lib/loader/fatbin/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "lib/loader/fatbin/container.h"
#include "tests/fatbin/data.h"

using namespace egpu::fatbin;
using testing::HasSubstr;

namespace {

const std::string kPtxText =
    "// a comment with .target in it\n.version 9.0\n.target sm_90a, texmode_independent\n.address_size 64\n"
    ".visible .entry k() { ret; }\n";

std::span<const uint8_t> bytes_of(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

TEST(Images, ReadsEveryCompression) {
  for (const char *name : {"plain.fatbin", "zstd.fatbin", "lz4.fatbin"}) {
    auto containers = images_in(read_data(name), name);
    ASSERT_TRUE(containers) << containers.error().message;
    ASSERT_EQ(containers->size(), 1u) << name;
    const Container &c = (*containers)[0];
    EXPECT_TRUE(c.has_cubin) << name;
    ASSERT_EQ(c.ptx.size(), 1u) << name;
    EXPECT_EQ(c.ptx[0].arch, 90) << name;
    EXPECT_THAT(c.ptx[0].text, HasSubstr(".visible .entry scale(")) << name;
    EXPECT_EQ(c.ptx[0].text.find('\0'), std::string::npos) << name;
    EXPECT_EQ(c.ptx[0].text.substr(c.ptx[0].text.size() - 3), "}\n\n") << name;
    EXPECT_THAT(c.ptx[0].where, HasSubstr(std::string(name) + ": entry at 0x")) << name;
  }
}

TEST(Images, SassOnlyIsSaid) {
  auto containers = images_in(read_data("sass.fatbin"), "sass");
  ASSERT_TRUE(containers) << containers.error().message;
  ASSERT_EQ(containers->size(), 1u);
  EXPECT_TRUE((*containers)[0].has_cubin);
  EXPECT_TRUE((*containers)[0].ptx.empty());
}

TEST(Images, FindsThePtxInATritonStyleCubin) {
  auto containers = images_in(read_data("lineinfo.cubin"), "k.cubin");
  ASSERT_TRUE(containers) << containers.error().message;
  ASSERT_EQ(containers->size(), 1u);
  const Container &c = (*containers)[0];
  EXPECT_TRUE(c.has_cubin);
  ASSERT_EQ(c.ptx.size(), 1u);
  EXPECT_EQ(c.ptx[0].arch, 90);
  EXPECT_THAT(c.ptx[0].text, HasSubstr("\n.target sm_90\n"));
  EXPECT_THAT(c.ptx[0].text, HasSubstr(".visible .entry scale("));
}

TEST(Images, ReadsTextWithAndWithoutNul) {
  for (std::string text : {kPtxText, kPtxText + std::string(1, '\0') + "junk"}) {
    auto containers = images_in(bytes_of(text), "k.ptx");
    ASSERT_TRUE(containers) << containers.error().message;
    ASSERT_EQ(containers->size(), 1u);
    const PtxImage &image = (*containers)[0].ptx.at(0);
    EXPECT_EQ(image.text, kPtxText);
    EXPECT_EQ(image.arch, 90);
    EXPECT_TRUE(image.arch_specific);
    EXPECT_FALSE(image.family);
  }
}

TEST(Images, RefusesOtherThings) {
  auto other = images_in(bytes_of("#!/bin/sh\n"), "script");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "script: not a fatbin, an ELF file or a PTX text");
  EXPECT_FALSE(images_in({}, "empty"));
  auto missing = images_in_file("/nonexistent");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "/nonexistent: No such file or directory");
}

TEST(Images, NamesWhereAndCause) {
  auto cut = read_data("zstd.fatbin");
  cut.resize(cut.size() - 1);
  auto error = images_in(cut, "a.out");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message, "a.out: fatbin is cut off at 0x0");

  struct Case {
    const char *name;
    uint32_t compressed;
    uint64_t uncompressed, flags;
    const char *error;
  };
  constexpr Case kCases[] = {
      {"bomb", 8, uint64_t{1} << 29, kZstd, "uncompressed size 536870912 cannot come from 8 bytes"},
      {"over the limit", 8, uint64_t{1} << 40, kZstd,
       "uncompressed size 1099511627776 is over the limit of 1073741824"},
      {"lz4 ratio", 8, 8 * 256 + 8, kLz4, "uncompressed size 2056 cannot come from 8 bytes"},
      {"zstd garbage", 8, 100, kZstd, "zstd: "},
      {"lz4 garbage", 8, 100, kLz4, "lz4: "},
      {"no size", 0, 100, kZstd, "compressed image without a compressed size"},
      {"unknown", 8, 100, 0, "compressed in an unknown way"},
  };
  for (const Case &c : kCases) {
    auto bytes = small_fatbin(kPtxText);
    store<uint32_t>(bytes, 16 + 0x10, c.compressed);
    store<uint64_t>(bytes, 16 + 0x38, c.uncompressed);
    store<uint64_t>(bytes, 16 + 0x28, c.flags);
    auto got = images_in(bytes, "x");
    ASSERT_FALSE(got) << c.name;
    EXPECT_THAT(got.error().message, HasSubstr(std::string("x: entry at 0x10: ") + c.error)) << c.name;
  }
}

PtxImage image_for(int arch, bool specific = false, bool family = false) {
  PtxImage image;
  image.arch = arch;
  image.arch_specific = specific;
  image.family = family;
  return image;
}

TEST(Choose, AsTheDriverWould) {
  Container c;
  c.ptx = {image_for(75),  image_for(90), image_for(90, true), image_for(100, false, true),
           image_for(100), image_for(120)};
  struct Case {
    int major, minor, index;  // -1: none
  };
  constexpr Case kCases[] = {
      {7, 0, -1},                         // below all
      {7, 5, 0},  {8, 6, 0},  {9, 0, 2},  // 90a before 90
      {10, 0, 3},                         // 100f before 100
      {10, 3, 3},                         // the same family
      {11, 0, 4},                         // another one: 100
      {12, 0, 5}, {12, 1, 5},
  };
  for (const Case &k : kCases) {
    const PtxImage *got = choose(c, k.major, k.minor);
    EXPECT_EQ(got == nullptr ? -1 : static_cast<int>(got - c.ptx.data()), k.index)
        << k.major << "." << k.minor;
  }
  c.ptx = {image_for(90, true)};
  EXPECT_EQ(choose(c, 10, 0), nullptr);
  EXPECT_NE(choose(c, 9, 0), nullptr);
}

// Every prefix, and random changes of every image: a result or an error, and no access outside
// (ASan watches; the copies have exact sizes).
TEST(Images, SurviveHostileBytes) {
  std::mt19937 random(20250101);
  size_t good = 0, bad = 0;
  auto read = [&](const std::vector<uint8_t> &bytes) {
    std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    exact.shrink_to_fit();
    (images_in(exact, "x") ? good : bad)++;
  };
  for (const char *name : {"plain.fatbin", "zstd.fatbin", "lz4.fatbin", "many.fatbin", "lineinfo.cubin"}) {
    auto original = read_data(name);
    ASSERT_FALSE(original.empty()) << name;
    for (size_t size = 0; size < original.size(); size += 7)
      read({original.begin(), original.begin() + static_cast<ptrdiff_t>(size)});
    for (int i = 0; i < 2000; ++i) {
      auto bytes = original;
      size_t changes = 1 + random() % 4;
      for (size_t k = 0; k < changes; ++k) {
        // Half of the changes fall on the first headers, where the sizes are.
        size_t at =
            random() % 2 == 0 ? random() % std::min<size_t>(bytes.size(), 96) : random() % bytes.size();
        bytes[at] = static_cast<uint8_t>(random());
      }
      read(bytes);
    }
  }
  EXPECT_GT(good, 100u);
  EXPECT_GT(bad, 100u);
}

}  // namespace
