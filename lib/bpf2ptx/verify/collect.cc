#include "lib/bpf2ptx/verify/collect.h"

#include <algorithm>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {
namespace {

Space space_of(Kind kind) {
  switch (kind) {
    case Kind::ctx:
      return Space::ctx;
    case Kind::stack:
      return Space::stack;
    case Kind::map_value:
    case Kind::map_value_or_null:
      return Space::map_value;
    case Kind::map:
      return Space::map;
    case Kind::cookie:
      return Space::cookie;
    case Kind::function:
      return Space::function;
    default:
      return Space::none;
  }
}

}  // namespace

Collector::Collector(const Program &program, const Structure &structure, const Messages &messages)
    : program_(program), structure_(structure), messages_(messages), unused_(program.insns.size()) {}

void Collector::result_used(int insn, bool used) { unused_[static_cast<size_t>(insn)] = !used; }

Result<int> Collector::enter(int parent, int call, int subprogram) {
  auto s = static_cast<size_t>(subprogram);
  int begin = structure_.starts[s];
  if (int known = facts_.callee(parent, call, begin); known >= 0) return known;
  Chain chain;
  chain.parent = parent;
  chain.call = call;
  chain.depth = parent < 0 ? 0 : facts_.chains[static_cast<size_t>(parent)].depth + 1;
  chain.begin = begin;
  chain.end =
      s + 1 < structure_.starts.size() ? structure_.starts[s + 1] : static_cast<int>(program_.insns.size());
  placed_ += chain.end - chain.begin;
  if (placed_ > kMaxPlaced)
    return messages_.error(call,
                           format("the program has more than {} instructions once {} and the others are "
                                  "put in place of their calls; call less, or use a loop",
                                  kMaxPlaced, structure_.names[s]));
  chain.insns.resize(static_cast<size_t>(chain.end - chain.begin));
  for (int i = chain.begin; i < chain.end; ++i)
    chain.insns[static_cast<size_t>(i - begin)].result_used = !unused_[static_cast<size_t>(i)];
  seen_.emplace_back(chain.insns.size());
  auto number = static_cast<int>(facts_.chains.size());
  facts_.callees[{parent, call, begin}] = number;
  facts_.chains.push_back(std::move(chain));
  return number;
}

size_t Collector::row(int chain, int insn) const {
  return static_cast<size_t>(insn - facts_.chains[static_cast<size_t>(chain)].begin);
}

InsnFacts &Collector::fact_of(int chain, int insn) {
  return facts_.chains[static_cast<size_t>(chain)].insns[row(chain, insn)];
}

void Collector::reached(int chain, int insn) {
  chain_ = chain;
  insn_ = insn;
  here().reachable = true;
  call_ = {};
  sizes_ = {};
}

void Collector::branch(bool can_take, bool can_fall) {
  seen().taken |= can_take;
  seen().fell |= can_fall;
}

void Collector::divisor(bool nonzero) {
  bool &fact = here().divisor_nonzero;
  fact = nonzero && (fact || !seen().divisor);
  seen().divisor = true;
}

void Collector::loaded(std::optional<uint64_t> constant) {
  auto &fact = here().constant;
  if (!seen().loaded)
    fact = constant;
  else if (fact != constant)
    fact.reset();
  seen().loaded = true;
}

Pointer Collector::pointer_of(const Value &value, int64_t offset) const {
  Pointer p;
  p.space = space_of(value.kind);
  if (p.space == Space::none) return p;
  p.map = value.map;
  p.function = value.function;
  p.frame = value.frame;
  p.min_offset = value.min_offset() + offset;
  p.max_offset = value.max_offset() + offset;
  if (p.min_offset == p.max_offset) p.offset = p.min_offset;
  Tnum address = value.range.bits + Tnum::constant(static_cast<uint64_t>(value.offset + offset));
  for (p.align = 8; p.align > 1 && !address.is_aligned(p.align);) p.align /= 2;
  return p;
}

// Adds what one visit saw to what the visits before it saw.
void Collector::join(std::vector<Pointer> &into, const Pointer &seen, int size) {
  auto same = std::find_if(into.begin(), into.end(), [&](const Pointer &p) {
    return p.same_object(seen) && (p.space != Space::ctx || p.offset == seen.offset);
  });
  if (same == into.end()) {
    into.push_back(seen);
    same = into.end() - 1;
  }
  if (same->offset != seen.offset) same->offset.reset();
  same->min_offset = std::min(same->min_offset, seen.min_offset);
  same->max_offset = std::max(same->max_offset, seen.max_offset);
  same->align = std::min(same->align, seen.align);
  // What one instruction reaches is one region, whichever path it is on.
  if (seen.space == Space::stack && size > 0)
    stack_unit(seen.frame, same->min_offset, same->max_offset + size);
}

