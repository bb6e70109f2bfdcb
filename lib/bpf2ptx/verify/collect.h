// Gathers what the explorer sees at each instruction into Facts: joined over all visits of the
// instruction by one chain of calls.
#pragma once
#include <set>

#include "lib/bpf2ptx/verify/facts.h"
#include "lib/bpf2ptx/verify/message.h"
#include "lib/bpf2ptx/verify/structure.h"
#include "lib/bpf2ptx/verify/value.h"

namespace egpu::bpf {

class Collector {
 public:
  Collector(const Program &program, const Structure &structure, const Messages &messages);

  /// For every chain: is what the helper or atomic at `insn` returns read later?
  void result_used(int insn, bool used);

  /// The chain of a call of `subprogram` at `call` by chain `parent`; -1, -1: the main program.
  /// Error: the functions, each put in place of its calls, are too large.
  Result<int> enter(int parent, int call, int subprogram);

  /// The instruction that the functions below are about.
  void reached(int chain, int insn);
  void branch(bool can_take, bool can_fall);
  void divisor(bool nonzero);
  /// What a load gives; nothing: unknown.
  void loaded(std::optional<uint64_t> constant);
  /// An access of `size` bytes at `address` + `offset`. Error: other visits access the context.
  std::optional<Error> memory(const Value &address, int64_t offset, int size);

  /// A helper call is made of its arguments, in any order, and their end.
  void argument(int index, const Value &value, int size = 0);  // size: of memory that is a unit
  void selecting_argument(int index, const Value &value);
  void end_of_arguments();

  /// Did `insn` access map memory at the same place as `address` + `offset`?
  bool same_place(int insn, const Value &address, int64_t offset) const;
  void note(int insn, const std::string &text) { notes_.insert({insn, text}); }
  std::vector<Note> notes() const;

  Facts finish(const Cost &cost);

 private:
  // What an InsnFacts does not say before all visits are over.
  struct Seen {
    bool taken = false, fell = false, divisor = false, loaded = false;
  };

  InsnFacts &here() { return fact_of(chain_, insn_); }
  Seen &seen() { return seen_[static_cast<size_t>(chain_)][row(chain_, insn_)]; }
  InsnFacts &fact_of(int chain, int insn);
  size_t row(int chain, int insn) const;
  Pointer pointer_of(const Value &value, int64_t offset) const;
  void join(std::vector<Pointer> &into, const Pointer &seen, int size);
  void stack_unit(int frame, int64_t begin, int64_t end);

  const Program &program_;
  const Structure &structure_;
  const Messages &messages_;
  Facts facts_;
  std::vector<std::vector<Seen>> seen_;  // by chain, as Chain::insns
  std::vector<bool> unused_;             // by instruction
  int placed_ = 0;                       // instructions of all chains
  int chain_ = 0, insn_ = 0;
  HelperCall call_;             // being made
  std::array<int, 5> sizes_{};  // of the memory its arguments point to
  std::set<std::pair<int, std::string>> notes_;
};

}  // namespace egpu::bpf
