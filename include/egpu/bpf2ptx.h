// eBPF objects to PTX: open, set constants, verify, translate.
//
// In: a BPF ELF object made by clang (docs/probe-language.md). Out: for each program a
// PTX body, text that lib/loader/ptx splices into a kernel at the program's sites.
//
// The body ABI. A body is a list of PTX statements that is valid inside "{ }". It declares
// its own registers, falls through at its end (never `ret`), and may read these free
// symbols, which whoever splices it declares as registers in an enclosing scope:
//
//   egpu_map_<i>      .b64  device address of map i's block (lib/loader/map/layout.h)
//   egpu_shard_<i>    .b64  the same plus min(%smid, last shard) times the bytes of a shard: values
//                           of a sharded map are read and written through this
//   egpu_kernel       .b32  dense kernel id              egpu_site    .b32  site id
//   egpu_launch_ns    .b64  CLOCK_MONOTONIC at the launch
//   egpu_arg_<k>      .b64  kernel parameter k, zero-extended; 0 if there is none
//   egpu_ktime_offset .b64  added to %globaltimer gives CLOCK_MONOTONIC
//   egpu_active_mask  .b32  lanes that reached the site (taken before any election)
//   egpu_addr         .b64  generic address of a memory access   egpu_size .b32  its bytes
//   egpu_taken_mask   .b32  lanes that take a branch
//   egpu_cookie       .b64  the scope's cookie; read and written
//
// Everything else a program can ask for is a PTX special register and is read by the body.
// A program whose `symbols` lacks a name does not use it; the splicer need not compute it.
//
// Errors name the object, program and instruction's source line. Nothing here needs CUDA.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "egpu/event.h"
#include "egpu/result.h"
#include "lib/loader/map/layout.h"

namespace egpu {

// A map of the object, a global data section among them (one-element ARRAY named ".bss",
// ".data" or ".rodata" plus a suffix), and last, if a program prints, the ringbuf "printk".
struct MapSpec {
  std::string name;
  map::Shape shape{};
  uint32_t key_type_id = 0, value_type_id = 0;  // in the object's BTF; 0: none
  std::string unit;                             // of the map's __unit tag
  bool read_only = false;                       // .rodata
  bool internal = false;                        // "printk", ".rodata": not shown unless asked for
  bool sharded = false;                         // one copy of the values per SM
  bool summed = false;                          // readers add the shards; else shown per SM
  std::vector<uint8_t> initial;                 // first contents of value 0; empty: zeros
};

// The most that one run of a program executes, each number on its own worst path.
struct Cost {
  uint32_t insns = 0;              // eBPF instructions
  uint32_t memory = 0;             // loads, stores and atomics
  uint32_t atomics = 0, helpers = 0;
};

// What a program uses, on any of its paths.
struct ProgramUse {
  std::set<std::string> helpers;     // "bpf_map_lookup_elem"
  std::set<std::string> ctx_fields;  // "thread_idx.x"
  std::set<int> maps;                // indices into CompiledObject::maps
  size_t branches = 0;               // that can go both ways
  size_t varying_branches = 0;       // of those, the ones that can split a warp
  bool uniformity_known = true;      // false: too large to say, varying_branches is 0
};

struct CompiledProgram {
  std::string name;
  Event event;
  std::string body;                // see "The body ABI"
  std::set<std::string> symbols;   // free symbols that the body uses
  bool writes_cookie = false;
  std::vector<std::string> notes;  // warnings of the verifier, ready to print
  size_t insn_count = 0;           // eBPF instructions
  size_t stack_bytes = 0;          // of PTX .local memory
  Cost cost;
  ProgramUse use;
};

struct CompiledObject {
  std::string name;                // file name, for messages
  std::vector<MapSpec> maps;
  std::vector<CompiledProgram> programs;
  std::vector<uint8_t> btf;        // raw .BTF
};

struct CompileOptions {
  std::map<std::string, std::string> constants;  // -s NAME=VALUE, for `const volatile` globals
  std::string arch = "sm_75";                    // of the emitted text; any sm_75 to sm_120
  bool emit_llvm = false;                        // body is LLVM IR instead, for --emit=llvm
  int opt_level = 2;
  uint32_t max_insns = 4096;                     // that one run of a program may execute
  bool explain = false;                          // refusals with the whole path and the registers
};

// Reads, verifies and translates the object. An Error's message holds compiler-style diagnostics
// ("file:line:col: error: text", source line, caret), one for each cause in any of the programs, at most
// ten, by source position.
Result<CompiledObject> compile_object(const std::string &name, const std::vector<uint8_t> &elf,
                                      const CompileOptions &options);

}  // namespace egpu
