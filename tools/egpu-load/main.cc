// egpu-load: attaches a probe to the kernels of a command or of a running process.
#include <signal.h>
#include <sys/wait.h>

#include "tools/common/messages.h"
#include "tools/egpu-load/launch.h"
#include "tools/egpu-load/list.h"
#include "tools/egpu-load/options.h"
#include "tools/egpu-load/probes.h"
#include "tools/egpu-load/session.h"

namespace egpu::load {
namespace {

constexpr int kOwnFailure = 125;

int fail(const std::string &text) {
  cli::error(text);
  return kOwnFailure;
}

// COMMAND's status becomes ours; a signal that killed it is raised again.
int pass_on(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  int signal = WTERMSIG(status);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::signal(signal, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  return 128 + signal;
}

// Error: a program of the object matches no kernel that was launched, or nothing could be probed.
Result<Ok> check_missing(const Shared &shared) {
  std::set<std::string> launched;
  for (const auto &[name, outcome] : shared.outcomes.all()) launched.insert(name);
  const auto &probes = shared.patcher.probes();
  for (size_t i = 0; i < probes.size(); i++) {
    if (shared.outcomes.program_matched(static_cast<int>(i))) continue;
    auto matched = some_match(launched, {probes[i]});
    if (!matched) return std::move(matched).error();
  }
  if (!shared.outcomes.any_probed())
    return Error{shared.object.name + ": none of the launched kernels was probed"};
  return Ok{};
}

// Prints what was collected. False: something failed, and was said.
bool report(Session &session, Shared &shared) {
  bool good = true;
  auto check = [&](const Result<Ok> &result) {
    if (result) return;
    cli::error(result.error().message);
    good = false;
  };
  auto missing = check_missing(shared);
  if (!missing && !shared.options.missing_is_error) cli::warning(missing.error().message);
  if (shared.options.missing_is_error) check(missing);
  if (shared.options.verbose) cli::note("kernels seen:\n" + to_text(shared.outcomes));
  if (shared.options.dump) {
    auto snapshots = session.snapshots();
    if (!snapshots) return fail(snapshots.error().message), false;
    check(shared.output.print_maps(*snapshots));
  }
  check(shared.output.finish());
  return good;
}

int list(const Options &options) {
  std::vector<ptx::Probe> probes;
  if (!options.probe.empty()) {
    auto object = load_object(options);
    if (!object) return fail(object.error().message);
    probes = probes_of(*object);
  }
  auto listed = list_kernels(options, probes);
  return listed ? 0 : fail(listed.error().message);
}

int run(const Options &options) {
  if (options.list || options.dry_run) return list(options);

  auto object = load_object(options);
  if (!object) return fail(object.error().message);
  for (const auto &program : object->programs)
    if (std::string why = ptx::unsupported(program.event); !why.empty())
      return fail(object->name + ": " + program.name + ": " + why);
  auto output = Output::open(options.output, options.json, options.color);
  if (!output) return fail(output.error().message);

  Shared shared(options, *std::move(object), *std::move(output));
  Session session(shared);
  auto started = session.start();
  if (!started) {
    cli::error(started.error().message);
    return session.start_status();
  }
  auto served = session.serve();
  if (!served) cli::error(served.error().message);
  if (session.second_interrupt()) return pass_on(SIGINT);
  bool good = report(session, shared) && served;

  if (auto status = session.command_status()) {
    int command = pass_on(*status);
    return command == 0 && !good ? kOwnFailure : command;
  }
  return good ? 0 : kOwnFailure;
}

}  // namespace
}  // namespace egpu::load

int main(int argc, char **argv) {
  egpu::cli::set_tool("egpu-load");
  egpu::load::Options options;
  if (auto status = egpu::load::parse_options(argc, argv, &options)) return *status;
  return egpu::load::run(options);
}
