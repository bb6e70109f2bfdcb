// Modules as compilers write them: parsed without loss, patched so that ptxas takes them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "lib/loader/ptx/module.h"
#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

const std::string kCorpus = std::string(EGPU_SOURCE_DIR) + "/tests/ptx/corpus/";

// The text again, from the tree: statements by their spans, what lies between them as gaps.
// Gaps must be blanks and comments, or a token belongs to no statement.
std::string printed(const Module &m) {
  std::string out;
  uint32_t token = 0, byte = 0;
  auto append = [&](Span span) {
    EXPECT_EQ(span.first, token) << "statement at line " << m.tokens[span.first].line;
    EXPECT_LT(span.first, span.last);
    uint32_t begin = m.tokens[span.first].offset;
    out += m.text.substr(byte, begin - byte);
    out += m.slice(span);
    byte = begin + static_cast<uint32_t>(m.slice(span).size());
    token = span.last;
  };
  for (const Item &item : m.items) {
    const Function *f = item.kind == ItemKind::function ? &m.functions[item.first] : nullptr;
    if (f == nullptr || !f->has_body) {
      append(item.tokens);
      continue;
    }
    append({item.tokens.first, f->body_open + 1});
    uint32_t depth = 0;
    for (const Statement &s : f->body) {
      if (s.kind == StatementKind::close) --depth;
      EXPECT_EQ(s.depth, depth);
      if (s.kind == StatementKind::open) ++depth;
      append(s.tokens);
    }
    append({f->body_close, item.tokens.last});
  }
  EXPECT_EQ(token, m.tokens.size());
  return out + std::string(m.text.substr(byte));
}

// Statements of the original kernel that the patched text lacks, or has out of order. Those
// that name variables or calls may be rewritten, so they are left out; .shared ones may be aligned.
std::string lost_statements(const Module &m, const Function &f, const std::string &text) {
  size_t at = text.find(".entry " + std::string(f.name));
  if (at == std::string::npos) return "the whole kernel";
  for (const Statement &s : f.body) {
    std::string one(m.slice(s.tokens));
    bool rewritten = one.find("const") != std::string::npos || one.find("call") != std::string::npos ||
                     one.find(".loc") != std::string::npos || one.find("cvta") != std::string::npos ||
                     one.find("factors") != std::string::npos || one.find(".shared ") == 0;
    if (rewritten) continue;
    at = text.find(one, at);
    if (at == std::string::npos) return one;
    at += one.size();
  }
  return "";
}

void check_module(const std::string &text) {
  auto m = parse(text);
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(printed(*m), text);
  EXPECT_FALSE(m->functions.empty());

  std::vector<Probe> nothing = {empty_probe("thread/entry"), empty_probe("thread/exit"),
                                empty_probe("warp/entry"), empty_probe("thread/ld")};
  Patched plain = patched(text, nothing);
  for (const KernelPlan &k : plain.kernels) {
    if (k.name == "indirect") {
      EXPECT_NE(k.refused, "");
      continue;
    }
    EXPECT_EQ(k.refused, "") << k.name;
    EXPECT_GE(k.sites.size(), 3u) << k.name;
    for (const Function &f : m->functions) {
      if (f.name == k.name) {
        EXPECT_EQ(lost_statements(*m, f, plain.text), "") << k.name;
      }
    }
  }
  Patched full = patched(text, every_probe());
  EXPECT_NE(full.text, "");
  if (toolkit("ptxas").empty()) GTEST_SKIP() << "no ptxas: the patched modules were not assembled";
  EXPECT_EQ(assemble(plain.text), "");
  EXPECT_EQ(assemble(full.text), "");
}

