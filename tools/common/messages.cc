#include "tools/common/messages.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace egpu::cli {
namespace {

std::string tool_name = "egpu";

// "file:line:col: error: text": after the second colon that ends a number comes the severity.
bool is_diagnostic(const std::string &text) {
  size_t line_end = text.find('\n');
  std::string first = text.substr(0, line_end);
  for (const char *severity : {": error: ", ": warning: ", ": note: ", ": fatal error: "}) {
    size_t at = first.find(severity);
    if (at != std::string::npos && at > 0 && first[at - 1] >= '0' && first[at - 1] <= '9' &&
        first.find(':') < at)
      return true;
  }
  return false;
}

void print(const char *severity, const std::string &text) {
  std::string line = is_diagnostic(text) ? text : tool_name + ": " + severity + ": " + text;
  if (!line.ends_with('\n')) line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

const char *version() { return EGPU_VERSION; }
void set_tool(const std::string &name) { tool_name = name; }
void error(const std::string &text) { print("error", text); }
void warning(const std::string &text) { print("warning", text); }
void note(const std::string &text) { print("note", text); }
void hint(const std::string &text) { print("hint", text); }

bool use_color(const std::string &mode, int fd) {
  if (mode == "always") return true;
  if (mode == "never") return false;
  const char *no_color = std::getenv("NO_COLOR");  // https://no-color.org: any non-empty value
  return (!no_color || !*no_color) && isatty(fd);
}

}  // namespace egpu::cli
