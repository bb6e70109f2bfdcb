// The protocol of hash maps on the GPU. A slot goes empty -> busy -> full; every thread that
// meets its own key's hash in a busy slot looks again until the slot is full. The thread that
// takes a slot fills and publishes it before its branch joins the others' again, and then
// takes the common way (look at the slot again): threads of one warp that wait for each other
// make progress whichever side of a branch the hardware runs first. All waits are bounded.
#include "lib/bpf2ptx/lower/map_code.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "lib/loader/map/hash.h"

namespace egpu::bpf {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

namespace {

constexpr uint64_t kNoExist = 1, kExist = 2;  // BPF_NOEXIST, BPF_EXIST
constexpr uint64_t kMaxLooks = 1u << 20;      // at a busy slot before giving up
constexpr uint64_t kMaxUnrolledBytes = 128;   // of a value's copy; a loop beyond

// A walk ends when its budget is spent: by kMaxLooks looks at busy slots, or by one round
// through the table.
struct Budget {
  uint32_t total, move;
};

Budget walk_budget(uint64_t capacity) {
  uint64_t total = std::max(kMaxLooks, capacity);
  return {static_cast<uint32_t>(total), static_cast<uint32_t>(total / capacity)};
}

uint64_t alignment_of(uint64_t offset, uint64_t most) {
  return offset == 0 ? most : std::min(most, uint64_t{1} << std::countr_zero(offset));
}

}  // namespace

Value *MapCode::base() { return b_.map_base(index_); }

// Addresses do not wrap: LLVM then knows that the address of a value is not NULL.
Value *MapCode::add(Value *address, Value *bytes) { return b_.CreateAdd(address, bytes, "", true); }

Value *MapCode::shard_base() {
  return spec_.sharded ? b_.shard_base(index_) : base();
}

Value *MapCode::global_address(uint64_t offset) { return add(shard_base(), b_.i64(offset)); }

Value *MapCode::value_address(Value *slot) {
  Value *offset = b_.CreateMul(b_.CreateZExt(slot, b_.getInt64Ty()), b_.i64(map::value_stride(spec_.shape)));
  return add(add(shard_base(), b_.i64(map::values_offset(spec_.shape))), offset);
}

Value *MapCode::lookup(const Bytes &key) {
  return map::is_hash(spec_.shape.type) ? hash_lookup(key) : array_lookup(key);
}

Value *MapCode::update(const Bytes &key, const Bytes &value, Value *flags) {
  return map::is_hash(spec_.shape.type) ? hash_update(key, value, flags) : array_update(key, value, flags);
}

Value *MapCode::array_lookup(const Bytes &key) {
  Value *index = integer_of(b_, key, 0, 4);
  Value *inside = b_.CreateICmpULT(index, b_.i32(spec_.shape.max_entries));
  return b_.CreateSelect(inside, value_address(index), b_.i64(0));
}

// kernel/bpf/arraymap.c, array_map_update_elem: the order of the checks is the kernel's.
Value *MapCode::array_update(const Bytes &key, const Bytes &value, Value *flags) {
  BasicBlock *write = b_.block("array.write"), *done = b_.block("array.done");
  Value *index = integer_of(b_, key, 0, 4);
  Value *known = b_.CreateICmpULE(flags, b_.i64(kExist));
  Value *inside = b_.CreateICmpULT(index, b_.i32(spec_.shape.max_entries));
  Value *creates = b_.CreateICmpEQ(flags, b_.i64(kNoExist));
  Value *code = b_.CreateSelect(creates, b_.i64(static_cast<uint64_t>(-EEXIST)), b_.i64(0));
  code = b_.CreateSelect(inside, code, b_.i64(static_cast<uint64_t>(-E2BIG)));
  code = b_.CreateSelect(known, code, b_.i64(static_cast<uint64_t>(-EINVAL)));
  b_.CreateCondBr(b_.CreateICmpEQ(code, b_.i64(0)), write, done);
  b_.enter(write);
  write_value(index, value, false);
  b_.flow_into(done);
  return code;
}

std::vector<Value *> MapCode::key_words(const Bytes &key) {
  std::vector<Value *> words;
  for (uint64_t at = 0; at < spec_.shape.key_size; at += 4) {
    uint64_t size_bytes = std::min<uint64_t>(4, spec_.shape.key_size - at);
    words.push_back(b_.CreateZExt(integer_of(b_, key, at, size_bytes), b_.getInt32Ty()));
  }
  return words;
}

Value *MapCode::hash_of(const std::vector<Value *> &words) {
  Value *h = b_.i32(map::kHashSeed);
  for (Value *word : words) {
    h = b_.CreateXor(h, word);
    h = b_.CreateXor(h, b_.CreateLShr(h, 16));
    h = b_.CreateMul(h, b_.i32(map::kHashMultiplier1));
    h = b_.CreateXor(h, b_.CreateLShr(h, 13));
    h = b_.CreateMul(h, b_.i32(map::kHashMultiplier2));
    h = b_.CreateXor(h, b_.CreateLShr(h, 16));
  }
  return h;
}

Value *MapCode::state_address(Value *slot) {
  Value *offset = b_.CreateShl(b_.CreateZExt(slot, b_.getInt64Ty()), 2);
  return add(add(base(), b_.i64(map::hash_states_offset())), offset);
}

// NVPTX cannot select acquire and release. PTX ISA 9.0, 9.7.9.8 "ld": .acquire needs sm_70.
Value *MapCode::load_acquire(Value *address) {
  return b_.ptx("ld.acquire.gpu.global.u32 $0, [$1];", "=r,l", b_.getInt32Ty(), {address}, true);
}

void MapCode::store_release(Value *address, Value *word) {
  b_.ptx("st.release.gpu.global.u32 [$0], $1;", "l,r", b_.getVoidTy(), {address, word}, true);
}

// The taken slot is to be seen before the count.
Value *MapCode::add_in_order(Value *address, int32_t amount) {
  return b_.ptx("atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r", b_.getInt32Ty(),
                {address, b_.i32(static_cast<uint32_t>(amount))}, true);
}

Value *MapCode::key_equals(Value *slot, const std::vector<Value *> &words) {
  Value *offset = b_.CreateMul(b_.CreateZExt(slot, b_.getInt64Ty()), b_.i64(map::key_stride(spec_.shape)));
  Value *address = add(add(base(), b_.i64(map::hash_keys_offset(spec_.shape))), offset);
  Value *pointer = b_.global_pointer(address);
  Value *difference = b_.i32(0);
  for (size_t i = 0; i < words.size(); ++i) {
    // The table pads keys with zero bytes, as key_words does.
    Value *word = b_.CreateAlignedLoad(b_.getInt32Ty(), b_.byte_offset(pointer, 4 * i),
                                       llvm::Align(alignment_of(4 * i, 8)));
    difference = b_.CreateOr(difference, b_.CreateXor(word, words[i]));
  }
  return b_.CreateICmpEQ(difference, b_.i32(0));
}

void MapCode::write_key(Value *slot, const std::vector<Value *> &words) {
  Value *offset = b_.CreateMul(b_.CreateZExt(slot, b_.getInt64Ty()), b_.i64(map::key_stride(spec_.shape)));
  Value *address = add(add(base(), b_.i64(map::hash_keys_offset(spec_.shape))), offset);
  for (size_t i = 0; i < words.size(); ++i)
    b_.CreateAlignedStore(words[i], b_.byte_offset(b_.global_pointer(address), 4 * i),
                          llvm::Align(alignment_of(4 * i, 8)));
}

// `fresh`: the value's memory is still zero, so zeros need not be stored.
void MapCode::write_value(Value *slot, const Bytes &value, bool fresh) {
  uint64_t size = spec_.shape.value_size;
  if (fresh && value.constant &&
      std::all_of(value.constant, value.constant + size, [](uint8_t c) { return c == 0; }))
    return;
  Value *target = b_.global_pointer(value_address(slot));
  uint64_t unrolled = value.constant || size <= kMaxUnrolledBytes ? size : size % 8;
  uint64_t looped = size - unrolled;
  if (looped > 0) {
    BasicBlock *before = b_.GetInsertBlock(), *loop = b_.block("copy"), *after = b_.block("copied");
    b_.flow_into(loop);
    PHINode *at = b_.CreatePHI(b_.getInt64Ty(), 2);
    at->addIncoming(b_.i64(0), before);
    Value *word = b_.load_integer(b_.byte_offset(value.pointer, at), 8, std::min<uint64_t>(value.align, 8));
    b_.store_integer(b_.byte_offset(target, at), word, 8, 8);
    Value *next = b_.CreateAdd(at, b_.i64(8));
    at->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, b_.i64(looped)), loop, after);
    b_.enter(after);
  }
  for (uint64_t at = looped; at < size;) {
    uint64_t count = std::min<uint64_t>(8, std::bit_floor(size - at));
    b_.store_integer(b_.byte_offset(target, at), integer_of(b_, value, at, count), count, 8);
    at += count;
  }
}

