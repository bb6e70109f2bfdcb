// Source lines of linked instructions, from .BTF.ext.
//
// .BTF.ext stores line records per ELF section, with offsets in that section. libbpf copies
// subprograms behind the program that calls them, so the records must follow: `locate`
// walks the calls of the original code and of the linked code side by side and says, for
// each function in the linked code, where in the object it came from.
// Source: kernel Documentation/bpf/btf.rst, ".BTF.ext section".
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/bpf2ptx/object/elf_file.h"
#include "lib/bpf2ptx/object/object.h"

struct btf;

namespace egpu::bpf {

/// One function of the linked code and the section bytes it is a copy of.
struct FunctionOrigin {
  std::string name;
  int start_slot = 0, slots = 0;  // in the linked code
  uint32_t section = 0;
  uint64_t offset = 0;  // bytes in that section
};

/// The functions of `linked`, ascending, first `program` itself.
Result<std::vector<FunctionOrigin>> locate(const ElfFile &file, const std::string &section,
                                           const std::string &program, const std::vector<RawInsn> &linked);

struct LineRecord {
  uint64_t offset;  // bytes in the section
  SourceLine line;
};

/// Line records by section name, ascending by offset. Empty without .BTF.ext.
Result<std::map<std::string, std::vector<LineRecord>>> read_lines(const ElfFile &file, const btf *types);

}  // namespace egpu::bpf
