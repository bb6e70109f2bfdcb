// Gathers what the explorer sees at each instruction into Facts: joined over all visits.
#pragma once
#include <set>

#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/message.h"
#include "lib/bpf2ptx/verify/value.h"

namespace egpu::bpf {

class Collector {
 public:
  Collector(const Program &program, const Messages &messages);

  void reached(int insn);
  void branch(int insn, bool can_take, bool can_fall);
  void divisor(int insn, bool nonzero);
  /// What a load gives; nothing: unknown.
  void loaded(int insn, std::optional<uint64_t> constant);
  void result_used(int insn, bool used);
  /// An access of `size` bytes at `address` + `offset`. Error: other visits access other memory.
  std::optional<Error> memory(int insn, const Value &address, int64_t offset, int size);
  /// The value of argument `index` (0: r1) of a helper; `size` bytes of memory are a unit, 0: none.
  std::optional<Error> argument(int insn, int index, const Value &value, int size);
  /// Did `insn` access map memory at the same place as `address` + `offset`?
  bool same_place(int insn, const Value &address, int64_t offset) const;
  void note(int insn, const std::string &text);

  Facts finish(const Cost &cost);

 private:
  struct Seen {
    bool reached = false, taken = false, fell = false, memory = false, divisor = false, loaded = false;
    std::array<bool, 5> args{};
  };
  static Pointer pointer_of(const Value &value, int64_t offset);
  std::optional<Error> join(int insn, Pointer &into, const Pointer &seen, int size);
  void stack_unit(int frame, int64_t begin, int64_t end);

  const Messages &messages_;
  Facts facts_;
  std::vector<Seen> seen_;
  std::set<std::pair<int, std::string>> notes_;
};

}  // namespace egpu::bpf
