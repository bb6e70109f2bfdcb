// Hostile text: whatever a module holds, the patcher answers with text or an error. Run under
// ASan and UBSan (preset dev). The seed is fixed, so a failure can be repeated.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "lib/loader/ptx/body.h"
#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

std::vector<std::string> modules() {
  std::vector<std::string> out;
  for (const auto &entry :
       std::filesystem::directory_iterator(std::string(EGPU_SOURCE_DIR) + "/tests/ptx/corpus"))
    if (entry.path().extension() == ".ptx") out.push_back(read_file(entry.path()));
  return out;
}

void run(const std::string &text, const std::vector<Probe> &probes) {
  auto p = plan(text, probes, 0);
  if (!p) {
    EXPECT_NE(p.error().message, "");
    return;
  }
  auto out = patch(*p, probes, bindings_for(*p));
  if (out) {
    EXPECT_EQ(out->kernels.size(), p->kernels.size());
  }
}

class Fuzz : public testing::TestWithParam<unsigned> {};

TEST_P(Fuzz, mutated_modules) {
  std::mt19937 random(GetParam());
  auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::string> originals = modules();
  ASSERT_FALSE(originals.empty());
  const std::vector<Probe> probes = every_probe();
  const char *words[] = {"{",
                         "}",
                         "(",
                         ")",
                         "[",
                         "]",
                         ";",
                         ",",
                         "\"",
                         "/*",
                         "*/",
                         ".entry",
                         ".func",
                         ".param",
                         ".reg",
                         ".align",
                         "@",
                         "@!%p1",
                         ":",
                         ".loc",
                         ".section",
                         "call",
                         "ret;",
                         "0x",
                         "99999999999999999999",
                         ".b8 x[18446744073709551615];",
                         "%r",
                         "<",
                         "generic("};
  for (int round = 0; round < 40; ++round) {
    std::string text = originals[below(originals.size())];
    if (text.size() > 3000) {  // a piece with the header, so that a round is quick
      size_t begin = 200 + below(text.size() - 2500);
      text = text.substr(0, 200) + text.substr(begin, 2300);
    }
    for (size_t edits = 1 + below(8); edits > 0; --edits) {
      size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(at, 1 + below(30));
          break;
        case 1:
          text.insert(at, words[below(std::size(words))]);
          break;
        case 2:
          text[at] = static_cast<char>(below(256));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(60)));
          break;
      }
    }
    run(text, probes);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, Fuzz, testing::Range(1u, 13u));

TEST(FuzzPlain, truncated_modules) {
  const std::vector<Probe> probes = {full_probe("thread/exit"), full_probe("warp/ld", 1),
                                     full_probe("grid/exit")};
  std::string text = read_file(std::string(EGPU_SOURCE_DIR) + "/tests/ptx/corpus/hand.ptx");
  for (size_t n = 0; n <= text.size(); n += 3) run(text.substr(0, n), probes);
}

TEST(FuzzPlain, bodies) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i)
      text += "{};: L12\"/*%.@\n"[std::uniform_int_distribution<size_t>(0, 14)(random)];
    auto body = Body::prepare(text);
    if (body) body->with_labels("x");
  }
}

}  // namespace
}  // namespace egpu::ptx::test
