// What the probes of bench/probes add to the eight kernels of bench/nbench.cu, by ptxas for sm_90:
// registers and local memory. The times that belong to it: docs/gpu-results.md.
#include <gtest/gtest.h>

#include <cstdio>

#include "egpu/bpf2ptx.h"
#include "tests/bpf2ptx-lower/clang.h"
#include "tests/ptx/resources.h"
#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

constexpr const char *kArch = "sm_90";

// Most registers that a probe may add, as the mean over the kernels. Where the project has set
// itself no limit, what was measured and half a register.
struct Row {
  const char *probe;
  double limit;
};
constexpr Row kRows[] = {{"empty", 0}, {"counter", 2}, {"histogram", 4}, {"blockhist", 2}, {"loads", 4.25}};

std::vector<Probe> compile_probes(const std::string &name) {
  std::string path = EGPU_SOURCE_DIR "/bench/probes/" + name + ".bpf.c";
  auto object = compile_object(name, egpu::test::compile_file(path), {});
  if (!object) {
    ADD_FAILURE() << object.error().message;
    return {};
  }
  std::vector<Probe> probes;
  for (const CompiledProgram &program : object->programs) {
    Probe p;
    p.name = program.name;
    p.event = program.event;
    p.body = program.body;
    p.symbols = program.symbols;
    p.writes_cookie = program.writes_cookie;
    probes.push_back(std::move(p));
  }
  return probes;
}

std::string nbench_ptx() {
  TemporaryFile ptx(".ptx");
  int status = 0;
  std::string said = output_of(
      toolkit("nvcc") + " -O3 -arch=compute_90 --ptx -o " + ptx.path + " " EGPU_SOURCE_DIR "/bench/nbench.cu",
      &status);
  EXPECT_EQ(status, 0) << said;
  return read_file(ptx.path);
}

TEST(Cost, of_the_bench_probes_in_registers) {
  if (toolkit("nvcc").empty() || toolkit("ptxas").empty()) GTEST_SKIP() << "no nvcc and ptxas here";
  std::string original = nbench_ptx();
  Compiled before = compile(original, kArch);
  ASSERT_EQ(before.failure, "");
  ASSERT_EQ(before.functions.size(), 8u);

  std::map<std::string, std::string> lines;
  std::string head = "kernel       regs", means = "mean             ";
  char cell[32];
  for (const auto &[kernel, resources] : before.functions) {
    std::snprintf(cell, sizeof cell, "%-10s %6d", kernel.c_str(), resources.registers);
    lines[kernel] = cell;
  }
  for (const Row &row : kRows) {
    Compiled after = compile(patched(original, compile_probes(row.probe)).text, kArch);
    ASSERT_EQ(after.failure, "") << row.probe;
    double sum = 0;
    size_t count = 0;
    for (auto &[kernel, line] : lines) {
      auto now = after.functions.find(kernel);
      if (now == after.functions.end()) {  // no site: k_fma loads nothing
        line += "           -";
        continue;
      }
      int added = now->second.registers - before.functions[kernel].registers;
      int local = now->second.local_bytes - before.functions[kernel].local_bytes;
      EXPECT_EQ(local, 0) << row.probe << " in " << kernel << ": bytes of local memory added";
      EXPECT_TRUE(row.limit > 0 || added == 0) << row.probe << " in " << kernel << ": " << added;
      std::snprintf(cell, sizeof cell, " %+11d", added);
      line += cell;
      sum += added;
      ++count;
    }
    ASSERT_GE(count, 7u) << row.probe;
    double mean = sum / static_cast<double>(count);
    EXPECT_LE(mean, row.limit) << row.probe << ": mean of the registers added";
    std::snprintf(cell, sizeof cell, " %11s", row.probe);
    head += cell;
    std::snprintf(cell, sizeof cell, " %+11.2f", mean);
    means += cell;
  }
  std::printf("%s\n", head.c_str());
  for (const auto &[kernel, line] : lines) std::printf("%s\n", line.c_str());
  std::printf("%s\n", means.c_str());
}

}  // namespace
}  // namespace egpu::ptx::test