std::vector<std::string> files(const std::string &extension) {
  std::vector<std::string> out;
  for (const auto &entry : std::filesystem::directory_iterator(kCorpus))
    if (entry.path().extension() == extension) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

std::string identifier(std::string text) {
  for (char &c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

class StoredModule : public testing::TestWithParam<std::string> {};
TEST_P(StoredModule, parses_and_patches) { check_module(read_file(kCorpus + GetParam())); }
TEST_P(StoredModule, patches_with_calls) {
  std::vector<Probe> functions = every_probe();
  for (Probe &p : functions) p.form = BodyForm::called;
  std::string text = patched(read_file(kCorpus + GetParam()), functions).text;
  EXPECT_NE(text.find("call (egpu_new_cookie), egpu_probe_0"), std::string::npos);
  if (toolkit("ptxas").empty()) GTEST_SKIP() << "no ptxas: the patched module was not assembled";
  EXPECT_EQ(assemble(text), "");
}
INSTANTIATE_TEST_SUITE_P(Corpus, StoredModule, testing::ValuesIn(files(".ptx")),
                         [](const auto &row) { return identifier(row.param); });

using Compilation = std::tuple<std::string, const char *>;
class CompiledModule : public testing::TestWithParam<Compilation> {};

TEST_P(CompiledModule, parses_and_patches) {
  std::string nvcc = toolkit("nvcc");
  if (nvcc.empty()) GTEST_SKIP() << "no nvcc";
  std::string out = testing::TempDir() + "egpu_" +
                    identifier(std::get<0>(GetParam()) + std::get<1>(GetParam())) + std::to_string(getpid()) +
                    ".ptx";
  std::string command =
      nvcc + " -ptx " + std::get<1>(GetParam()) + " " + kCorpus + std::get<0>(GetParam()) + " -o " + out;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::string text = read_file(out);
  std::filesystem::remove(out);
  check_module(text);
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, CompiledModule,
    testing::Combine(testing::ValuesIn(files(".cu")),
                     testing::Values("-arch=sm_75", "-arch=sm_80", "-arch=sm_86", "-arch=sm_89",
                                     "-arch=sm_90", "-arch=sm_90a", "-arch=sm_100", "-arch=sm_120",
                                     "-arch=sm_90 -G", "-arch=sm_75 -lineinfo", "-arch=sm_80 -rdc=true",
                                     "-arch=sm_120 -G -rdc=true")),
    [](const auto &row) { return identifier(std::get<0>(row.param) + std::get<1>(row.param)); });

// Registers by kernel, from ptxas' report: "... entry function 'k' for ..." ... "Used 12 registers".
std::map<std::string, int> registers(const std::string &report) {
  std::map<std::string, int> out;
  std::istringstream lines(report);
  std::string kernel;
  for (std::string line; std::getline(lines, line);) {
    size_t name = line.find("entry function '"), used = line.find("Used ");
    if (name != std::string::npos) kernel = line.substr(name + 16, line.find('\'', name + 16) - name - 16);
    if (used != std::string::npos) out[kernel] = std::atoi(line.c_str() + used + 5);
  }
  return out;
}

struct Cost {
  const char *name;
  std::vector<Probe> probes;
  double mean_added;
};

TEST(Registers, probes_add_few) {
  if (toolkit("ptxas").empty()) GTEST_SKIP() << "no ptxas";
  // Kernels without variables of the module: reading constants as global memory costs on its own.
  std::string text = read_file(kCorpus + "vecadd_sm_90.ptx");
  std::string before;
  ASSERT_EQ(assemble(text, &before), "");
  ASSERT_GE(registers(before).size(), 5u);
  const Cost rows[] = {
      {"nothing at entry", {empty_probe("thread/entry")}, 0},
      {"nothing at warp entry", {empty_probe("warp/entry")}, 0},
      {"nothing at grid entry", {empty_probe("grid/entry")}, 0},
      {"nothing at loads", {empty_probe("thread/ld")}, 0},
      {"counter at entry", {counter_probe("thread/entry")}, 2},
      {"counter at grid entry", {counter_probe("grid/entry")}, 2},
      {"counter at block exit", {counter_probe("block/exit")}, 4},
  };
  for (const Cost &row : rows) {
    std::string after;
    ASSERT_EQ(assemble(patched(text, row.probes).text, &after), "") << row.name;
    std::map<std::string, int> with = registers(after), without = registers(before);
    ASSERT_GE(with.size(), 4u) << row.name;
    double added = 0;
    for (const auto &[kernel, count] : with) added += count - without[kernel];
    EXPECT_LE(added / static_cast<double>(with.size()), row.mean_added) << row.name << "\n"
                                                                        << before << after;
  }
}

}  // namespace
}  // namespace egpu::ptx::test
