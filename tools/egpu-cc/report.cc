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
  for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "none" : text;
}

std::string copies(const MapSpec &map) {
  return map.summed ? "one copy per SM, summed" : map.sharded ? "one copy per SM" : "one copy";
}

size_t statements(const std::string &body) {
  return static_cast<size_t>(std::count(body.begin(), body.end(), ';'));
}

std::string program_line(const CompiledProgram &program) {
  return "program " + program.name + ": " + program.event.section + ": " +
         std::to_string(program.insn_count) + " eBPF instructions, " +
         std::to_string(statements(program.body)) + " PTX statements, " +
         std::to_string(program.stack_bytes) + " stack bytes; reads " + joined(program.symbols) + "\n";
}

std::string map_line(const MapSpec &map, size_t index) {
  return "map " + std::to_string(index) + " " + map.name + ": " + type_name(map.shape.type) + ", key " +
         std::to_string(map.shape.key_size) + ", value " + std::to_string(map.shape.value_size) + " bytes, " +
         std::to_string(map.shape.max_entries) + " entries, " + copies(map) + "\n";
}

}  // namespace

std::string manifest(const CompiledObject &object) {
  std::string text;
  for (const CompiledProgram &program : object.programs) text += program_line(program);
  for (size_t i = 0; i < object.maps.size(); ++i) text += map_line(object.maps[i], i);
  return text;
}

std::string listing(const CompiledObject &object, const std::string &comment) {
  std::string text;
  for (size_t i = 0; i < object.maps.size(); ++i) text += comment + " " + map_line(object.maps[i], i);
  for (const CompiledProgram &program : object.programs)
    text += comment + " " + program_line(program) + program.body + "\n";
  return text;
}

}  // namespace egpu::cc
