// bpf-run: runs an eBPF program and prints r0: the plug-in protocol of bpf_conformance.
//
//   bpf-run [MEM_HEX] [--elf] [--backend=interp|cpu|sim|cuda] [--verify|--no-verify] [--batch] < HEX
//
// stdin: the program's bytes in hexadecimal, on one line. With --batch, one program a line, each
// with its memory behind a '|' if it has some; all of them run in one launch, and there is one
// line of output for each. What the verifier refuses runs as it is, with a note on stderr, because
// the suite asks what an instruction does, not whether a program is safe (docs/conformance.md).
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "lib/bpf2ptx/insn/format.h"
#include "tests/tools/machines.h"

namespace {

using namespace egpu;
using namespace egpu::bpf;
using namespace egpu::bpf::run;

constexpr const char *kUsage =
    "usage: bpf-run [MEM_HEX] [--elf] [--backend=interp|cpu|sim|cuda] [--verify|--no-verify] "
    "[--max-insns=N] [--batch]\n"
    "The program's bytes in hexadecimal on stdin; r0 in hexadecimal on stdout.\n"
    "  MEM_HEX       memory: its address in r1, its length in r2\n"
    "  --elf         stdin is an ELF object\n"
    "  --verify      refuse what the verifier refuses; else that runs as it is, with a note on stderr\n"
    "  --no-verify   run it as it is, unseen by the verifier\n"
    "  --batch       one program a line, PROGRAM_HEX[|MEM_HEX], in one launch\n";

constexpr unsigned kSeconds = 60;  // then a program that does not end is given up

enum class Verify { try_it, require, skip };

struct Options {
  std::string memory, backend = "interp";
  Verify verify = Verify::try_it;
  bool elf = false, batch = false;
  uint32_t max_insns = 1'000'000;
};

// A program that nobody verified may do anything.
void on_signal(int number) {
  const char *text = number == SIGALRM ? "bpf-run: error: the program does not end\n"
                                       : "bpf-run: error: the program accessed memory that is not its own\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  _exit(1);
}

Result<Options> parse(int argc, char **argv) {
  Options o;
  bool has_memory = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--elf")
      o.elf = true;
    else if (word == "--verify")
      o.verify = Verify::require;
    else if (word == "--no-verify")
      o.verify = Verify::skip;
    else if (word == "--batch")
      o.batch = true;
    else if (word == "--debug" || word.empty())
      continue;  // the protocol's; nothing to say
    else if (word.starts_with("--backend="))
      o.backend = word.substr(std::strlen("--backend="));
    else if (word.starts_with("--max-insns="))
      o.max_insns =
          static_cast<uint32_t>(std::strtoul(word.c_str() + std::strlen("--max-insns="), nullptr, 10));
    else if (word.starts_with("-") || has_memory)
      return Error{"unexpected argument '" + word + "'"};
    else
      o.memory = word, has_memory = true;
  }
  if (o.backend != "interp" && o.backend != "cpu" && o.backend != "sim" && o.backend != "cuda")
    return Error{"--backend: interp, cpu, sim or cuda, not '" + o.backend + "'"};
  return o;
}

Result<Job> job_of(const Options &o, const std::string &program, const std::string &memory) {
  Job job;
  job.verified = o.verify != Verify::skip;
  job.max_insns = o.max_insns;
  TRY(std::vector<uint8_t> bytes, parse_hex(program));
  TRY(job.memory, parse_hex(memory));
  if (o.elf) {
    TRY(job.program, program_of_elf(bytes, &job.object));
  } else {
    TRY(job.program, program_of_bytecode(bytes));
  }
  return job;
}

Result<std::vector<Job>> read_jobs(const Options &o) {
  std::vector<Job> jobs;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.empty()) continue;
    size_t bar = o.batch ? line.find('|') : std::string::npos;
    std::string memory = bar == std::string::npos ? o.memory : line.substr(bar + 1);
    auto job = job_of(o, line.substr(0, bar), memory);
    if (!job) return Error{format("program {}: {}", jobs.size(), job.error().message)};
    jobs.push_back(*std::move(job));
    if (!o.batch) break;
  }
  if (jobs.empty()) return Error{"no program on stdin"};
  return jobs;
}

// A refused job becomes one that runs unverified, if it may.
Result<Prepared> prepare_or_note(const Options &o, Job *job) {
  auto prepared = prepare(*job);
  if (prepared || o.verify != Verify::try_it) return prepared;
  std::string refusal = prepared.error().message;
  job->verified = false;
  auto unverified = prepare(*job);
  if (!unverified) return Error{refusal};
  std::fprintf(stderr, "bpf-run: note: runs unverified: %s\n", refusal.c_str());
  return unverified;
}

Result<std::vector<Outcome>> run_jobs(const Options &o, std::vector<Job> *jobs) {
  std::vector<Outcome> outcomes;
  std::vector<Prepared> prepared;
  for (Job &job : *jobs) {
    if (o.backend != "interp" || o.verify != Verify::skip) {
      TRY(Prepared p, prepare_or_note(o, &job));
      prepared.push_back(std::move(p));
    }
    if (o.backend == "interp") {
      TRY(Outcome outcome, interpret(job));
      outcomes.push_back(std::move(outcome));
    }
  }
  if (o.backend == "interp") return outcomes;
  TRY(Machine machine, machine_named(o.backend));
  return machine.run(prepared);
}

Result<Ok> run_all(int argc, char **argv) {
  TRY(Options options, parse(argc, argv));
  TRY(std::vector<Job> jobs, read_jobs(options));
  TRY(std::vector<Outcome> outcomes, run_jobs(options, &jobs));
  for (const Outcome &outcome : outcomes) std::printf("%llx\n", static_cast<unsigned long long>(outcome.r0));
  return Ok{};
}

}  // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
  for (int number : {SIGALRM, SIGSEGV, SIGBUS}) std::signal(number, on_signal);
  alarm(kSeconds);
  if (auto done = run_all(argc, argv); !done) {
    std::fprintf(stderr, "bpf-run: error: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
