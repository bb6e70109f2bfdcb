// The command line of a tool. CLI11 is a large header: only what declares options includes this.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>

#include "egpu/result.h"
#include "tools/common/messages.h"

namespace egpu::cli {

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

/// NAME=VALUE; an Error if there is no name or no '='.
Result<std::pair<std::string, std::string>> split_setting(const std::string &text);

}  // namespace egpu::cli