void MapCode::count_dropped() {
  Value *address = add(base(), b_.i64(offsetof(map::HashHeader, dropped)));
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, b_.global_pointer(address), b_.i32(1), llvm::Align(4),
                     llvm::AtomicOrdering::Monotonic);
}

Value *MapCode::hash_lookup(const Bytes &key) {
  std::vector<Value *> words = key_words(key);
  Value *hash = hash_of(words);
  auto mask = static_cast<uint32_t>(map::hash_capacity(spec_.shape) - 1);
  Budget budget = walk_budget(map::hash_capacity(spec_.shape));
  Value *tag = b_.CreateAnd(hash, b_.i32(~map::kSlotStateMask));
  Value *first = b_.CreateAnd(hash, b_.i32(mask));
  BasicBlock *before = b_.GetInsertBlock(), *look = b_.block("look"), *compare = b_.block("look.compare"),
             *other = b_.block("look.other"), *again = b_.block("look.again"),
             *found = b_.block("look.found"), *done = b_.block("look.done");
  b_.flow_into(look);
  PHINode *slot = b_.CreatePHI(b_.getInt32Ty(), 2), *spent = b_.CreatePHI(b_.getInt32Ty(), 2);
  slot->addIncoming(first, before);
  spent->addIncoming(b_.i32(0), before);
  Value *state = load_acquire(state_address(slot));
  b_.CreateCondBr(b_.CreateICmpEQ(state, b_.CreateOr(tag, b_.i32(map::kSlotFull))), compare, other);

  b_.enter(compare);
  b_.CreateCondBr(key_equals(slot, words), found, other);

  b_.enter(other);
  BasicBlock *more = b_.block("look.more");
  b_.CreateCondBr(b_.CreateICmpEQ(state, b_.i32(map::kSlotEmpty)), done, more);
  b_.enter(more);
  // Stay at a busy slot of this hash, else go to the next.
  Value *busy = b_.CreateICmpEQ(state, b_.CreateOr(tag, b_.i32(map::kSlotBusy)));
  Value *moved = b_.CreateAnd(b_.CreateAdd(slot, b_.i32(1)), b_.i32(mask));
  Value *next_slot = b_.CreateSelect(busy, slot, moved);
  Value *price = b_.CreateSelect(busy, b_.i32(1), b_.i32(budget.move));
  Value *next_spent = b_.CreateAdd(spent, price);
  Value *goes_on = b_.CreateICmpULT(next_spent, b_.i32(budget.total));
  b_.CreateCondBr(goes_on, again, done);
  b_.enter(again);
  slot->addIncoming(next_slot, again);
  spent->addIncoming(next_spent, again);
  b_.CreateBr(look);

  b_.enter(found);
  Value *address = value_address(slot);
  b_.CreateBr(done);
  b_.enter(done);
  PHINode *result = b_.CreatePHI(b_.getInt64Ty(), 3);
  result->addIncoming(b_.i64(0), other);
  result->addIncoming(b_.i64(0), more);
  result->addIncoming(address, found);
  return result;
}

