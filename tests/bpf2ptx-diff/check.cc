// bpf-check: the two tests of bpf2ptx that want many processors or a GPU.
//
//   bpf-check conformance DIRECTORY [--on=cuda]                 every program, in one launch
//   bpf-check differential [--on=cpu,sim] [--count=N] [--seed=S] [--jobs=J] [--batch=B]
//
// Exit status 0: all as it should be; 1: a difference, printed, or a machine that is not here.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "lib/bpf2ptx/insn/format.h"
#include "tests/bpf2ptx-diff/compare.h"
#include "tests/bpf2ptx-diff/generate.h"
#include "tests/bpf2ptx-diff/workers.h"
#include "tests/tools/cases.h"

namespace {

using namespace egpu;
using namespace egpu::bpf;
using namespace egpu::bpf::run;

constexpr const char *kUsage =
    "usage: bpf-check conformance DIRECTORY [--on=MACHINE,...]\n"
    "       bpf-check differential [--on=MACHINE,...] [--count=N] [--seed=S] [--jobs=J] [--batch=B]\n"
    "What MACHINES (cpu, sim, cuda) give against what the programs' files say, or, for N generated programs\n"
    "from seed S on, against the interpreter; in J processes, B programs in a launch.\n"
    "Exit status: 0 all equal, 1 a difference or an error.\n";

struct Options {
  std::string command, directory, on = "cpu,sim";
  uint64_t count = 10'000, seed = 1, batch = 100;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
};

Result<Options> parse(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals),
                value = equals == std::string::npos ? "" : word.substr(equals + 1);
    uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "--on")
      o.on = value;
    else if (name == "--count" && number > 0)
      o.count = number;
    else if (name == "--seed" && number > 0)
      o.seed = number;
    else if (name == "--batch" && number > 0)
      o.batch = number;
    else if (name == "--jobs" && number > 0 && number <= 1024)
      o.jobs = static_cast<unsigned>(number);
    else if (o.command.empty() && (word == "conformance" || word == "differential"))
      o.command = word;
    else if (o.command == "conformance" && o.directory.empty() && !word.starts_with("-"))
      o.directory = word;
    else
      return Error{format("unexpected argument '{}'\n{}", word, kUsage)};
  }
  if (o.command.empty() || (o.command == "conformance" && o.directory.empty())) return Error{kUsage};
  return o;
}

Result<std::vector<Machine>> open_machines(const std::string &names) {
  std::vector<Machine> machines;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    TRY(Machine machine, machine_named(name));
    machines.push_back(std::move(machine));
  }
  return machines;
}

// Number of programs. Error: the first that gives something else than its file says.
Result<size_t> run_cases(const std::vector<Case> &cases, bool verified, const Machine &machine) {
  Batch batch;
  std::vector<const Case *> run;
  for (const Case &c : cases) {
    if (verified && !c.verifiable) continue;
    auto job = job_of(c, verified);
    if (!job) return std::move(job).error().in(c.name);
    auto prepared = prepare(*job);
    if (!prepared) return std::move(prepared).error().in(c.name);
    run.push_back(&c);
    batch.push_back(*std::move(prepared));
  }
  TRY(std::vector<Outcome> outcomes, machine.run(batch));
  for (size_t i = 0; i < run.size(); ++i)
    if (outcomes[i].r0 != run[i]->result)
      return Error{format("{}: {} {}: {}: r0 is {}, not {}", machine.name,
                          verified ? "verified" : "unverified", run[i]->file, run[i]->name,
                          hex(outcomes[i].r0), hex(run[i]->result))};
  return run.size();
}

Result<Ok> conformance(const Options &o) {
  TRY(std::vector<Case> cases, read_cases(o.directory));
  TRY(std::vector<Machine> machines, open_machines(o.on));
  for (const Machine &machine : machines)
    for (bool verified : {true, false}) {
      TRY(size_t count, run_cases(cases, verified, machine));
      std::printf("%s: %zu conformance programs, %s: all as expected\n", machine.name.c_str(), count,
                  verified ? "verified" : "unverified");
    }
  return Ok{};
}

Result<Tally> compare_seeds(Seeds seeds, const std::vector<Machine> &machines) {
  std::vector<Job> jobs;
  Tally tally;
  for (uint64_t n = 0; n < seeds.count; ++n) {
    jobs.push_back(generate(seeds.first + n));
    tally.insns += jobs.back().program.insns.size();
  }
  Comparison comparison = compare(jobs, machines);
  if (!comparison.differences.empty()) {
    const Difference &d = comparison.differences[0];
    return Error{report(jobs[d.job], seeds.first + d.job, d, machines)};
  }
  tally.programs = seeds.count;
  tally.compared = comparison.compared;
  return tally;
}

Result<Ok> differential(const Options &o) {
  auto open = [&]() -> Result<Work> {
    TRY(std::vector<Machine> machines, open_machines(o.on));
    return Work{[machines](Seeds seeds) { return compare_seeds(seeds, machines); }};
  };
  TRY(Tally sum, share_out({o.seed, o.count}, o.batch, o.jobs, open));
  std::printf(
      "interp = %s: %llu programs from seed %llu: %llu compared, %llu refused, %.1f instructions each\n",
      o.on.c_str(), static_cast<unsigned long long>(sum.programs), static_cast<unsigned long long>(o.seed),
      static_cast<unsigned long long>(sum.compared),
      static_cast<unsigned long long>(sum.programs - sum.compared),
      static_cast<double>(sum.insns) / static_cast<double>(sum.programs));
  if (sum.compared < sum.programs * 9 / 10) return Error{"too many programs are refused"};
  return Ok{};
}

}  // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "bpf-check: error: %s\n", options.error().message.c_str());
    return 1;
  }
  auto done = options->command == "conformance" ? conformance(*options) : differential(*options);
  if (done) return 0;
  std::fprintf(stderr, "bpf-check: error: %s\n", done.error().message.c_str());
  return 1;
}
