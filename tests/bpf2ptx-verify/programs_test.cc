// Programs in text form with verdicts: tests/bpf2ptx-verify/programs/*.txt.
//
//   === name
//   @event gpu/ld.global/*        optional; default gpu/entry
//   @max 100                      optional: VerifyOptions::max_insns
//   r0 = 0
//   exit
//   --- ok                        or: --- error: a part of the message
//   --- note: a part of a note    --- insns: 2      --- stack: 1:-8:0 ...
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/bpf2ptx-verify/world.h"

namespace egpu::bpf::test {
namespace {

struct Case {
  std::string file, name, text, event = "gpu/entry";
  std::vector<std::string> expected;
  uint32_t max_insns = 4096;
  int line = 0;
};

std::string after(const std::string &line, const std::string &prefix) {
  return line.size() > prefix.size() ? line.substr(prefix.size()) : "";
}

std::vector<Case> read_cases(const std::filesystem::path &path) {
  std::vector<Case> cases;
  std::ifstream in(path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("=== ")) {
      cases.emplace_back();
      cases.back().file = path.filename();
      cases.back().name = after(line, "=== ");
      cases.back().line = number;
    }
    if (cases.empty() || line.starts_with("=== ") || line.starts_with("#")) continue;
    Case &c = cases.back();
    if (line.starts_with("--- "))
      c.expected.push_back(after(line, "--- "));
    else if (line.starts_with("@event "))
      c.event = after(line, "@event ");
    else if (line.starts_with("@max "))
      c.max_insns = static_cast<uint32_t>(std::stoul(after(line, "@max ")));
    else
      c.text += line + "\n";
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  std::set<std::filesystem::path> files;
  for (const auto &entry :
       std::filesystem::directory_iterator(EGPU_SOURCE_DIR "/tests/bpf2ptx-verify/programs"))
    if (entry.path().extension() == ".txt") files.insert(entry.path());
  for (const auto &file : files)
    for (Case &c : read_cases(file)) all.push_back(std::move(c));
  return all;
}

void check_accepted(const Case &c, const Facts &facts) {
  for (const std::string &want : c.expected) {
    if (want.starts_with("note: ")) {
      std::string notes;
      for (const std::string &note : facts.notes) notes += note + "\n";
      EXPECT_THAT(notes, testing::HasSubstr(after(want, "note: ")));
    } else if (want.starts_with("insns: ")) {
      EXPECT_EQ(std::to_string(facts.cost.insns), after(want, "insns: "));
    } else if (want.starts_with("stack: ")) {
      std::string regions;
      for (const Chain &chain : facts.chains)
        for (const StackRegion &r : chain.stack)
          regions += (regions.empty() ? "" : " ") + std::to_string(chain.depth) + ":" +
                     std::to_string(r.begin) + ":" + std::to_string(r.end);
      EXPECT_EQ(regions, after(want, "stack: "));
    } else if (want == "no notes") {
      EXPECT_THAT(facts.notes, testing::IsEmpty());
    } else {
      EXPECT_EQ(want, "ok") << "accepted";
    }
  }
}

TEST(Programs, HaveTheVerdictsOfTheirText) {
  int count = 0;
  for (const Case &c : all_cases()) {
    SCOPED_TRACE(c.file + ":" + std::to_string(c.line) + ": " + c.name);
    ++count;
    auto program = make_program(c.text, c.event);
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_FALSE(c.expected.empty()) << "no verdict";
    Claims claims;
    VerifyOptions options;
    options.max_insns = c.max_insns;
    options.time_limit_ms = 0;
    auto facts = verify_with_claims(*program, object(), options, &claims);
    bool want_error = c.expected[0].starts_with("error: ");
    if (!facts) {
      EXPECT_TRUE(want_error) << facts.error().message;
      std::string message = facts.error().message;
      if (want_error) {
        EXPECT_THAT(message, testing::HasSubstr(after(c.expected[0], "error: ")));
      }
      // One message per cause, and it names the program.
      EXPECT_EQ(message.find("error: "), message.rfind("error: ")) << message;
      EXPECT_TRUE(message.starts_with("test:insn ") || message.starts_with("test: ")) << message;
      continue;
    }
    EXPECT_FALSE(want_error) << "accepted, wanted " << c.expected[0];
    if (want_error) continue;
    check_accepted(c, *facts);
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      auto run = run_checked(*program, claims, *facts, seed);
      EXPECT_TRUE(run) << "seed " << seed << ": " << run.error().message;
      if (!run) break;
    }
  }
  EXPECT_GE(count, 100);
}

TEST(Programs, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Case &c : all_cases()) EXPECT_TRUE(names.insert(c.file + ": " + c.name).second) << c.name;
}

}  // namespace
}  // namespace egpu::bpf::test
