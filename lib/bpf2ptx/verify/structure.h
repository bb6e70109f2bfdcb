// What can be checked before any path is explored: shape of the control flow, maps.
#pragma once
#include <optional>
#include <vector>

#include "lib/bpf2ptx/verify/message.h"

namespace egpu::bpf {

struct Structure {
  std::vector<int> starts;         // first instruction of each subprogram, ascending
  std::vector<int> subprogram_of;  // by instruction: index into starts
  std::vector<bool> join;          // by instruction: something jumps here
  std::vector<std::string> names;  // of the subprograms
};

/// Every target inside its subprogram, no way off the end, no unreachable instruction, maps
/// that exist.
Result<Structure> check_structure(const Program &program, const Object &object, const Messages &messages);

}  // namespace egpu::bpf
