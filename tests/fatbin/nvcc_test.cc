// What nvcc makes under the options of cuda-formats.md section 6, read from whole ELF files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "lib/loader/fatbin/images.h"

using namespace egpu::fatbin;
using testing::HasSubstr;

namespace {

std::string nvcc() {
  for (const char *path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

struct Build {
  const char *name, *options;
  std::vector<int> ptx_archs;  // over all containers, ascending; 1000 added if arch-specific
  bool has_cubin;
};

const Build kBuilds[] = {
    {"default", "", {75}, true},
    {"sm90", "-arch=sm_90", {90}, true},
    {"no_compress", "-arch=sm_90 --no-compress", {90}, true},
    {"compress_all", "-arch=sm_90 -Xfatbin -compress-all", {90}, true},
    {"size", "-arch=sm_90 --compress-mode=size", {90}, true},
    {"speed", "-arch=sm_90 --compress-mode=speed", {90}, true},
    {"debug", "-arch=sm_90 -G", {90}, true},
    {"lineinfo", "-arch=sm_90 -lineinfo", {90}, true},
    {"sm90a",
     "-gencode arch=compute_90,code=compute_90 -gencode arch=compute_90a,code=[sm_90a,compute_90a]",
     {90, 1090},
     true},
    {"several",
     "-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 -gencode "
     "arch=compute_120,code=compute_120",
     {120},
     true},
    {"sass_only", "-gencode arch=compute_90,code=sm_90", {}, true},
    {"rdc", "-arch=sm_90 -rdc=true", {90}, true},
};

class Nvcc : public testing::TestWithParam<Build> {};

TEST_P(Nvcc, ElfFileGivesItsImages) {
  std::string compiler = nvcc();
  if (compiler.empty()) GTEST_SKIP() << "no nvcc on this machine";
  const Build &build = GetParam();
  std::string output = "/tmp/egpu-nvcc-" + std::to_string(::getpid()) + "-" + build.name;
  std::string command =
      compiler + " " + build.options +
      (build.name == std::string("default") || build.name == std::string("rdc") ? " -DEGPU_MAIN" : " -c") +
      " -o " + output + " " + EGPU_SOURCE_DIR + "/tests/fatbin/data/scale.cu 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  auto containers = images_in_file(output);
  std::filesystem::remove(output);
  ASSERT_TRUE(containers) << containers.error().message;
  std::vector<int> archs;
  bool has_cubin = false;
  for (const Container &c : *containers) {
    has_cubin |= c.has_cubin;
    for (const PtxImage &image : c.ptx) {
      archs.push_back(image.arch + (image.arch_specific ? 1000 : 0));
      EXPECT_THAT(image.text, HasSubstr(".entry scale("));
      PtxImage by_text;
      ASSERT_TRUE(read_target(image.text, by_text));
      EXPECT_EQ(by_text.arch, image.arch);
      EXPECT_EQ(by_text.arch_specific, image.arch_specific);
      if (build.name == std::string("lineinfo")) {
        EXPECT_THAT(image.options, HasSubstr("--generate-line-info"));
      }
    }
  }
  std::sort(archs.begin(), archs.end());
  EXPECT_EQ(archs, build.ptx_archs);
  EXPECT_EQ(has_cubin, build.has_cubin);
}

INSTANTIATE_TEST_SUITE_P(Options, Nvcc, testing::ValuesIn(kBuilds),
                         [](const testing::TestParamInfo<Build> &row) {
                           return std::string(row.param.name);
                         });

}  // namespace
