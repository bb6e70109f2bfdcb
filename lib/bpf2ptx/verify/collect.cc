#include "lib/bpf2ptx/verify/collect.h"

#include <algorithm>

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

Collector::Collector(const Program &program, const Messages &messages)
    : messages_(messages), seen_(program.insns.size()) {
  facts_.insns.resize(program.insns.size());
}

void Collector::reached(int insn) { facts_.insns[static_cast<size_t>(insn)].reachable = true; }

void Collector::branch(int insn, bool can_take, bool can_fall) {
  seen_[static_cast<size_t>(insn)].taken |= can_take;
  seen_[static_cast<size_t>(insn)].fell |= can_fall;
}

void Collector::divisor(int insn, bool nonzero) {
  auto i = static_cast<size_t>(insn);
  bool &fact = facts_.insns[i].divisor_nonzero;
  fact = nonzero && (fact || !seen_[i].divisor);
  seen_[i].divisor = true;
}

void Collector::loaded(int insn, std::optional<uint64_t> constant) {
  auto i = static_cast<size_t>(insn);
  auto &fact = facts_.insns[i].constant;
  if (!seen_[i].loaded)
    fact = constant;
  else if (fact != constant)
    fact.reset();
  seen_[i].loaded = true;
}

void Collector::result_used(int insn, bool used) {
  facts_.insns[static_cast<size_t>(insn)].result_used = used;
}

Pointer Collector::pointer_of(const Value &value, int64_t offset) {
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

std::optional<Error> Collector::join(int insn, Pointer &into, const Pointer &seen, int size) {
  if (into.space != seen.space)
    return messages_.error(
        insn,
        "this accesses different kinds of memory on different paths; access each kind by a "
        "statement of its own");
  if (into.map != seen.map)
    return messages_.error(insn,
                           "this uses different maps on different paths; write one statement for each map");
  if (into.function != seen.function)
    return messages_.error(insn, "this uses different callbacks on different paths; write one call for each");
  if (into.frame != seen.frame)
    return messages_.error(
        insn,
        "this accesses the stacks of different functions on different paths; pass the value "
        "instead of its address");
  if (into.offset != seen.offset) into.offset.reset();
  into.min_offset = std::min(into.min_offset, seen.min_offset);
  into.max_offset = std::max(into.max_offset, seen.max_offset);
  into.align = std::min(into.align, seen.align);
  // What one instruction reaches is one region, whichever path it is on.
  if (into.space == Space::stack && size > 0) stack_unit(into.frame, into.min_offset, into.max_offset + size);
  return std::nullopt;
}

void Collector::stack_unit(int frame, int64_t begin, int64_t end) {
  StackRegion unit{frame, begin, end, 8};
  // Regions that overlap become one.
  std::erase_if(facts_.stack, [&](const StackRegion &r) {
    if (r.frame != frame || r.begin >= unit.end || unit.begin >= r.end) return false;
    unit.begin = std::min(unit.begin, r.begin);
    unit.end = std::max(unit.end, r.end);
    return true;
  });
  facts_.stack.push_back(unit);
}

std::optional<Error> Collector::memory(int insn, const Value &address, int64_t offset, int size) {
  auto i = static_cast<size_t>(insn);
  Pointer p = pointer_of(address, offset);
  if (p.space == Space::stack) stack_unit(p.frame, p.min_offset, p.max_offset + size);
  if (seen_[i].memory) return join(insn, facts_.insns[i].memory, p, size);
  seen_[i].memory = true;
  facts_.insns[i].memory = p;
  return std::nullopt;
}

std::optional<Error> Collector::argument(int insn, int index, const Value &value, int size) {
  auto i = static_cast<size_t>(insn), a = static_cast<size_t>(index);
  Argument &fact = facts_.insns[i].args[a];
  Pointer p = pointer_of(value, 0);
  if (p.space == Space::stack && size > 0) stack_unit(p.frame, p.min_offset, p.max_offset + size);
  std::optional<uint64_t> constant;
  if (value.is_constant()) constant = value.range.value();
  if (!seen_[i].args[a]) {
    seen_[i].args[a] = true;
    fact = {p, constant};
    return std::nullopt;
  }
  if (fact.value != constant) fact.value.reset();
  return join(insn, fact.pointer, p, size);
}

bool Collector::same_place(int insn, const Value &address, int64_t offset) const {
  const Pointer &seen = facts_.insns[static_cast<size_t>(insn)].memory, here = pointer_of(address, offset);
  return seen.space == here.space && seen.map == here.map && seen.offset == here.offset &&
         seen.min_offset == here.min_offset;
}

void Collector::note(int insn, const std::string &text) {
  if (notes_.insert({insn, text}).second) facts_.notes.push_back(messages_.note(insn, text));
}

Facts Collector::finish(const Cost &cost) {
  for (size_t i = 0; i < seen_.size(); ++i) {
    facts_.insns[i].always_taken = seen_[i].taken && !seen_[i].fell;
    facts_.insns[i].never_taken = seen_[i].fell && !seen_[i].taken;
  }
  for (StackRegion &r : facts_.stack) {
    // Whole words where nothing else begins in between would only grow frames: keep the bytes,
    // and say how the begin is aligned.
    for (r.align = 8; r.align > 1 && r.begin % r.align;) r.align /= 2;
  }
  std::sort(facts_.stack.begin(), facts_.stack.end(), [](const StackRegion &a, const StackRegion &b) {
    return std::pair(a.frame, a.begin) < std::pair(b.frame, b.begin);
  });
  facts_.cost = cost;
  return std::move(facts_);
}

}  // namespace egpu::bpf
