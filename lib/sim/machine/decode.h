// Turns one function's statements into operations: resolves names through nested scopes, gives
// registers their slots, puts constants into the pool and picks handlers by key.
//
// Each instruction family is a member function in decode_*.cc, found by opcode in one table
// (decode.cc). A family that does not know a modifier or an opcode without a row becomes an
// operation that raises not_simulated when it is executed.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/sim/machine/flow.h"
#include "lib/sim/machine/program.h"

namespace egpu::sim {

struct Symbol {
  enum Kind : uint8_t { none, reg, memory, shared, dynamic_shared, frame, kernel_param, code } kind = none;
  Type type = Type::none;
  uint8_t vector_size = 1;
  uint32_t slot = 0;     // reg: of element 0; shared, frame, kernel_param: offset
  uint32_t count = 0;    // reg: of a set; 0: no set
  uint64_t address = 0;  // memory: host address
  uint64_t size_bytes = 0;
  Space space = Space::generic;
  const Function *function = nullptr;
};

// What all functions of a module see.
struct ModuleScope {
  Program *program = nullptr;
  const DeviceConfig *config = nullptr;
  std::unordered_map<std::string_view, Symbol> symbols;
  std::unordered_map<std::string_view, const FunctionText *> heads;  // of functions, for calls
  uint32_t common_shared_bytes = 0;                                  // of variables that a .func uses
};

struct Address {
  enum Kind : uint8_t { lanes, frame, kernel_param } kind = lanes;
  Space space = Space::generic;
  uint32_t ref = kNone;  // lanes: 32 or 64-bit base
  bool narrow = false;   // the base has 32 bits
  int64_t offset = 0;
};

/// "b32", "s64": how handlers of atomic operations name a type.
std::string atomic_suffix(std::string_view operation, Type type);
/// Of ".shared::cta"; generic if the instruction names none.
Space space_of(const Instruction &insn);

class Decoder {
 public:
  Decoder(ModuleScope &module, const FunctionText &text, Function &out)
      : module_(module), text_(text), out_(out) {}
  bool run();
  const std::string &error() const { return error_; }

  using Family = void (Decoder::*)();
  /// Decodes instructions of this opcode; nullptr: unknown.
  static Family family(std::string_view opcode);

 private:
  // --- decode.cc ---
  void fail(const std::string &what);
  void declare_parameters();
  void declare(const Declaration &decl);
  void decode_instruction(const Instruction &insn);
  void collect_labels();
  void finish();
  Op &emit(std::string_view key);  // not_simulated if there is no such row
  Op &emit_hidden(std::string_view key);
  void not_simulated();
  uint32_t label(std::string_view name);  // label id; fails if unknown

  // --- operands.cc ---
  bool has(std::string_view word) const;
  const Operand &operand(size_t i);
  size_t operand_count() const { return insn_->operands.size(); }
  Symbol find(std::string_view name);  // register or variable; kind none: unknown
  uint32_t new_slot(Type type);
  uint32_t new_predicate();
  uint32_t constant(const void *lane, uint32_t bytes);
  uint32_t constant_of(const Operand &value, Type type);
  uint32_t source(const Operand &value, Type type);
  uint32_t source(size_t i, Type type) { return source(operand(i), type); }
  uint32_t destination(const Operand &value, Type type);  // emits what extends it afterwards
  uint32_t destination(size_t i, Type type) { return destination(operand(i), type); }
  uint32_t predicate_source(const Operand &value, bool *negated);
  uint32_t predicate_destination(std::string_view name);
  uint32_t register_slot(const Operand &value, Type *type);
  uint32_t special_register(std::string_view name, Type type);  // kNone: not a special register
  uint32_t symbol_address(const Symbol &symbol, int64_t offset, Type type);
  Address address(const Operand &value, Space space);
  uint32_t add_list(const std::vector<uint32_t> &refs);
  uint8_t mode_bits() const;
  /// Emits an operation with a destination and sources of these types, taken from the operands in order.
  Op &simple(const std::string &key, Type destination_type, std::initializer_list<Type> source_types);

  // --- families ---
  void arithmetic();  // decode_integer.cc
  void multiply();
  void carry();
  void logic();
  void shift();
  void bits();
  void float_arithmetic(Type type);  // decode_float.cc
  void mixed_precision(const std::string &name, Type half);
  void float_function();
  void compare();  // decode_move.cc
  void set();
  void select();
  void slct();
  void move();
  void convert();
  void convert_packed();
  void cvta();
  void isspacep();
  void load();  // decode_memory.cc
  void store();
  void atomic();
  void cp_async();
  void no_effect();
  void create_policy();
  void mbarrier();  // decode_mbarrier.cc
  void video();     // decode_video.cc
  void bulk();      // decode_bulk.cc
  void store_bulk();
  void complete_bytes(size_t index, uint32_t bytes);
  void complete_at(const Operand &barrier, Space space, uint32_t bytes, uint32_t multicast);
  void mma();  // decode_matrix.cc
  void ldmatrix();
  void wmma();
  void wmma_move();
  void fragment(size_t index, bool is_source, Element element, uint32_t count, bool copies,
                std::vector<uint32_t> &refs);
  Op &emit_matrix(std::string_view key, std::unique_ptr<MatrixSite> site);
  void meet();
  void together();  // decode_control.cc
  void barrier();
  void branch();
  void branch_indexed();
  void call();
  void leave();
  void halt();
  void packed_dot();
  void pause();
  void allocate();
  void mapa();

  ModuleScope &module_;
  const FunctionText &text_;
  Function &out_;
  std::string error_;
  const Instruction *insn_ = nullptr;
  uint32_t line_ = 0, file_ = 0, source_line_ = 0;
  std::vector<Type> types_;  // of the instruction's words, in order
  uint32_t guard_ = kNone;
  bool guard_negated_ = false;

  struct ScopeNames {
    uint32_t id = 0;
    std::unordered_map<std::string_view, Symbol> names;
    std::map<std::string_view, Symbol> sets;  // %r<5>, by prefix
    uint32_t local_bytes = 0;                 // at its begin
  };
  std::vector<ScopeNames> scopes_;
  uint32_t scope_count_ = 0;
  std::vector<std::unordered_map<std::string_view, uint32_t>> labels_;  // by scope id: label ids
  std::vector<uint32_t> label_pc_;
  std::vector<std::pair<uint32_t, uint32_t>> label_lists_;  // positions in lists that hold label ids
  std::unordered_map<std::string_view, std::vector<std::string_view>> targets_;
  std::vector<Flow> flow_;  // by operation
  std::unordered_map<std::string, uint32_t> constants_;
  uint32_t local_bytes_ = 0;
  uint32_t shared_bytes_ = 0;        // of an entry
  std::vector<uint32_t> isolating_;  // operations after which lanes may have to meet
  uint32_t carry_slot_ = kNone;
  std::unordered_map<std::string_view, Symbol> entry_shared_;  // module-level variables placed for this entry
  struct Extend {
    uint32_t from, to;
    Type type;
    Type to_type;
  };
  std::vector<Extend> extends_;  // pending after the current operation
};

}  // namespace egpu::sim
