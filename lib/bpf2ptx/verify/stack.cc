#include "lib/bpf2ptx/verify/stack.h"

#include <algorithm>

#include "lib/bpf2ptx/insn/semantics.h"

namespace egpu::bpf {

bool any_of_bytes(const Stack::Bytes &set, int begin, int size) {
  for (int offset = begin; offset < begin + size; ++offset)
    if (set[static_cast<size_t>(-offset - 1)]) return true;
  return false;
}

void Stack::touch(int begin) { depth_ = std::max(depth_, (-begin + 7) / 8 * 8); }

std::optional<int> Stack::uninitialized(int begin, int size) const {
  for (int offset = begin; offset < begin + size; ++offset)
    if (!initialized(offset)) return offset;
  return std::nullopt;
}

bool Stack::holds_pointer(int begin, int size) const {
  return std::any_of(spills_.begin(), spills_.end(), [&](const Spill &s) {
    return s.begin < begin + size && begin < s.begin + s.size && s.value.is_pointer();
  });
}

void Stack::mark(int begin, int size, Byte byte) {
  for (int offset = begin; offset < begin + size; ++offset) bytes_[index(offset)] = byte;
}

// Removes spills that overlap. What is left of a scalar is data; what is left of a pointer is
// no longer readable.
void Stack::forget(int begin, int size) {
  std::erase_if(spills_, [&](const Spill &s) {
    if (s.begin >= begin + size || begin >= s.begin + s.size) return false;
    mark(s.begin, s.size, s.value.is_pointer() ? kInvalid : kData);
    return true;
  });
}

void Stack::note_read(int begin, int size) {
  for (int offset = begin; offset < begin + size; ++offset)
    if (!use_.written[index(offset)]) use_.read.set(index(offset));
}

void Stack::note_write(int begin, int size) {
  for (int offset = begin; offset < begin + size; ++offset) use_.written.set(index(offset));
}

void Stack::store(int begin, int size, const Value &value) {
  forget(begin, size);
  touch(begin);
  note_write(begin, size);
  mark(begin, size, kSpill);
  Value stored = value;
  if (stored.is_scalar()) {
    Range narrow = extend(stored.range, size, false);
    if (!(narrow == stored.range)) stored.unlink();
    stored.range = narrow;
  }
  spills_.push_back({begin, size, stored});
}

void Stack::store_somewhere(int begin, int end) {
  touch(begin);
  forget(begin, end - begin);
}

void Stack::store_unknown(int begin, int size) {
  touch(begin);
  note_write(begin, size);
  forget(begin, size);
  mark(begin, size, kData);
}

namespace {

// Bytes of a number that was spilled whole.
Value part_of(const Stack::Spill &spill, int begin, int size) {
  Value part = spill.value;
  auto shift = static_cast<uint64_t>(8 * (begin - spill.begin));
  if (shift) part.range = eval(AluOp::rsh, true, part.range, Range::constant(shift));
  part.range = extend(part.range, size, false);
  if (!(part.range == spill.value.range)) part.unlink();
  return part;
}

}  // namespace

std::optional<Value> Stack::load(int begin, int size) const {
  uint64_t bytes = 0;
  int known = 0, outside = -1;
  for (const Spill &s : spills_) {
    if (s.begin >= begin + size || begin >= s.begin + s.size) continue;
    if (s.begin == begin && s.size == size) return s.value;
    if (s.value.is_pointer()) return std::nullopt;
    if (s.begin <= begin && begin + size <= s.begin + s.size) return part_of(s, begin, size);
    outside = std::max(outside, s.value.outside);
    if (!s.value.is_constant()) continue;
    for (int i = 0; i < s.size; ++i) {
      int at = s.begin + i - begin;
      if (at < 0 || at >= size) continue;
      bytes |= ((s.value.range.value() >> (8 * i)) & 0xff) << (8 * at);
      ++known;
    }
  }
  Value value = known == size ? Value::constant(bytes) : Value::scalar(extend(Range::unknown(), size, false));
  value.outside = outside;
  return value;
}

}  // namespace egpu::bpf
