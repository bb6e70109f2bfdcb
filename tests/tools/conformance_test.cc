// Programs of tests/tools/conformance/*.txt on every machine, verified and not: what they give is what
// the file says.
#include <gtest/gtest.h>

#include <map>

#include "tests/tools/cases.h"
#include "tests/tools/machines.h"

namespace egpu::bpf::run {
namespace {

const std::vector<Case> &cases() {
  static const std::vector<Case> all = [] {
    auto found = read_cases(std::filesystem::path(EGPU_SOURCE_DIR) / "tests/tools/conformance");
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::vector<Case>{};
  }();
  return all;
}

// All of them at once; the interpreter's memory is what theirs must be.
void run_batch(bool verified, const std::function<Result<std::vector<Outcome>>(const Batch &)> &machine) {
  std::vector<Prepared> prepared;
  std::vector<const Case *> run;
  std::vector<Outcome> expected;
  for (const Case &c : cases()) {
    if (verified && !c.verifiable) continue;
    SCOPED_TRACE(c.file + ": " + c.name);
    auto job = job_of(c, verified);
    ASSERT_TRUE(job) << job.error().message;
    auto outcome = interpret(*job);
    ASSERT_TRUE(outcome) << outcome.error().message;
    auto p = prepare(*job);
    ASSERT_TRUE(p) << p.error().message;
    run.push_back(&c);
    prepared.push_back(*std::move(p));
    expected.push_back({c.result, outcome->memory});
  }
  auto outcomes = machine(prepared);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  ASSERT_EQ(outcomes->size(), run.size());
  for (size_t i = 0; i < run.size(); ++i) {
    SCOPED_TRACE(run[i]->file + ": " + run[i]->name);
    EXPECT_EQ((*outcomes)[i].r0, expected[i].r0);
    EXPECT_EQ((*outcomes)[i].memory, expected[i].memory);
  }
}

TEST(Conformance, EveryGroupHasPrograms) {
  std::map<std::string, int> groups;
  for (const Case &c : cases()) ++groups[c.file];
  for (const char *group :
       {"base32", "base64", "divmul32", "divmul64", "atomic32", "atomic64", "call", "jump"})
    EXPECT_GE(groups[group], 4) << group;
  EXPECT_GE(cases().size(), 60u);
}

TEST(Conformance, Interpreter) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.file + ": " + c.name);
    for (bool verified : {true, false}) {
      if (verified && !c.verifiable) continue;
      auto job = job_of(c, verified);
      ASSERT_TRUE(job) << job.error().message;
      auto outcome = interpret(*job);
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->r0, c.result);
    }
  }
}

// `unverified` is no way to pass over what should be accepted.
TEST(Conformance, UnverifiedProgramsAreRefused) {
  for (const Case &c : cases()) {
    if (c.verifiable) continue;
    SCOPED_TRACE(c.file + ": " + c.name);
    auto job = job_of(c, true);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_FALSE(prepare(*job));
  }
}

void on_simulated_gpu(bool verified) {
  auto device = simulated_device();
  ASSERT_TRUE(device);
  run_batch(verified, [&](const Batch &p) { return run_on_device(p, device->get()); });
}

TEST(Conformance, SimulatedGpu) { on_simulated_gpu(true); }
TEST(Conformance, SimulatedGpuUnverified) { on_simulated_gpu(false); }

TEST(Conformance, SimulatedGpuWithFewPasses) {
  auto device = simulated_device();
  ASSERT_TRUE(device);
  run_batch(true, [&](const Batch &p) { return run_on_device(p, device->get(), 0); });
}

TEST(Conformance, Cpu) {
  run_batch(true, [](const Batch &p) { return run_on_cpu(p); });
}
TEST(Conformance, CpuUnverified) {
  run_batch(false, [](const Batch &p) { return run_on_cpu(p); });
}

// On a GPU where there is one: bpf-run's cli test runs this back end on the simulated driver.
TEST(Conformance, Cuda) {
  auto device = cuda_device();
  if (!device) GTEST_SKIP() << device.error().message;
  for (bool verified : {true, false})
    run_batch(verified, [&](const Batch &p) { return run_on_device(p, device->get()); });
}

}  // namespace
}  // namespace egpu::bpf::run
