// egpu-map: look into the maps of live sessions.
#include <algorithm>
#include <map>
#include <optional>

#include "egpu/near_name.h"
#include "tools/common/app.h"
#include "tools/egpu-map/commands.h"

namespace {

using namespace egpu;

struct Arguments {
  map_tool::Options options;
  std::string name, key, value;
  double interval_s = 1;
  unsigned count = 0;
};

CLI::App *add_command(cli::App *app, const std::string &name, const std::string &about) {
  CLI::App *command = app->add_subcommand(name, about);
  command->set_help_flag("-h,--help", "Print this help and exit");
  return command;
}

void add_order(CLI::App *command, Arguments *a) {
  const std::map<std::string, print::Order> orders = {
      {"auto", print::Order::automatic}, {"value", print::Order::by_value}, {"key", print::Order::by_key}};
  command->add_option("--sort", a->options.order, "Order of entries: auto, value or key")
      ->transform(CLI::CheckedTransformer(orders).description(""))
      ->type_name("ORDER");
  command->add_flag("-a,--all", a->options.all, "Also zero elements and internal maps");
}

// The first word that is no option, if it is not the name of a command.
std::optional<int> unknown_command(const cli::App &app, int argc, char **argv) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  for (int i = 1; i < argc; i++) {
    std::string word = argv[i];
    if (word == "--color") i++;
    if (word.starts_with("-")) continue;
    if (std::find(names.begin(), names.end(), word) != names.end()) return std::nullopt;
    cli::error("no command '" + word + "'");
    std::string near = near_name(word, names);
    cli::hint(near.empty() ? "see `egpu-map --help`" : "did you mean '" + near + "'?");
    return cli::kUsage;
  }
  return std::nullopt;
}

int not_yet(const std::string &command) {
  cli::error(command + ": not supported yet");
  cli::hint("maps can be read only; a probe starts with empty maps each time it is loaded");
  return cli::kFailed;
}

}  // namespace

int main(int argc, char **argv) {
  Arguments a;
  cli::App app("egpu-map", "Look into the maps of programs that egpu-load runs. MAP is NAME or PID:NAME.");
  app.add_flag("-j,--json", a.options.json, "JSON: one array (list, dump, lookup)");
  app.add_flag("-v,--verbose", a.options.verbose, "Say how old the data is");
  app.add_option("--color", a.options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
  app.require_subcommand(0, 1);  // that there is one is checked below, with a better message
  app.fallthrough();             // these options are fine after the command, too

  auto *list = add_command(&app, "list", "List the maps of all live sessions");
  list->add_flag("-a,--all", a.options.all, "Also internal maps");
  auto *dump = add_command(&app, "dump", "Print a map, or all maps");
  dump->add_option("MAP", a.name, "NAME or PID:NAME; without it all maps of all sessions");
  add_order(dump, &a);
  auto *lookup = add_command(&app, "lookup", "Print the entry of a key");
  lookup->add_option("MAP", a.name, "NAME or PID:NAME")->required();
  lookup->add_option("KEY", a.key, "Number, kernel name, file:line, or JSON object")->required();
  auto *watch = add_command(&app, "watch", "Print a map again and again, with what was added");
  watch->add_option("MAP", a.name, "NAME or PID:NAME")->required();
  watch->add_option("-i,--interval", a.interval_s, "Seconds between two looks (default 1)")
      ->check(CLI::Range(0.01, 86400.0).description(""))
      ->type_name("SECS");
  watch->add_option("-n,--count", a.count, "Stop after N looks")->type_name("N");
  add_order(watch, &a);
  auto *metrics = add_command(&app, "metrics", "Print all maps in Prometheus' text format");
  auto *update = add_command(&app, "update", "Not supported yet");
  update->add_option("MAP", a.name)->required();
  update->add_option("KEY", a.key)->required();
  update->add_option("VALUE", a.value)->required();
  auto *clear = add_command(&app, "clear", "Not supported yet");
  clear->add_option("MAP", a.name)->required();

  if (auto status = unknown_command(app, argc, argv)) return *status;
  if (auto status = app.parse_or_status(argc, argv)) return *status;
  if (app.get_subcommands().empty()) {
    cli::error("no command given");
    cli::hint("see `egpu-map --help`");
    return cli::kUsage;
  }
  if (a.options.json && !*list && !*dump && !*lookup) {
    cli::error("--json: " + app.get_subcommands().front()->get_name() + " has no JSON form");
    return cli::kUsage;
  }
  if (*list) return map_tool::list(a.options);
  if (*dump) return map_tool::dump(a.options, a.name);
  if (*lookup) return map_tool::lookup(a.options, a.name, a.key);
  if (*watch) return map_tool::watch(a.options, a.name, a.interval_s, a.count);
  if (*metrics) return map_tool::metrics(a.options);
  return not_yet(*update ? "update" : "clear");
}
