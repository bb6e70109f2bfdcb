// The memory access of a ld, st, atom or red statement: where its address comes from, how
// many bytes it touches. PTX ISA 9.0, 6.4.1 "Addresses as operands".
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/loader/ptx/module.h"

namespace egpu::ptx {

enum class Space : uint8_t { generic, global, shared, local, constant };

struct Access {
  Space space = Space::generic;
  std::string_view base;  // register or symbol; empty: the offset is the address
  bool base_is_32_bit = false;
  int64_t offset = 0;
  uint32_t bytes = 0;   // elements times their size
  std::string problem;  // why the statement cannot be read; empty: it could
};

// The names that are visible at a statement, for a walk over a function's body in order.
class Names {
 public:
  Names(const Module &module, const Function &function);

  /// Takes the next statement of the body into account: scopes and declarations.
  void step(const Statement &statement);
  /// The innermost declaration of the name; null if it is none of this function.
  const Variable *find(std::string_view name) const;

 private:
  const Module &module_;
  std::vector<std::map<std::string_view, Variable>> scopes_;
};

Access read_access(const Module &module, const Names &names, const Statement &statement);

/// The call's callee as a token; 0 if there is none.
uint32_t callee_token(const Module &module, const Statement &statement);

}  // namespace egpu::ptx
