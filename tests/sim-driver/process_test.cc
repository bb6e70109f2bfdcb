// What needs a process of its own: the environment, and the end of the process.
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/sim-driver/cuda.h"

namespace {

using testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};

Outcome run(const std::string &command) {
  Outcome outcome;
  std::FILE *pipe =
      popen(("exec 2>&1; export LD_LIBRARY_PATH=" EGPU_BINARY_DIR "/lib/sim; " + command).c_str(), "r");
  if (!pipe) return outcome;
  char part[4096];
  while (const size_t got = std::fread(part, 1, sizeof part, pipe)) outcome.output.append(part, got);
  outcome.status = pclose(pipe);
  return outcome;
}

const std::string kVecadd = EGPU_BINARY_DIR "/examples/vecadd";

TEST(Process, InjectionLibraryIsLoadedOnceBeforeInitReturns) {
  EGPU_SIMULATED_ONLY("a program for the simulator");
  const Outcome with =
      run("CUDA_INJECTION64_PATH=" EGPU_INJECTION " " + kVecadd + " --launches 1 --threads 4");
  EXPECT_EQ(with.status, 0) << with.output;
  EXPECT_EQ(with.output, "injected: cuInit 0, cuDeviceGetCount 0, devices 1\nPASS vecadd\n");
  const Outcome missing = run("CUDA_INJECTION64_PATH=/nonexistent.so " + kVecadd);
  EXPECT_EQ(missing.status, 0);
  EXPECT_THAT(missing.output, HasSubstr("warning: CUDA_INJECTION64_PATH: /nonexistent.so"));
  EXPECT_THAT(missing.output, HasSubstr("PASS vecadd"));
}

TEST(Process, EnvironmentConfiguresTheDevices) {
  EGPU_SIMULATED_ONLY("a program for the simulator");
  EXPECT_THAT(run("EGPU_SIM_DEVICES=0 " + kVecadd).output, HasSubstr("CUDA_ERROR_NO_DEVICE"));
  const Outcome trace =
      run("EGPU_SIM_TRACE=1 EGPU_SIM_DEVICES=2 EGPU_SIM_CC=7.5 " + kVecadd + " --launches 1");
  EXPECT_EQ(trace.status, 0);
  EXPECT_THAT(trace.output, HasSubstr("egpu-sim: cuLaunchKernel = 0"));
  const Outcome wrong = run("EGPU_SIM_CC=new " + kVecadd + " --launches 1");
  EXPECT_EQ(wrong.status, 0);
  EXPECT_THAT(wrong.output, HasSubstr("warning: EGPU_SIM_CC=new: not like 9.0"));
}

TEST(Process, OutputsAreTheSameWithEverySeedAndThreadCount) {
  EGPU_SIMULATED_ONLY("a program for the simulator");
  const auto output_of = [](const std::string &environment, const std::string &options,
                            const std::string &name) {
    const std::string path = testing::TempDir() + "egpu-sim-" + name + "." + std::to_string(getpid());
    const Outcome outcome = run(environment + " " + kVecadd + " " + options + " --dump " + path);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    std::remove(path.c_str());
    return bytes.str();
  };
  const std::string first = output_of("EGPU_SIM_SEED=1 EGPU_SIM_THREADS=1", "", "first");
  EXPECT_EQ(first.size(), 23u * 1779 * 4);
  EXPECT_EQ(output_of("EGPU_SIM_SEED=5 EGPU_SIM_THREADS=3", "", "second"), first);
  EXPECT_NE(output_of("", "--seed 2", "third"), first);
}

}  // namespace
