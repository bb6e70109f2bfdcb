// A PTX module as statements: what parse() makes of the tokens, and what decode() reads.
//
// Views point into the module's text, which must outlive the result. Instructions are kept
// in their general form (opcode, modifiers, operands), so that one that the machine does not
// know still parses. Source: PTX ISA 9.0, 4 (syntax), 5 (spaces, types), 11 (directives).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "egpu/result.h"
#include "lib/sim/machine/types.h"

namespace egpu::sim {

struct Operand {
  enum Kind : uint8_t {
    symbol,   // %r1, name, name+4; name|second
    integer,  // value
    real,     // value: bits of a double, or of a float if single
    address,  // [elements...]; the first one is symbol or integer
    vector,   // {elements...} or (elements...)
    string,   // name is the text with its quotes
  } kind = integer;
  bool negated = false;  // !%p, or -name
  bool single = false;
  bool in_parentheses = false;
  std::string_view name, second;
  int64_t value = 0;  // of integer, real; added to a symbol
  std::vector<Operand> elements;
};

// Initialiser of a variable, flattened in order.
struct Initializer {
  Operand value;
  bool generic = false;    // generic(name)
  uint64_t byte_mask = 0;  // 0xFF00(name): that byte of the address
};

struct Declaration {
  Space space = Space::generic;
  bool is_register = false, is_extern = false, is_managed = false, is_weak = false;
  Type type = Type::none;
  uint8_t vector_size = 1;  // .v2, .v4
  uint32_t align = 0;       // 0: natural
  std::string_view name;
  uint32_t count = 0;  // of a register set %r<count>; 0: one register
  bool is_array = false;
  uint64_t elements = 1;  // 0: [] without a size
  std::vector<Initializer> initial;
  uint32_t line = 0;
};

struct Instruction {
  std::string_view guard;  // empty: none
  bool guard_negated = false;
  std::string_view text;                // "ld.global.v4.f32"
  std::vector<std::string_view> words;  // "ld" "global" "v4" "f32"
  std::vector<Operand> operands;
};

struct Statement {
  enum Kind : uint8_t { instruction, declaration, open, close, label, targets, prototype, location } kind;
  uint32_t line = 0;
  uint32_t index = 0;                   // into FunctionText::instructions or declarations
  std::string_view name;                // of a label, targets or prototype
  std::vector<std::string_view> names;  // of targets
  uint32_t file = 0, source_line = 0;   // of a location
};

struct FunctionText {
  std::string_view name;
  bool is_entry = false, has_body = false, is_extern = false, is_weak = false;
  std::vector<Declaration> results, parameters;
  uint32_t max_threads = 0;  // .maxntid or .reqntid; 0: not given
  bool required_threads = false;
  uint32_t cluster[3] = {};  // .reqnctapercluster; zeros: not given
  uint32_t line = 0;
  std::vector<Statement> body;
  std::vector<Instruction> instructions;
  std::vector<Declaration> declarations;
};

struct ModuleText {
  uint32_t version_major = 0, version_minor = 0;
  std::string_view target;
  std::vector<Declaration> variables;
  std::vector<FunctionText> functions;
  std::vector<std::pair<std::string_view, std::string_view>> aliases;
  std::vector<std::pair<uint32_t, std::string_view>> files;
};

/// Error: "ptx line N: expected ';'".
Result<ModuleText> parse(std::string_view text);

}  // namespace egpu::sim
