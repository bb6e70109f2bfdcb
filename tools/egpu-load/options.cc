#include "tools/egpu-load/options.h"

#include <unistd.h>

#include <charconv>
#include <set>

#include "tools/common/app.h"

namespace egpu::load {
namespace {

constexpr const char *kFooter = R"(
PROBE is a .bpf.o, a .c file (compiled in passing), or the name of an installed probe.
The first Ctrl-C detaches, prints the maps and leaves the target running; a second ends at once.

Exit status: COMMAND's own; 125 if egpu-load failed, 126 if COMMAND cannot be executed,
127 if it is not found. With --pid: 0, or 125.

Examples:
  egpu-load kcount.bpf.o -- ./vecadd          count the launches of every kernel
  egpu-load --pid 4711 blockdur.bpf.o         time the blocks of a running process
  egpu-load -s page_shift=21 memheat -- ./app set a constant of the probe
  egpu-load -l -- ./app                       which kernels and sites are there?)";

std::optional<int> usage(const std::string &text, const std::string &hint = {}) {
  cli::error(text);
  cli::hint(hint.empty() ? "egpu-load --help shows the command line" : hint);
  return 125;
}

std::optional<pid_t> parse_pid(const std::string &text) {
  pid_t pid = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0) return std::nullopt;
  return pid;
}

}  // namespace

std::optional<int> parse_options(int argc, char **argv, Options *o) {
  // CLI11 would read COMMAND's options as ours: split at "--" first.
  int own = argc;
  for (int i = 1; i < argc && own == argc; i++)
    if (std::string(argv[i]) == "--") own = i;
  for (int i = own + 1; i < argc; i++) o->command.push_back(argv[i]);

  cli::App app("egpu-load", "Attach a GPU probe to the kernels of a command or of a running process.");
  app.footer(kFooter);
  std::string pid, missing = "error", color = "auto", pin;
  std::vector<std::string> settings, positional;
  double duration = 0;
  bool no_dump = false, live = false;
  app.add_option("-p,--pid", pid, "Attach to this process instead of starting COMMAND")->type_name("PID");
  app.add_option("-s", settings, "Set a `const volatile` variable of the probe")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--max-insns", o->max_insns,
                 "Most instructions that one run of a program may execute (default 4096)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  auto *duration_option =
      app.add_option("-d,--duration", duration, "Detach after this many seconds")->type_name("SECS");
  app.add_option("-o,--output", o->output, "Write the maps to this file instead of stdout")
      ->type_name("FILE");
  app.add_flag("-j,--json", o->json, "JSON: one object per line");
  auto *list =
      app.add_option("-l,--list", o->list_glob, "List kernels and their sites (of PROBE, if given) and end")
          ->type_name("[GLOB]")
          ->expected(0, 1);
  app.add_flag("--dry-run", o->dry_run, "Verify PROBE, show what would be probed, start nothing");
  app.add_option("--missing", missing, "A program that matches no kernel is an error, or a warning")
      ->type_name("error|warn")
      ->check(CLI::IsMember({"error", "warn"}));
  app.add_flag("--no-dump", no_dump, "Do not print the maps at the end");
  app.add_option("--pin", pin, "Keep the maps after the session under this name")->type_name("NAME");
  app.add_flag("--live", live, "Plant sites that can be changed while a kernel runs");
  app.add_option("--color", color, "Colour: auto, always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--save-ptx", o->save_ptx,
                 "Write each module's PTX before and after patching into this directory")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  app.add_flag("-v,--verbose", o->verbose, "Say what is done, per kernel");
  app.add_option("PROBE", positional, "The probe")->type_name("");
  if (auto status = app.parse_or_status(own, argv, 125)) return status;

  o->list = list->count() > 0;
  if (o->list_glob.empty()) o->list_glob = "*";
  o->missing_is_error = missing == "error";
  o->dump = !no_dump;
  o->color = cli::use_color(color, STDOUT_FILENO);
  if (duration_option->count() > 0) {
    if (!(duration > 0)) return usage("-d: not a duration in seconds: '" + std::to_string(duration) + "'");
    o->duration_s = duration;
  }
  if (live) return usage("--live is not supported yet");
  if (!pin.empty()) return usage("--pin is not supported yet");
  for (const auto &setting : settings) {
    auto pair = cli::split_setting(setting);
    if (!pair) return usage("-s: " + pair.error().message);
    o->constants[pair->first] = pair->second;
  }

  if (!pid.empty()) {
    auto parsed = parse_pid(pid);
    if (!parsed) return usage("--pid: not a process id: '" + pid + "'");
    o->pid = *parsed;
  }
  if (positional.empty() && !o->list) return usage("no PROBE given");
  if (positional.size() > 1)
    return usage("unexpected argument '" + positional[1] + "'",
                 "put the command after --: egpu-load " + positional[0] + " -- " + positional[1]);
  if (!positional.empty()) o->probe = positional[0];
  if (o->pid != 0 && !o->command.empty()) return usage("--pid and a COMMAND exclude each other");
  if (o->pid == 0 && o->command.empty())
    return usage("no target: give --pid PID, or a COMMAND after --",
                 "egpu-load " + (o->probe.empty() ? "-l" : o->probe) + " -- ./app");
  return std::nullopt;
}

}  // namespace egpu::load
