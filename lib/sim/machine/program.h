// What decode() makes of a module and the executor runs: flat vectors of compact operations.
//
// An operand is a reference: the byte offset of a slot in the warp's register frame, or, with
// kConstantBit, in the function's constant pool. A slot holds 32 lanes side by side, of the
// register's width (types.h), so that handlers are plain loops over lanes. Constants are
// stored 32 times for the same reason. Predicates are 32-bit masks.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/sim/machine/machine.h"
#include "lib/sim/machine/matrix.h"
#include "lib/sim/machine/text.h"

namespace egpu::sim {

struct Exec;
struct Op;
using Handler = void (*)(Exec &x, const Op &op, uint32_t mask);

/// Handlers by key, for example "add.b32"; nullptr if there is none.
Handler find_handler(std::string_view key);

inline constexpr uint32_t kConstantBit = 0x80000000u;
inline constexpr uint32_t kNone = 0xFFFFFFFFu;  // no guard, no operand, no join

enum OpFlag : uint8_t {
  kGuardNegated = 1,
  kLeader = 2,          // a branch target or a place where lanes reconverge
  kHidden = 4,          // made by decode(), not an instruction of the text
  kAddress32 = 8,       // the address register has 32 bits
  kSourceNegated = 16,  // predicate operand c is !p
  kSpins = 32,          // what spin loops execute: volatile loads, cas, exch, nanosleep
};

enum ModeBit : uint8_t {
  kFtz = 1,
  kSat = 2,
  kRz = 4,
  kRm = 8,
  kRp = 12,
  kRoundMask = 12,
  kRelu = 16,
  kNan = 32,
  kXorSign = 64,
  kAbs = 128
};

struct Op {
  Handler run;
  uint32_t d = kNone, a = kNone, b = kNone, c = kNone;
  uint32_t e = kNone;  // fourth source, second destination, or index into lists
  uint32_t guard = kNone;
  int64_t imm = 0;  // address offset, branch target, pointer: by handler
  uint32_t y = 0;   // join pc of a branch, small number: by handler
  uint8_t flags = 0, mode = 0, n = 1, x = 0;
};

// Where an operation came from, for messages and traces; parallel to the operations.
struct OpSite {
  uint32_t line = 0, file = 0, source_line = 0;
  std::string_view text;
};

struct Function;

// A call's parameters: offsets in the caller's and callee's local frames, by position.
struct Slot {
  uint32_t offset = 0, size_bytes = 0;
};
struct CallSite {
  const Function *target = nullptr;  // nullptr: indirect, through operand
  int builtin = 0;                   // of calls.h; 0: none
  uint32_t pointer = kNone;
  std::vector<Slot> arguments, results;  // in the caller's frame; registers if size_bytes is 0: see decode
  std::vector<uint32_t> argument_registers, result_registers;  // kNone where memory
};

struct Function {
  std::string name;
  bool is_entry = false;
  std::vector<Op> ops;
  std::vector<OpSite> sites;
  std::vector<uint32_t> lists;  // operands of vectors, branch targets
  std::vector<std::unique_ptr<CallSite>> calls;
  std::vector<std::unique_ptr<MatrixSite>> matrices;
  std::vector<uint8_t> constants;
  uint32_t frame_bytes = 0;               // registers of one warp
  uint32_t local_bytes = 0;               // of one lane: parameters, results, .local variables
  std::vector<Slot> parameters, results;  // of a .func: in its local frame
  std::vector<uint32_t> parameter_registers, result_registers;
  std::vector<const Function *> callees;
  bool calls_indirectly = false;
  KernelInfo info;  // of an entry
};

struct Variable {
  GlobalInfo info;
};

class Program : public Module {
 public:
  ~Program() override;
  const KernelInfo *find_kernel(const std::string &name) const override;
  const GlobalInfo *find_global(const std::string &name) const override;
  std::vector<std::string> kernel_names() const override;
  const Function *find_function(const std::string &name) const;
  /// The function whose address a kernel sees as `address`; nullptr if it is none of this module.
  const Function *function_at(uint64_t address) const;

  std::string text;                // operations' sites point into it
  std::vector<std::string> files;  // by .file number
  std::vector<std::unique_ptr<Function>> functions;
  std::map<std::string, Function *, std::less<>> by_name;
  std::map<std::string, GlobalInfo, std::less<>> globals;
  std::unordered_map<uint64_t, const Function *> by_address;
  std::shared_ptr<Memory> memory;  // frees the globals
};

/// Parses and decodes; variables are allocated in `memory` and initialised.
Result<std::shared_ptr<Program>> build_program(const std::string &text, const DeviceConfig &config,
                                               std::shared_ptr<Memory> memory);

}  // namespace egpu::sim
