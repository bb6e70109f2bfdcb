// The programs of tests/tools/conformance/*.txt, one file for each conformance group of RFC 9669.
//
//   == name              begins a program
//   memory 01 02 ff      its memory; none: r1 and r2 are 0
//   unverified           what the verifier refuses, so that it runs without only
//   result 0x17          the r0 that is expected
//   (the rest)           assembly, lib/bpf2ptx/insn/assemble.h
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/job.h"

namespace egpu::bpf::run {

struct Case {
  std::string file, name, text;
  std::vector<uint8_t> memory;
  bool verifiable = true;
  uint64_t result = 0;
};

/// In the order of file names. Error: a directory without programs, a line that is wrong.
Result<std::vector<Case>> read_cases(const std::filesystem::path &directory);

/// Through bytecode, as bpf-run has it.
Result<Job> job_of(const Case &c, bool verified);

}  // namespace egpu::bpf::run
