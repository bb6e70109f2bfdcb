#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/loader/fatbin/images.h"
#include "tests/fatbin/data.h"

using namespace egpu::fatbin;
using testing::HasSubstr;

namespace {

// Assembled at run time, so that this program's own strings are not found as PTX.
std::string ptx_text(const std::string &kernel) {
  return std::string(".vers") + "ion 9.0\n.tar" + "get sm_90\n.address_size 64\n.visible .ent" + "ry " +
         kernel + "() { ret; }\n";
}

// A process with given bytes in fresh anonymous memory at `offset`, until destroyed (holder.cc).
class Child {
 public:
  Child(const std::vector<uint8_t> &bytes, size_t offset, size_t room) {
    int in[2], out[2];
    EXPECT_EQ(::pipe2(in, O_CLOEXEC) + ::pipe2(out, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execl(EGPU_HOLDER, EGPU_HOLDER, std::to_string(offset).c_str(), std::to_string(room).c_str(),
              nullptr);
      ::_exit(127);
    }
    for (size_t done = 0; done < bytes.size();) {
      ssize_t n = ::write(in[1], bytes.data() + done, bytes.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    ::close(in[0]);
    ::close(in[1]);
    ::close(out[1]);
    char c;
    EXPECT_EQ(::read(out[0], &c, 1), 1);
    ::close(out[0]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

size_t count_with(const std::vector<Container> &containers, const std::string &text) {
  size_t count = 0;
  for (const Container &c : containers)
    for (const PtxImage &image : c.ptx) count += image.text.find(text) != std::string::npos;
  return count;
}

TEST(ProcessScan, FindsAcrossChunkEnds) {
  std::string text = ptx_text("unique_kernel_of_the_scan_test");
  std::vector<uint8_t> plain(text.begin(), text.end());
  plain.push_back(0);
  std::vector<uint8_t> fatbin = small_fatbin(text);
  struct Case {
    const char *name;
    const std::vector<uint8_t> *bytes;
    size_t offset;
  };
  constexpr size_t kChunk = 4 << 20;
  const Case kCases[] = {
      {"fatbin in the middle", &fatbin, 40008},
      {"fatbin's magic last in the chunk", &fatbin, kChunk - 8},
      {"fatbin's header over the chunk's end", &fatbin, kChunk - 16},
      {"fatbin first in the second chunk", &fatbin, kChunk},
      {"text", &plain, 40001},
      {"text's first word over the chunk's end", &plain, kChunk - 3},
      {"text over the chunk's end", &plain, kChunk - 100},
  };
  for (const Case &c : kCases) {
    Child child(*c.bytes, c.offset, 3 * kChunk);
    auto found = images_of_process(child.pid());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(count_with(*found, "unique_kernel_of_the_scan_test"), 1u) << c.name;
  }
}

TEST(ProcessScan, FindsCubinsAndManySmallFatbinsOnce) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 1000; ++i) {
    auto one = small_fatbin(ptx_text("small_" + std::to_string(i / 2) + "_"));  // each twice
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  auto cubin = read_data("lineinfo.cubin");
  bytes.insert(bytes.end(), cubin.begin(), cubin.end());
  Child child(bytes, 64, 1 << 20);
  uint64_t last = 0, total = 0;
  auto found =
      images_of_process(child.pid(), [&](ScanProgress p) { last = p.scanned_bytes, total = p.total_bytes; });
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(count_with(*found, "small_"), 500u);
  EXPECT_EQ(count_with(*found, ".entry scale("), 1u);
  EXPECT_EQ(last, total);
}

TEST(ProcessScan, PassesOverWhatOnlyLooksLikeOne) {
  std::vector<uint8_t> bytes = small_fatbin(ptx_text("looks_like"));
  store<uint64_t>(bytes, 8, uint64_t{1} << 50);  // size outside the mapping
  auto wrong_entry = small_fatbin("x");
  store<uint32_t>(wrong_entry, 20, 1);
  bytes.resize(bytes.size() / 8 * 8);
  bytes.insert(bytes.end(), wrong_entry.begin(), wrong_entry.end());
  std::string words = std::string(".vers") + "ion is a word; .vers" + "ion 9.0 without more";
  bytes.insert(bytes.end(), words.begin(), words.end());
  bytes.push_back(0);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  auto good = small_fatbin(ptx_text("the_good_one"));
  bytes.insert(bytes.end(), good.begin(), good.end());
  Child child(bytes, 4096, 1 << 20);
  auto found = images_of_process(child.pid());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(count_with(*found, "the_good_one"), 1u);
}

TEST(ProcessScan, NoSuchProcess) {
  auto found = images_of_process(0x3fffff);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "process 4194303: no such process");
}

TEST(ProcessScan, FindsTheFatbinOfARunningNvccProgram) {
  if (::access("/usr/local/cuda/bin/nvcc", X_OK) != 0) GTEST_SKIP() << "no nvcc on this machine";
  std::string program = "/tmp/egpu-scan-" + std::to_string(::getpid());
  std::string command = "/usr/local/cuda/bin/nvcc -DEGPU_MAIN -o " + program + " " + EGPU_SOURCE_DIR +
                        "/tests/fatbin/data/scale.cu";
  ASSERT_EQ(std::system(command.c_str()), 0);
  int in[2], out[2];
  ASSERT_EQ(::pipe(in) + ::pipe(out), 0);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(127);
  }
  char c;
  ASSERT_EQ(::read(out[0], &c, 1), 1);
  auto found = images_of_process(pid);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ::unlink(program.c_str());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(count_with(*found, ".entry scale("), 1u);
}

}  // namespace
