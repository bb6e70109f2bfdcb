// What the three tools have in common on the command line.
//
// stdout carries data only; messages go to stderr as "tool: error: object: cause" and
// "tool: hint: ...". Exit status: kOk, kFailed, kUsage (egpu-load has its own, env(1)'s).
// Options are never abbreviated. Source: docs/probe-language.md, "Command lines".
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "egpu/result.h"

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

/// An app with --help, --version and the house rules: no abbreviations, unknown options are
/// errors. `about` is one sentence.
class App : public CLI::App {
 public:
  App(const std::string &tool, const std::string &about);

  /// The exit status if the program is to end now (--help, --version, wrong usage: printed),
  /// nothing if it is to go on. `usage_status` is kUsage but for egpu-load.
  std::optional<int> parse_or_status(int argc, char **argv, int usage_status = kUsage);

 private:
  std::string tool_;
};

/// The bytes of a file, or of stdin for "-".
Result<std::vector<uint8_t>> read_file(const std::string &path);

/// Replaces the file in one step (temporary file beside it, rename); "-" writes to stdout.
Result<Ok> write_file(const std::string &path, const void *data, size_t size_bytes);

/// Flushes stdout; an Error if anything written to it was lost (disk full, pipe closed).
Result<Ok> finish_stdout();

/// NAME=VALUE; an Error if there is no name or no '='.
Result<std::pair<std::string, std::string>> split_setting(const std::string &text);

}  // namespace egpu::cli
