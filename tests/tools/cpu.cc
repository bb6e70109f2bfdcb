#include <cstring>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/jit/jit.h"
#include "tests/tools/machines.h"

namespace egpu::bpf::run {

Result<std::vector<Outcome>> run_on_cpu(const std::vector<Prepared> &programs, int opt_level) {
  TRY(auto code, HostCode::create());
  for (const Prepared &p : programs) {
    TRY(Ok added, code->add(p.program, p.object, p.facts));
    (void)added;
  }
  TRY(Ok finished, code->finish(opt_level));
  (void)finished;
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < programs.size(); ++i) {
    const Prepared &p = programs[i];
    std::vector<std::vector<uint64_t>> blocks;  // of words: values are 8-byte aligned
    for (const MapSpec &map : p.object.maps) {
      std::vector<uint8_t> bytes = initial_block(map);
      blocks.emplace_back((bytes.size() + 7) / 8);
      std::memcpy(blocks.back().data(), bytes.data(), bytes.size());
    }
    std::vector<uint64_t> values;
    for (const std::string &symbol : code->symbols(i)) {
      uint64_t value = symbol == "%globaltimer" ? nanoseconds() : 0;
      for (size_t m = 0; m < blocks.size(); ++m)
        if (symbol == format("egpu_map_{}", m)) value = reinterpret_cast<uint64_t>(blocks[m].data());
      values.push_back(value);
    }
    code->run(i, values);
    Outcome outcome;
    outcome.r0 = blocks[static_cast<size_t>(p.result_map)][0];
    if (p.memory_map >= 0) {
      auto m = static_cast<size_t>(p.memory_map);
      outcome.memory.resize(p.object.maps[m].shape.value_size);
      std::memcpy(outcome.memory.data(), blocks[m].data(), outcome.memory.size());
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace egpu::bpf::run
