// Messages of the tools, and their exit status.
//
// stdout carries data only; messages go to stderr as "tool: error: object: cause" and
// "tool: hint: ...". Exit status: kOk, kFailed, kUsage (egpu-load has its own, env(1)'s).
// Source: docs/probe-language.md, "Command lines".
#pragma once
#include <string>

namespace egpu::cli {

constexpr int kOk = 0, kFailed = 1, kUsage = 2;

/// The project's version, "0.1.0".
const char *version();

/// The name in front of messages, "egpu-cc"; call it first in main.
void set_tool(const std::string &name);

/// Messages to stderr, one line each unless `text` has several. A text of compiler-style
/// diagnostics ("file:line:col: error: ...") is printed as it is, without the tool's name.
void error(const std::string &text);
void warning(const std::string &text);
void note(const std::string &text);
void hint(const std::string &text);

/// Colour on this stream? `mode` is --color's value: "auto", "always" or "never".
bool use_color(const std::string &mode, int fd);

}  // namespace egpu::cli