// kernel/bpf/hashtab.c, htab_map_update_elem gives the return codes.
Value *MapCode::hash_update(const Bytes &key, const Bytes &value, Value *flags) {
  std::vector<Value *> words = key_words(key);
  Value *hash = hash_of(words);
  auto mask = static_cast<uint32_t>(map::hash_capacity(spec_.shape) - 1);
  Budget budget = walk_budget(map::hash_capacity(spec_.shape));
  Value *tag = b_.CreateAnd(hash, b_.i32(~map::kSlotStateMask));
  Value *full = b_.CreateOr(tag, b_.i32(map::kSlotFull)), *busy = b_.CreateOr(tag, b_.i32(map::kSlotBusy));
  Value *first = b_.CreateAnd(hash, b_.i32(mask));
  Value *count_address = add(base(), b_.i64(offsetof(map::HashHeader, count)));
  Value *most = b_.i32(spec_.shape.max_entries);
  auto code = [&](int number) { return b_.i64(static_cast<uint64_t>(int64_t{number})); };

  BasicBlock *start = b_.block("put"), *look = b_.block("put.look"), *compare = b_.block("put.compare"),
             *exists = b_.block("put.exists"), *overwrite = b_.block("put.overwrite"),
             *other = b_.block("put.other"), *empty = b_.block("put.empty"), *room = b_.block("put.room"),
             *crowded = b_.block("put.crowded"), *take = b_.block("put.take"), *fill = b_.block("put.fill"),
             *give_back = b_.block("put.give_back"), *pass = b_.block("put.pass"),
             *again = b_.block("put.again"), *refused = b_.block("put.refused"), *done = b_.block("put.done");
  BasicBlock *before = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpULE(flags, b_.i64(kExist)), start, done);
  b_.enter(done);
  PHINode *result = b_.CreatePHI(b_.getInt64Ty(), 5);
  result->addIncoming(code(-EINVAL), before);

  b_.enter(start);
  b_.flow_into(look);
  PHINode *slot = b_.CreatePHI(b_.getInt32Ty(), 2), *spent = b_.CreatePHI(b_.getInt32Ty(), 2),
          *mine = b_.CreatePHI(b_.getInt1Ty(), 2);
  slot->addIncoming(first, start);
  spent->addIncoming(b_.i32(0), start);
  mine->addIncoming(b_.getFalse(), start);
  Value *address = state_address(slot);
  Value *state = load_acquire(address);
  b_.CreateCondBr(b_.CreateICmpEQ(state, full), compare, other);

  b_.enter(compare);
  b_.CreateCondBr(key_equals(slot, words), exists, other);
  b_.enter(exists);
  Value *creates = b_.CreateICmpEQ(flags, b_.i64(kNoExist));
  Value *leaves = b_.CreateOr(mine, creates);
  result->addIncoming(b_.CreateSelect(mine, code(0), code(-EEXIST)), exists);
  b_.CreateCondBr(leaves, done, overwrite);
  b_.enter(overwrite);
  write_value(slot, value, false);
  result->addIncoming(code(0), b_.GetInsertBlock());
  b_.CreateBr(done);

  b_.enter(other);
  b_.CreateCondBr(b_.CreateICmpEQ(state, b_.i32(map::kSlotEmpty)), empty, pass);
  b_.enter(empty);
  result->addIncoming(code(-ENOENT), empty);
  b_.CreateCondBr(b_.CreateICmpEQ(flags, b_.i64(kExist)), done, room);
  b_.enter(room);
  Value *count = load_acquire(count_address);
  b_.CreateCondBr(b_.CreateICmpULT(count, most), take, crowded);
  // Full; but if this slot has been taken meanwhile, the last element may be this very key.
  b_.enter(crowded);
  Value *since = load_acquire(address);
  b_.CreateCondBr(b_.CreateICmpEQ(since, b_.i32(map::kSlotEmpty)), refused, again);
  b_.enter(take);
  auto relaxed = llvm::AtomicOrdering::Monotonic;
  Value *swapped = b_.CreateAtomicCmpXchg(b_.global_pointer(address), b_.i32(map::kSlotEmpty), busy,
                                          llvm::Align(4), relaxed, relaxed);
  BasicBlock *taken = b_.block("put.taken");
  b_.CreateCondBr(b_.CreateExtractValue(swapped, 1), taken, again);
  b_.enter(taken);
  Value *old_count = add_in_order(count_address, 1);
  b_.CreateCondBr(b_.CreateICmpULT(old_count, most), fill, give_back);
  b_.enter(fill);
  write_key(slot, words);
  write_value(slot, value, true);
  store_release(address, full);
  BasicBlock *filled = b_.GetInsertBlock();
  b_.CreateBr(again);
  // Others were faster and the table is full: the slot stays unusable, so that no probe that
  // passed it is cut short.
  b_.enter(give_back);
  add_in_order(count_address, -1);
  store_release(address, b_.CreateOr(tag, b_.i32(map::kSlotDeleted)));
  b_.CreateBr(again);

  b_.enter(pass);
  Value *waits = b_.CreateICmpEQ(state, busy);
  Value *moved = b_.CreateAnd(b_.CreateAdd(slot, b_.i32(1)), b_.i32(mask));
  Value *next_slot = b_.CreateSelect(waits, slot, moved);
  Value *price = b_.CreateSelect(waits, b_.i32(1), b_.i32(budget.move));
  Value *next_spent = b_.CreateAdd(spent, price);
  Value *goes_on = b_.CreateICmpULT(next_spent, b_.i32(budget.total));
  b_.CreateCondBr(goes_on, again, refused);

  b_.enter(again);
  PHINode *slot_again = b_.CreatePHI(b_.getInt32Ty(), 5), *spent_again = b_.CreatePHI(b_.getInt32Ty(), 5),
          *mine_again = b_.CreatePHI(b_.getInt1Ty(), 5);
  for (BasicBlock *from : {crowded, take, filled, give_back, pass}) {
    slot_again->addIncoming(from == pass ? next_slot : slot, from);
    spent_again->addIncoming(from == pass ? next_spent : spent, from);
    mine_again->addIncoming(from == filled ? static_cast<Value *>(b_.getTrue()) : mine, from);
  }
  slot->addIncoming(slot_again, again);
  spent->addIncoming(spent_again, again);
  mine->addIncoming(mine_again, again);
  b_.CreateBr(look);

  b_.enter(refused);
  count_dropped();
  result->addIncoming(code(-E2BIG), refused);
  b_.CreateBr(done);
  b_.enter(done);
  return result;
}

}  // namespace egpu::bpf
