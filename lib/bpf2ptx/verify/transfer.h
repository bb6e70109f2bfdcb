// One instruction's effect on the state of one path, and whether it may do what it does.
//
// Control flow is the explorer's: branches, local calls and exits are not executed here.
#pragma once
#include <optional>
#include <string>

#include "lib/bpf2ptx/verify/collect.h"
#include "lib/bpf2ptx/verify/helpers.h"
#include "lib/bpf2ptx/verify/liveness.h"
#include "lib/bpf2ptx/verify/state.h"

namespace egpu::bpf {

class Transfer {
 public:
  Transfer(const Program &program, const Object &object, const Messages &messages, Collector &collector)
      : program_(program), object_(object), messages_(messages), collector_(collector) {}

  /// Executes the instruction at `pc`. Error: the diagnostic.
  std::optional<Error> execute(State &state, int pc);

  /// The state in which the main program starts.
  State initial() const;
  /// A register that is about to be read. Error: it is not initialised.
  std::optional<Error> check_readable(const State &state, int pc, int reg) const;
  uint32_t fresh_id() { return ++last_id_; }
  const std::vector<MapSpec> &maps() const { return object_.maps; }

  // What the explorer asks to count the cost.
  static bool accesses_memory(const Op &op);

 private:
  enum class Access { load, store, atomic };
  using Check = std::optional<Error>;

  // transfer.cc
  Check run(State &, const Mov &);
  Check run(State &, const Neg &);
  Check run(State &, const Endian &);
  Check run(State &, const LoadImm64 &);
  Check run(State &, const LoadMap &);
  Check run(State &, const LoadMapValue &);
  Check run(State &, const LoadFunction &);
  template <class T>
  Check run(State &, const T &) {
    return std::nullopt;
  }
  Error fail(const std::string &text, const std::vector<Note> &notes = {}) const {
    return messages_.error(pc_, text, notes);
  }
  Value operand(const State &state, const Operand &src) const;
  Check scalar_operand(const State &state, int reg, const char *what) const;
  void set(State &state, Reg dst, Value value) const;
  Error may_be_null(const Value &value, int reg) const;

  // pointer.cc
  Check check_constant(const Alu &op) const;
  Check run(State &, const Alu &);
  Error far_outside(const Value &pointer, int reg) const;
  Result<Value> add_to_pointer(const Value &pointer, const Value &number, bool subtract, int reg) const;

  // memory.cc
  Check run(State &, const Load &);
  Check run(State &, const Store &);
  Check run(State &, const Atomic &);
  Check check_access(State &state, Reg base, int offset, int size, Access access) const;
  Check check_pointer_kind(const Value &address, int reg, Access access) const;
  Check check_alignment(const Value &address, int offset, int size) const;
  Check check_stack_access(State &state, const Value &address, int offset, int size, Access access) const;
  Check check_stack_bounds(const Value &address, int offset, int size) const;
  Check check_map_bounds(const Value &address, int offset, int size, int reg) const;
  Check check_ctx_access(const Value &address, int offset, int size, Access access) const;
  Check check_cookie_access(const Value &address, int offset, int size, Access access) const;
  Result<Value> load_value(State &state, const Value &address, int offset, int size) const;
  std::optional<uint64_t> constant_at(const Value &address, int offset, int size) const;
  void note_lost_update(const Value &address, int offset, const Store &store, const Value &stored);

  // calls.cc
  Check run(State &, const CallHelper &);
  Check check_argument(State &state, const Helper &helper, int index);
  Check check_map_argument(const Value &value, const Helper &helper) const;
  Check check_memory_argument(State &state, int index, int size, const std::string &what);
  Check check_format(State &state) const;
  Value helper_result(const State &state, const Helper &helper);

  const MapSpec &map_of(const Value &value) const { return object_.maps[static_cast<size_t>(value.map)]; }

  const Program &program_;
  const Object &object_;
  const Messages &messages_;
  Collector &collector_;
  int pc_ = 0;
  uint32_t last_id_ = 0;
};

/// Returns the error from the enclosing function, if there is one.
#define EGPU_CHECK(expr) \
  if (auto egpu_error_ = (expr)) return egpu_error_
/// As TRY, in a function that returns std::optional<Error>.
#define EGPU_TRY(decl, expr)                                                         \
  auto EGPU_CAT(try_, __LINE__) = (expr);                                            \
  if (!EGPU_CAT(try_, __LINE__)) return std::move(EGPU_CAT(try_, __LINE__)).error(); \
  decl = *std::move(EGPU_CAT(try_, __LINE__))

}  // namespace egpu::bpf
