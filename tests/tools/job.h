// A program with memory to run it on, and what it must be for the machines that compile it.
//
// In the plug-in protocol of bpf_conformance a program gets the address of its memory in r1 and
// its length in r2 and gives a number in r0. Here compiled programs get their memory as value 0
// of a map, and leave r0 in another: the verifier and lower/ need to know nothing of this protocol.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf::run {

struct Job {
  Program program;
  Object object;                // its maps, if it has any
  std::vector<uint8_t> memory;  // first contents; empty: r1 and r2 are 0
  bool verified = true;         // refuse what the verifier refuses; else run it as it is
  uint32_t max_insns = 1'000'000;
};

struct Outcome {
  uint64_t r0 = 0;
  std::vector<uint8_t> memory;  // last contents
  bool operator==(const Outcome &) const = default;
};

/// "95 00 0a", spaces as one likes. Error: what is no hexadecimal byte.
Result<std::vector<uint8_t>> parse_hex(const std::string &text);

/// Of 8-byte instructions. Subprograms begin at 0 and where local calls and callbacks go.
Result<Program> program_of_bytecode(const std::vector<uint8_t> &bytes);
Result<Program> program_of_insns(std::vector<Insn> insns);
/// The first program of an ELF object: of a probe, or, if no section is one, of the first section
/// that holds code and needs no relocation. *object receives the maps.
Result<Program> program_of_elf(const std::vector<uint8_t> &bytes, Object *object);

/// A job ready to be translated.
struct Prepared {
  Program program;
  Object object;
  Facts facts;
  int memory_map = -1, result_map = -1;  // indices into object.maps
};
/// Error: the verifier's, if the job is to be verified.
Result<Prepared> prepare(const Job &job);

/// What bpf_ktime_get_ns gives, except on a GPU.
uint64_t nanoseconds();

/// The reference interpreter's outcome; strict if the job is to be verified.
Result<Outcome> interpret(const Job &job);

}  // namespace egpu::bpf::run
