#include "tests/tools/cases.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "lib/bpf2ptx/insn/assemble.h"
#include "lib/bpf2ptx/insn/encode.h"
#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf::run {
namespace {

Result<Ok> read_file(const std::filesystem::path &path, std::vector<Case> *cases) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word, rest;
    words >> word;
    std::getline(words >> std::ws, rest);
    if (word == "==") {
      cases->push_back({path.stem().string(), rest, {}, {}, true, 0});
    } else if (cases->empty() || cases->back().file != path.stem()) {
      continue;  // comments at the head
    } else if (word == "memory") {
      auto bytes = parse_hex(rest);
      if (!bytes) return Error{format("{}: {}: {}", path.string(), line, bytes.error().message)};
      cases->back().memory = *std::move(bytes);
    } else if (word == "unverified") {
      cases->back().verifiable = false;
    } else if (word == "result") {
      cases->back().result = std::strtoull(rest.c_str(), nullptr, 0);
    } else {
      cases->back().text += line + "\n";
    }
  }
  return Ok{};
}

}  // namespace

Result<std::vector<Case>> read_cases(const std::filesystem::path &directory) {
  std::error_code code;
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(directory, code))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  if (paths.empty()) return Error{format("{}: no conformance programs there", directory.string())};
  std::sort(paths.begin(), paths.end());
  std::vector<Case> cases;
  for (const auto &path : paths)
    if (auto done = read_file(path, &cases); !done) return std::move(done).error();
  return cases;
}

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

}  // namespace egpu::bpf::run
