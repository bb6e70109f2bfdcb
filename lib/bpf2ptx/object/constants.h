// `-s NAME=VALUE`: new values for an object's `const volatile` globals, before verification.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "egpu/bpf2ptx.h"
#include "lib/bpf2ptx/object/elf_file.h"

struct btf;

namespace egpu::bpf {

/// Writes the constants into the initial contents of the .rodata maps. Values are integers
/// (decimal, 0x, 0), true and false, character-free; each is checked against the variable's type.
Result<Ok> apply_constants(const std::map<std::string, std::string> &constants, const ElfFile &file,
                           const btf *types, std::vector<MapSpec> *maps);

}  // namespace egpu::bpf
