// A BPF object as libbpf linked it: programs as typed instructions, maps, BTF and lines.
//
// libbpf is the linker, in gen_loader mode, so that no bpf() call is made and no privilege
// is needed (docs/facts.md, 5). `read_object` accepts any bytes; a malformed object gives an
// Error that names the object and libbpf's reason.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "egpu/bpf2ptx.h"
#include "lib/bpf2ptx/insn/insn.h"

namespace egpu::bpf {

struct Program {
  std::string name;
  Event event;
  std::vector<Insn> insns;            // main program first, then each subprogram it calls
  std::vector<int> subprogram_starts; // first instruction of each, ascending; [0] == 0
  std::vector<std::string> subprogram_names;
  std::vector<SourceLine> lines;
  std::vector<std::string> notes;     // of reading it, e.g. a legacy section name
};

struct Object {
  std::string name;
  std::vector<MapSpec> maps;          // `sharded`, `summed` not decided yet
  std::vector<Program> programs;
  std::vector<uint8_t> btf;
};

Result<Object> read_object(const std::string &name, const std::vector<uint8_t> &elf,
                           const std::map<std::string, std::string> &constants);

// Typed form of linked bytecode (8-byte instructions). Error: the slot and what is wrong with
// it: unknown opcode, unused field not zero, target outside the program or inside a 64-bit load.
struct RawInsn { uint8_t code, regs; int16_t offset; int32_t imm; };
static_assert(sizeof(RawInsn) == 8);
Result<std::vector<Insn>> decode(const std::vector<RawInsn> &code);

// Parses SEC("gpu[.scope]/event[/kernel]") and the legacy kprobe/kretprobe spellings.
// *note receives the new spelling if a legacy one was used.
Result<Event> parse_section(const std::string &section, std::string *note);

}  // namespace egpu::bpf
