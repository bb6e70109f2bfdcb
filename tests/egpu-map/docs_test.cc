// Manual pages and completions say what --help says, for all three tools.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/egpu-map/fake_session.h"

namespace egpu::map_tool {
namespace {

struct Tool {
  const char *name;
  std::vector<std::string> commands;  // each has its own --help
};
const Tool kTools[] = {{"egpu-cc", {""}},
                       {"egpu-load", {""}},
                       {"egpu-map", {"", "list", "dump", "lookup", "watch", "metrics", "update", "clear"}}};

class DocsTest : public ::testing::TestWithParam<Tool> {
 protected:
  std::string binary() const { return std::string(EGPU_BINARY_DIR "/bin/") + GetParam().name; }

  // "-j", "--json" of all lines like "  -j,--json   JSON: ...".
  std::set<std::string> options_in_help() const {
    static const std::regex line_pattern("^ +(-[^ ]+) ?.*"), option("--?[A-Za-z][A-Za-z-]*");
    std::set<std::string> found;
    for (const std::string &command : GetParam().commands) {
      Outcome help = run_command(binary() + " " + command + " --help");
      EXPECT_EQ(help.status, 0) << command;
      std::istringstream lines(help.out);
      std::smatch match;
      for (std::string line; std::getline(lines, line);) {
        if (!std::regex_match(line, match, line_pattern)) continue;
        std::string names = match[1];
        for (auto it = std::sregex_iterator(names.begin(), names.end(), option); it != std::sregex_iterator();
             ++it)
          found.insert(it->str());
      }
    }
    return found;
  }

  static std::string read_source(const std::string &path) {
    std::ifstream file(std::string(EGPU_SOURCE_DIR "/") + path);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }
};

TEST_P(DocsTest, EveryOptionIsInTheManual) {
  if (!std::filesystem::exists(binary())) GTEST_SKIP() << binary() << " is not built";
  std::string page = read_source(std::string("man/") + GetParam().name + ".1.scd");
  std::set<std::string> in_help = options_in_help();
  EXPECT_GT(in_help.size(), 5u);
  std::set<std::string> in_page;
  std::regex option("--?[A-Za-z][A-Za-z-]*");
  std::istringstream lines(page.substr(page.find("# OPTIONS"), page.find("# EXIT") - page.find("# OPTIONS")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("*-")) continue;  // the headings of the list
    for (auto it = std::sregex_iterator(line.begin(), line.end(), option); it != std::sregex_iterator(); ++it)
      in_page.insert(it->str());
  }
  in_page.erase("-MD");  // clang's spelling of --MD, for which --help has no line of its own
  EXPECT_EQ(in_help, in_page);
}

TEST_P(DocsTest, EveryLongOptionIsCompleted) {
  if (!std::filesystem::exists(binary())) GTEST_SKIP() << binary() << " is not built";
  std::string name = GetParam().name, function = name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::set<std::string> offered;
  for (const std::string &command : GetParam().commands) {
    std::string words = name + (command.empty() ? "" : " " + command) + " -",
                index = command.empty() ? "1" : "2";
    Outcome run =
        run_command("bash -c '. " EGPU_SOURCE_DIR "/completions/" + name + "; COMP_WORDS=(" + words +
                    "); COMP_CWORD=" + index + "; _" + function + "; echo \"${COMPREPLY[@]}\"'");
    EXPECT_EQ(run.err, "");
    std::istringstream in(run.out);
    for (std::string word; in >> word;) offered.insert(word);
  }
  offered.erase("--"), offered.erase("-MD");
  EXPECT_EQ(options_in_help(), offered);
}

TEST_P(DocsTest, TheManualPageIsWellFormed) {
  if (run_command("command -v scdoc").status != 0) GTEST_SKIP() << "scdoc is not installed";
  Outcome run = run_command(std::string("scdoc < " EGPU_SOURCE_DIR "/man/") + GetParam().name + ".1.scd");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find(".TH"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Tools, DocsTest, ::testing::ValuesIn(kTools), [](const auto &tool) {
  std::string name = tool.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace egpu::map_tool
