#include "tools/common/app.h"

#include <cstdio>
#include <cstring>

#include "egpu/near_name.h"
#include "tools/common/files.h"

namespace egpu::cli {
namespace {

std::vector<std::string> option_names(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App *command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
    for (const std::string &name : option_names(*command)) names.push_back(name);
  }
  return names;
}

// The first argument that is no option of the app and looks like one.
std::string near_option(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> names = option_names(app);
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    std::string word = argv[i];
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || std::find(names.begin(), names.end(), word) != names.end()) continue;
    return near_name(word, names);
  }
  return "";
}

}  // namespace

App::App(const std::string &tool, const std::string &about) : CLI::App(about, tool), tool_(tool) {
  set_tool(tool);
  set_help_flag("-h,--help", "Print this help and exit");
  set_version_flag("--version", tool + " " + version(), "Print the version and exit");
  get_formatter()->column_width(34);
}

std::optional<int> App::parse_or_status(int argc, char **argv, int usage_status) {
  try {
    parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp &) {
    std::fputs(help().c_str(), stdout);
  } catch (const CLI::CallForVersion &) {
    std::printf("%s %s\n", tool_.c_str(), egpu::cli::version());
  } catch (const CLI::ParseError &wrong) {
    error(wrong.what());
    std::string near = near_option(*this, argc, argv);
    hint(near.empty() ? "see `" + tool_ + " --help`" : "did you mean " + near + "?");
    return usage_status;
  }
  if (auto done = finish_stdout(); !done) return error(done.error().message), kFailed;
  return kOk;
}

Result<std::pair<std::string, std::string>> split_setting(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return Error{"-s: not NAME=VALUE: '" + text + "'"};
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace egpu::cli
