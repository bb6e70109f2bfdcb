// What the agent's shared object needs and shows: it is loaded into any program.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string output_of(const std::string &command) {
  std::string text;
  std::array<char, 4096> buffer;
  FILE *pipe = popen(command.c_str(), "r");
  while (size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
  return pclose(pipe) == 0 ? text : "";
}

TEST(AgentLibrary, NeedsLibcOnly) {
  std::string dynamic = output_of("readelf -dW " EGPU_AGENT_PATH);
  if (dynamic.empty()) GTEST_SKIP() << "no readelf here";
  std::istringstream lines(dynamic);
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);)
    if (line.find("(NEEDED)") != std::string::npos) needed.insert(line.substr(line.find('[')));
  EXPECT_EQ(needed, std::set<std::string>{"[libc.so.6]"});
}

TEST(AgentLibrary, ExportsTwoFunctionsAndUsesNoCxxRuntime) {
  std::string defined = output_of("nm -D --defined-only " EGPU_AGENT_PATH);
  if (defined.empty()) GTEST_SKIP() << "no nm here";
  std::istringstream words(defined);
  std::set<std::string> names;
  for (std::string address, type, name; words >> address >> type >> name;) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"InitializeInjection", "egpu_agent_attach"}));
  std::string undefined = output_of("nm -D --undefined-only " EGPU_AGENT_PATH);
  EXPECT_EQ(undefined.find(" _Z"), std::string::npos) << undefined;
}

}  // namespace