void Collector::stack_unit(int frame, int64_t begin, int64_t end) {
  // The frame may be a caller's.
  int owner = chain_;
  while (facts_.chains[static_cast<size_t>(owner)].depth > frame)
    owner = facts_.chains[static_cast<size_t>(owner)].parent;
  std::vector<StackRegion> &stack = facts_.chains[static_cast<size_t>(owner)].stack;
  StackRegion unit{begin, end, 8};
  // Regions that overlap become one.
  std::erase_if(stack, [&](const StackRegion &r) {
    if (r.begin >= unit.end || unit.begin >= r.end) return false;
    unit.begin = std::min(unit.begin, r.begin);
    unit.end = std::max(unit.end, r.end);
    return true;
  });
  stack.push_back(unit);
}

std::optional<Error> Collector::memory(const Value &address, int64_t offset, int size) {
  std::vector<Pointer> &memory = here().memory;
  Pointer p = pointer_of(address, offset);
  // As Linux has it: the load of a ctx field is an instruction of its own.
  auto is_special = [](Space space) { return space == Space::ctx || space == Space::cookie; };
  if (!memory.empty() && memory[0].space != p.space && (is_special(memory[0].space) || is_special(p.space)))
    return messages_.error(
        insn_,
        "this accesses the context or the cookie on one path and other memory on another; access each by a "
        "statement of its own");
  join(memory, p, size);
  return std::nullopt;
}

void Collector::argument(int index, const Value &value, int size) {
  auto i = static_cast<size_t>(index);
  Argument &argument = call_.args[i];
  if (value.is_constant()) argument.value = value.range.value();
  if (Pointer p = pointer_of(value, 0); p.space != Space::none) argument.pointers = {p};
  sizes_[i] = size;
}

void Collector::selecting_argument(int index, const Value &value) {
  argument(index, value);
  call_.args[static_cast<size_t>(index)].selects = true;
}

void Collector::end_of_arguments() {
  std::vector<HelperCall> &calls = here().calls;
  auto selects_same = [](const Argument &a, const Argument &b) {
    if (!a.selects) return true;
    if (a.pointers.empty() || b.pointers.empty())
      return a.pointers.empty() == b.pointers.empty() && a.value == b.value;
    return a.pointers[0].same_object(b.pointers[0]) && a.pointers[0].offset == b.pointers[0].offset;
  };
  auto same = std::find_if(calls.begin(), calls.end(), [&](const HelperCall &call) {
    return std::equal(call.args.begin(), call.args.end(), call_.args.begin(), selects_same);
  });
  if (same == calls.end()) {
    calls.push_back(call_);
    same = calls.end() - 1;
  }
  for (size_t i = 0; i < call_.args.size(); ++i) {
    Argument &fact = same->args[i];
    if (fact.value != call_.args[i].value) fact.value.reset();
    for (const Pointer &p : call_.args[i].pointers) join(fact.pointers, p, sizes_[i]);
  }
}

bool Collector::same_place(int insn, const Value &address, int64_t offset) const {
  Pointer place = pointer_of(address, offset);
  for (const Chain &chain : facts_.chains) {
    if (insn < chain.begin || insn >= chain.end) continue;
    for (const Pointer &p : chain.at(insn).memory)
      if (p.same_object(place) && p.offset == place.offset && p.min_offset == place.min_offset) return true;
  }
  return false;
}

std::vector<Note> Collector::notes() const {
  std::vector<Note> notes;
  for (const auto &[insn, text] : notes_) notes.push_back({insn, text});
  return notes;
}

Facts Collector::finish(const Cost &cost) {
  for (size_t c = 0; c < seen_.size(); ++c) {
    Chain &chain = facts_.chains[c];
    for (size_t i = 0; i < seen_[c].size(); ++i) {
      chain.insns[i].always_taken = seen_[c][i].taken && !seen_[c][i].fell;
      chain.insns[i].never_taken = seen_[c][i].fell && !seen_[c][i].taken;
    }
    for (StackRegion &r : chain.stack) {
      // Whole words where nothing else begins in between would only grow frames: keep the bytes,
      // and say how the begin is aligned.
      for (r.align = 8; r.align > 1 && r.begin % r.align;) r.align /= 2;
    }
    std::sort(chain.stack.begin(), chain.stack.end(),
              [](const StackRegion &a, const StackRegion &b) { return a.begin < b.begin; });
  }
  facts_.cost = cost;
  return std::move(facts_);
}

}  // namespace egpu::bpf
