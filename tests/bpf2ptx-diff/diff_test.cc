// Interpreter = x86-64 code of the same IR = simulated GPU, on generated programs.
//
// EGPU_DIFF_COUNT programs from seed EGPU_DIFF_SEED on, in eight shares; a difference is shrunk and printed
// with its seed. More programs, on all processors or on a GPU: bin/bpf-check differential.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "tests/bpf2ptx-diff/compare.h"
#include "tests/bpf2ptx-diff/generate.h"

// LLVM allocates all day: with what AddressSanitizer does by default for each allocation, such as to fill it
// and to keep 256 MB of freed ones, the test takes twice the time. Our own code is a few percent of it.
extern "C" const char *__asan_default_options() {
  return "max_malloc_fill_size=0:quarantine_size_mb=4:malloc_context_size=2";
}

namespace egpu::bpf::run {
namespace {

constexpr uint64_t kStandardCount = 10'000;
constexpr uint64_t kShares = 8;  // test cases, so that ctest can run them at once
constexpr uint64_t kBatch = 100;

uint64_t number_of(const char *name, uint64_t standard) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : standard;
}

// The simulated GPU gets the IR as egpu-cc makes it, the processor with few passes: cheaper, and what the
// optimiser does wrong shows.
std::vector<Machine> machines() {
  std::vector<Machine> all{{"cpu", [](const Batch &programs) { return run_on_cpu(programs, 0); }}};
  auto sim = machine_named("sim");
  EXPECT_TRUE(sim) << sim.error().message;
  if (sim) all.push_back(*std::move(sim));
  return all;
}

std::vector<Job> jobs_of(uint64_t first, uint64_t count) {
  std::vector<Job> jobs;
  for (uint64_t seed = first; seed < first + count; ++seed) jobs.push_back(generate(seed));
  return jobs;
}

class Share : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Differential, Share, testing::Range(uint64_t{0}, kShares));

TEST_P(Share, GeneratedPrograms) {
  uint64_t count = (number_of("EGPU_DIFF_COUNT", kStandardCount) + kShares - 1) / kShares;
  uint64_t first = number_of("EGPU_DIFF_SEED", 1) + GetParam() * count;
  uint64_t compared = 0, insns = 0;
  for (uint64_t begin = first; begin < first + count; begin += kBatch) {
    uint64_t size = std::min(kBatch, first + count - begin);
    std::vector<Job> jobs = jobs_of(begin, size);
    for (const Job &job : jobs) insns += job.program.insns.size();
    Comparison comparison = compare(jobs, machines());
    compared += comparison.compared;
    if (comparison.differences.empty()) continue;
    const Difference &d = comparison.differences[0];
    FAIL() << report(jobs[d.job], begin + d.job, d, machines());
  }
  std::printf("seeds %llu to %llu: %llu programs compared, %llu refused, %.1f instructions each\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + count - 1),
              static_cast<unsigned long long>(compared), static_cast<unsigned long long>(count - compared),
              static_cast<double>(insns) / static_cast<double>(count));
  EXPECT_GT(compared, count * 9 / 10) << "too many programs are refused";
}

// The generator makes every kind of instruction.
TEST(Differential, GeneratorCoversTheInstructionSet) {
  std::set<std::string> kinds;
  for (const Job &job : jobs_of(1, 200))
    for (const Insn &insn : job.program.insns) {
      if (auto *alu = std::get_if<Alu>(&insn.op))
        kinds.insert("alu" + std::to_string(static_cast<int>(alu->op)) + (alu->is64 ? "w" : "n"));
      else if (auto *jump = std::get_if<JumpIf>(&insn.op))
        kinds.insert("if" + std::to_string(static_cast<int>(jump->op)) + (jump->is64 ? "w" : "n"));
      else if (auto *atomic = std::get_if<Atomic>(&insn.op))
        kinds.insert("atomic" + std::to_string(static_cast<int>(atomic->op)) + (atomic->fetch ? "f" : "") +
                     std::to_string(atomic->bytes));
      else
        kinds.insert("op" + std::to_string(insn.op.index()));
    }
  size_t alus = 13 * 2, conditions = 11 * 2, atomics = (4 * 2 + 2) * 2;
  // Neg, Mov, Endian, LoadImm64, LoadFunction, Load, Store, Jump, CallHelper, CallLocal, Exit.
  EXPECT_EQ(kinds.size(), alus + conditions + atomics + 11);
}

// A wrong machine is found, and its program becomes small.
TEST(Differential, ShrinkingKeepsTheFailure) {
  auto has_bswap = [](const Job &job) {
    if (!prepare(job)) return false;
    for (const Insn &insn : job.program.insns)
      if (std::holds_alternative<Endian>(insn.op)) return true;
    return false;
  };
  for (uint64_t seed = 1; seed < 20; ++seed) {
    Job job = generate(seed);
    if (!has_bswap(job)) continue;
    Job smallest = shrink(job, has_bswap);
    EXPECT_TRUE(has_bswap(smallest));
    EXPECT_LE(smallest.program.insns.size(), 16u) << listing(smallest);
  }
}

}  // namespace
}  // namespace egpu::bpf::run
