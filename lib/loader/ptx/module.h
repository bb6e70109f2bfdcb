// A PTX module as a tree of statements.
//
// In: the module's text. Out: its module-level items in text order (directives, variables,
// functions), and for every function its header and its body as a flat list of statements
// with their scope depth. All of it are token spans and views into the text, so whoever
// edits the module passes through what it does not touch. A statement that is not understood
// is an `other` item or an instruction with an unknown mnemonic, never an error; unbalanced
// braces are one. The text must outlive the module. Source: PTX ISA 9.0, chapters 4, 5, 11.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/ptx/lex.h"

namespace egpu::ptx {

// Token indices [first, last).
struct Span {
  uint32_t first = 0, last = 0;
};

// `.global .align 4 .u32 x[3] = {1, 2, 3};` One declarator of it.
struct Variable {
  std::string_view space;  // ".global" ".const" ".shared" ".local" ".param" ".reg" ".tex"
  std::string_view type;   // ".b8" ".u64" ".texref"; empty if none was found
  std::string_view name;
  uint32_t name_token = 0;
  uint32_t vector = 1;          // elements of .v2, .v4, .v8
  uint32_t alignment = 1;       // its own: .align, else the type's size times the vector's
  uint64_t bytes = 0;           // of the whole variable; 0: flexible array
  uint32_t register_count = 0;  // of %r<5>; 0: a plain name
  bool is_extern = false, managed = false;
  Span initialiser;  // tokens after '='; empty if none
};

/// The alignment that a .shared variable gets in the patched module. cuLink* compiles as `ptxas -c`,
/// where the address of a shared array is a relocation and its alignment all that ptxas knows: at 4
/// it does not combine loads to 16 bytes, which it does in a whole program (nbench's k_sgemm on an
/// H200: 51.3 us against 42.4 us).
uint32_t shared_alignment(const Variable &variable);

struct Parameter {
  std::string_view name;
  std::string_view space;  // ".param" or, in a .func, ".reg"
  uint32_t bytes = 0, alignment = 1;
  uint32_t offset = 0;  // in the kernel's parameter block: cuda-formats.md, section 4
};

enum class StatementKind : uint8_t {
  instruction,
  label,      // NAME :
  directive,  // .reg .local .loc .pragma ...; a .section with its block
  open,       // {
  close,      // }
};

struct Statement {
  StatementKind kind = StatementKind::instruction;
  Span tokens;
  uint32_t depth = 0;  // 0: outermost scope of the body; of open and close: the depth outside
  // Of an instruction:
  uint32_t mnemonic = 0;       // token
  std::string_view predicate;  // %p1 of @%p1 or @!%p1; empty if none
  bool negated = false;
};

struct Function {
  bool entry = false, has_body = false, is_extern = false;
  std::string_view name;
  Span tokens;  // linkage to the closing brace or semicolon
  uint32_t name_token = 0;
  uint32_t parameters_open = 0, parameters_close = 0;  // tokens ( and ); both 0 if it has no list
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0;
  uint32_t body_open = 0, body_close = 0;  // tokens { and }
  uint32_t threads = 0;                    // product of .maxntid or .reqntid; 0: not given
  std::vector<Statement> body;
};

enum class ItemKind : uint8_t { directive, section, variables, function, alias, other };

struct Item {
  ItemKind kind = ItemKind::other;
  Span tokens;
  uint32_t first = 0, count = 0;  // into Module::variables or functions
};

struct Module {
  std::string_view text;
  std::vector<Token> tokens;
  std::vector<Item> items;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::map<std::string_view, std::string_view> aliases;  // alias -> function
  std::map<uint64_t, std::string_view> files;            // of .file, without quotes
  uint32_t version_token = 0;                            // the number; 0: no .version
  uint32_t ptx_major = 0, ptx_minor = 0;
  uint32_t sm = 0;            // 75 of "sm_75"; 0: no .target
  std::string_view target;    // "sm_90a"
  uint32_t address_size = 0;  // 0: not given, which means 32

  std::string_view word(uint32_t token) const {
    return token < tokens.size() ? tokens[token].text : std::string_view();
  }
  // Text of a span, from its first to its last byte.
  std::string_view slice(Span span) const;
};

Result<Module> parse(std::string_view text);

/// The declarators of one variable declaration, tokens [span.first, span.last) with its ';'.
std::vector<Variable> parse_variables(const Module &module, Span span);

/// Is the word a state space that can begin a declaration (".global")?
bool is_space(std::string_view word);

/// Integer value of a number token (decimal, octal, hex, binary, suffix U); false if it is none.
bool parse_integer(std::string_view text, uint64_t *value);

/// Bytes of one element of a fundamental type (".b32", "f16x2"); 0 if it is not one.
uint32_t type_bytes(std::string_view type);

}  // namespace egpu::ptx
