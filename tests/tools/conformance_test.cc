// Programs of tests/tools/conformance/*.txt, one file for each conformance group of RFC 9669, on
// every machine, verified and not: what they give is what the file says.
//
//   == name              begins a program
//   memory 01 02 ff      its memory; none: r1 and r2 are 0
//   unverified           what the verifier refuses, so that it runs without only
//   result 0x17          the r0 that is expected
//   (the rest)           assembly, lib/bpf2ptx/insn/assemble.h
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/bpf2ptx/insn/assemble.h"
#include "lib/bpf2ptx/insn/encode.h"
#include "tests/tools/machines.h"

namespace egpu::bpf::run {
namespace {

struct Case {
  std::string file, name, text;
  std::vector<uint8_t> memory;
  bool verifiable = true;
  uint64_t result = 0;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> found;
    std::filesystem::path directory = std::filesystem::path(EGPU_SOURCE_DIR) / "tests/tools/conformance";
    for (const auto &entry : std::filesystem::directory_iterator(directory)) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word, rest;
        words >> word;
        std::getline(words >> std::ws, rest);
        if (word == "==") {
          found.push_back({entry.path().stem().string(), rest, {}, {}, true, 0});
        } else if (found.empty()) {
          continue;  // comments at the head
        } else if (word == "memory") {
          auto bytes = parse_hex(rest);
          EXPECT_TRUE(bytes) << line;
          if (bytes) found.back().memory = *bytes;
        } else if (word == "unverified") {
          found.back().verifiable = false;
        } else if (word == "result") {
          found.back().result = std::stoull(rest, nullptr, 0);
        } else {
          found.back().text += line + "\n";
        }
      }
    }
    return found;
  }();
  return all;
}

// Through bytecode, as bpf-run has it.
Result<Job> job_of(const Case &c, bool verified) {
  TRY(Assembly assembly, assemble(c.text));
  std::vector<RawInsn> code = encode(assembly.insns);
  std::vector<uint8_t> bytes(code.size() * sizeof(RawInsn));
  std::memcpy(bytes.data(), code.data(), bytes.size());
  Job job;
  TRY(job.program, program_of_bytecode(bytes));
  job.memory = c.memory;
  job.verified = verified;
  return job;
}

using Machine = std::function<Result<std::vector<Outcome>>(const std::vector<Prepared> &)>;

// All of them at once; the interpreter's memory is what theirs must be.
void run_batch(bool verified, const Machine &machine) {
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
  run_batch(verified, [&](const std::vector<Prepared> &p) { return run_on_device(p, device->get()); });
}

TEST(Conformance, SimulatedGpu) { on_simulated_gpu(true); }
TEST(Conformance, SimulatedGpuUnverified) { on_simulated_gpu(false); }

TEST(Conformance, SimulatedGpuWithFewPasses) {
  auto device = simulated_device();
  ASSERT_TRUE(device);
  run_batch(true, [&](const std::vector<Prepared> &p) { return run_on_device(p, device->get(), 0); });
}

#ifdef EGPU_HAS_JIT
TEST(Conformance, Cpu) {
  run_batch(true, [](const std::vector<Prepared> &p) { return run_on_cpu(p); });
}
TEST(Conformance, CpuUnverified) {
  run_batch(false, [](const std::vector<Prepared> &p) { return run_on_cpu(p); });
}
#endif

// On a GPU where there is one: bpf-run's cli test runs this back end on the simulated driver.
TEST(Conformance, Cuda) {
  auto device = cuda_device();
  if (!device) GTEST_SKIP() << device.error().message;
  for (bool verified : {true, false})
    run_batch(verified, [&](const std::vector<Prepared> &p) { return run_on_device(p, device->get()); });
}

}  // namespace
}  // namespace egpu::bpf::run
