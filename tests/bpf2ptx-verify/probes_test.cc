// C programs through clang: the seven probes are accepted with the right facts, and each bad
// probe is refused at the line that its "error:" comment marks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {
namespace {

using std::filesystem::path;
const path kSource = EGPU_SOURCE_DIR;

bool has_clang() { return std::system("clang-19 --version >/dev/null 2>&1") == 0; }

// Compiles the file in a directory of its own, which is gone afterwards.
Result<Object> compile(const path &source) {
  static int count = 0;
  path object = std::filesystem::temp_directory_path() /
                ("egpu-verify-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".o");
  std::string command = "clang-19 -target bpf -mcpu=v3 -O2 -g -Wall -I" + (kSource / "include").string() +
                        " -I/usr/include/x86_64-linux-gnu -c " + source.string() + " -o " + object.string() +
                        " 2>&1";
  if (std::system(command.c_str()) != 0) return Error{"clang failed: " + command};
  std::ifstream in(object, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove(object);
  return read_object(source.filename(), bytes, {});
}

std::vector<path> files_in(const path &directory) {
  std::vector<path> files;
  for (const auto &entry : std::filesystem::directory_iterator(directory))
    if (entry.path().string().ends_with(".bpf.c")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Probes, AllSevenAreAccepted) {
  if (!has_clang()) GTEST_SKIP() << "clang-19 is not installed";
  std::vector<path> files = files_in(kSource / "probes");
  EXPECT_GE(files.size(), 7u);
  for (const path &file : files) {
    SCOPED_TRACE(file.string());
    auto object = compile(file);
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_FALSE(object->programs.empty());
    for (const Program &program : object->programs) {
      auto facts = verify(program, *object);
      ASSERT_TRUE(facts) << facts.error().message;
      EXPECT_THAT(facts->notes, testing::IsEmpty());
      for (const Chain &chain : facts->chains)
        for (int i = chain.begin; i < chain.end; ++i) {
          const Op &op = program.insns[static_cast<size_t>(i)].op;
          if (!chain.at(i).reachable) continue;
          bool accesses = std::holds_alternative<Load>(op) || std::holds_alternative<Store>(op) ||
                          std::holds_alternative<Atomic>(op);
          EXPECT_EQ(accesses, !chain.at(i).memory.empty()) << to_string(op);
        }
    }
  }
}

TEST(Probes, FactsOfTheBlockTimer) {
  if (!has_clang()) GTEST_SKIP() << "clang-19 is not installed";
  auto object = compile(kSource / "probes/blockdur.bpf.c");
  ASSERT_TRUE(object) << object.error().message;
  for (const Program &program : object->programs) {
    if (program.name != "block_end") continue;
    auto facts = verify(program, *object);
    ASSERT_TRUE(facts) << facts.error().message;
    int atomics = 0, lookups = 0;
    for (size_t i = 0; i < program.insns.size(); ++i) {
      const InsnFacts &row = facts->chains[0].insns[i];
      if (std::holds_alternative<Atomic>(program.insns[i].op)) {
        ++atomics;
        ASSERT_EQ(row.memory.size(), 1u);
        EXPECT_EQ(row.memory[0].space, Space::map_value);
        EXPECT_EQ(row.memory[0].offset, std::nullopt);
        EXPECT_EQ(row.memory[0].min_offset, 0);
        EXPECT_EQ(row.memory[0].max_offset, 504);
        EXPECT_EQ(row.memory[0].align, 8u);
      }
      if (auto *call = std::get_if<CallHelper>(&program.insns[i].op); call && call->id == 1) {
        ++lookups;
        ASSERT_EQ(row.calls.size(), 1u);
        const auto &args = row.calls[0].args;
        EXPECT_EQ(args[0].pointers[0].space, Space::map);
        EXPECT_EQ(args[1].pointers[0].space, Space::stack);
        EXPECT_EQ(args[1].pointers[0].offset, -4);
        EXPECT_TRUE(row.result_used);
      }
    }
    EXPECT_EQ(atomics, 1);
    EXPECT_EQ(lookups, 1);
    const std::vector<StackRegion> &stack = facts->chains[0].stack;
    ASSERT_EQ(stack.size(), 1u);
    EXPECT_EQ(stack[0].begin, -4);
    EXPECT_EQ(stack[0].end, 0);
  }
}

struct Marked {
  int line = 0;
  std::string message, text;
};

// The line with "/* error: ... */", and what it says.
Marked marked_line(const path &file) {
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    size_t begin = line.find("/* error: "), end = line.find(" */", begin);
    if (begin != line.npos) return {number, line.substr(begin + 10, end - begin - 10), line};
  }
  return {};
}

TEST(BadProbes, AreRefusedAtTheRightLine) {
  if (!has_clang()) GTEST_SKIP() << "clang-19 is not installed";
  std::vector<path> files = files_in(kSource / "tests/bpf2ptx-verify/bad");
  EXPECT_GE(files.size(), 15u);
  for (const path &file : files) {
    SCOPED_TRACE(file.string());
    Marked marked = marked_line(file);
    ASSERT_NE(marked.line, 0) << "no error: comment";
    auto object = compile(file);
    ASSERT_TRUE(object) << object.error().message;
    std::string message;
    for (const Program &program : object->programs) {
      auto facts = verify(program, *object);
      if (!facts) message += facts.error().message;
    }
    EXPECT_THAT(message, testing::HasSubstr(marked.message));
    EXPECT_TRUE(message.starts_with(file.string() + ":" + std::to_string(marked.line) + ":")) << message;
    // The source line and a caret below it.
    EXPECT_THAT(message, testing::HasSubstr("\n" + marked.text + "\n"));
    EXPECT_THAT(message, testing::ContainsRegex("\n[ \t]*\\^"));
  }
}

}  // namespace
}  // namespace egpu::bpf
