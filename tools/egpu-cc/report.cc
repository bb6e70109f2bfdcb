#include "tools/egpu-cc/report.h"

#include <algorithm>

namespace egpu::cc {
namespace {

std::string type_name(map::Type type) {
  switch (type) {
    case map::Type::hash:
      return "hash";
    case map::Type::array:
      return "array";
    case map::Type::percpu_hash:
      return "percpu_hash";
    case map::Type::percpu_array:
      return "percpu_array";
    case map::Type::ringbuf:
      return "ringbuf";
  }
  return "unknown";
}

std::string joined(const std::set<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

std::string counted(size_t count, const std::string &one, const std::string &many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string copies(const MapSpec &map) {
  return map.summed ? "one copy per SM, summed" : map.sharded ? "one copy per SM" : "one copy";
}

size_t statements(const std::string &body) {
  return static_cast<size_t>(std::count(body.begin(), body.end(), ';'));
}

std::string size_text(const CompiledProgram &program) {
  return counted(program.insn_count, "eBPF instruction", "eBPF instructions") + ", " +
         counted(statements(program.body), "PTX statement", "PTX statements") + ", " +
         counted(program.stack_bytes, "stack byte", "stack bytes");
}

std::string cost_text(const Cost &cost) {
  return counted(cost.insns, "instruction", "instructions") + ", " +
         counted(cost.memory, "memory access", "memory accesses") + ", " +
         counted(cost.atomics, "atomic", "atomics") + ", " +
         counted(cost.helpers, "helper call", "helper calls");
}

std::string maps_text(const CompiledProgram &program, const std::vector<MapSpec> &maps) {
  std::set<std::string> words;
  for (int i : program.use.maps) {
    const MapSpec &map = maps[static_cast<size_t>(i)];
    words.insert(map.name + " (" + copies(map) + ")");
  }
  return joined(words);
}

std::string branches_text(const ProgramUse &use) {
  std::string text = counted(use.branches, "branch", "branches");
  if (!use.uniformity_known) return text + ", too many to say which split a warp";
  if (use.branches == 0) return text;
  return text + ", " + (use.varying_branches == 0 ? "none" : std::to_string(use.varying_branches)) +
         " can split a warp";
}

// A line for each row of the manifest, the program's name first.
std::string program_lines(const CompiledProgram &program, const std::vector<MapSpec> &maps,
                          const std::string &prefix) {
  const std::pair<const char *, std::string> rows[] = {
      {"size", size_text(program)},
      {"worst case", cost_text(program.cost)},
      {"helpers", joined(program.use.helpers)},
      {"maps", maps_text(program, maps)},
      {"ctx", joined(program.use.ctx_fields)},
      {"body reads", joined(program.symbols)},
      {"control", branches_text(program.use)},
      {"notes", program.notes.empty() ? "none" : std::to_string(program.notes.size())},
  };
  std::string text = prefix + "program " + program.name + ": " + program.event.section + "\n";
  for (const auto &[name, value] : rows) text += prefix + "  " + name + ": " + value + "\n";
  return text;
}

std::string map_line(const MapSpec &map, size_t index) {
  return "map " + std::to_string(index) + " " + map.name + ": " + type_name(map.shape.type) + ", key " +
         std::to_string(map.shape.key_size) + ", value " + std::to_string(map.shape.value_size) + " bytes, " +
         std::to_string(map.shape.max_entries) + " entries, " + copies(map) + "\n";
}

}  // namespace

std::string manifest(const CompiledObject &object) {
  std::string text;
  for (const CompiledProgram &program : object.programs) text += program_lines(program, object.maps, "");
  for (size_t i = 0; i < object.maps.size(); ++i) text += map_line(object.maps[i], i);
  return text;
}

std::string listing(const CompiledObject &object, const std::string &comment) {
  std::string text;
  for (size_t i = 0; i < object.maps.size(); ++i) text += comment + " " + map_line(object.maps[i], i);
  for (const CompiledProgram &program : object.programs)
    text += program_lines(program, object.maps, comment + " ") + program.body + "\n";
  return text;
}

}  // namespace egpu::cc
