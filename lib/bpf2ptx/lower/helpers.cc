// Helper functions as inline code: one row and one member function each.
#include <algorithm>
#include <cerrno>

#include "lib/bpf2ptx/lower/map_code.h"
#include "lib/bpf2ptx/lower/translator.h"
#include "lib/loader/map/hash.h"

namespace egpu::bpf {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

// Numbers: include/uapi/linux/bpf.h and include/egpu/gpu.bpf.h.
const Translator::HelperRow Translator::kHelpers[] = {
    {1, &Translator::map_lookup},     {2, &Translator::map_update},  {5, &Translator::ktime},
    {6, &Translator::trace_printk},   {7, &Translator::prandom},     {8, &Translator::smp_processor_id},
    {181, &Translator::loop},         {0x6001, &Translator::cookie}, {0x6003, &Translator::clock},
    {0x6004, &Translator::log2_slot}, {0x6005, &Translator::ballot}, {0, nullptr},
};

// Is this the call that is made, of those that the instruction can make? Its selecting arguments
// say so.
Value *Translator::is_made(const HelperCall &call) {
  Value *all = b_.getTrue();
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Argument &argument = call.args[i];
    if (!argument.selects) continue;
    Value *wanted = b_.i64(argument.value.value_or(0));
    if (!argument.pointers.empty()) {
      const Pointer &pointer = argument.pointers[0];
      if (pointer.space == Space::map_value)
        wanted = MapCode(b_, object_.maps[static_cast<size_t>(pointer.map)], pointer.map)
                     .global_address(static_cast<uint64_t>(pointer.min_offset));
      else
        wanted = b_.i64(static_cast<uint64_t>(pointer.space == Space::map ? pointer.map : pointer.function));
    }
    all = b_.CreateAnd(all, b_.CreateICmpEQ(get(Reg{static_cast<uint8_t>(i + 1)}), wanted));
  }
  return all;
}

Bytes Translator::bytes_at(int index, const Pointer &pointer, Value *address, uint64_t size_bytes) {
  if (pointer.space == Space::stack) {
    Bytes bytes;
    bytes.pointer = stack_pointer(index, pointer, address, 0, size_bytes, &bytes.align);
    return bytes;
  }
  if (const uint8_t *known = constant_bytes(pointer, size_bytes)) return {nullptr, 1, known};
  if (pointer.space != Space::map_value) fail(index, "internal: argument points to unknown memory");
  return {b_.global_pointer(address), pointer.align, nullptr};
}

// What argument `argument` (0 is r1) points to; a copy of it, if that can be one of several objects.
Bytes Translator::bytes_argument(int index, const HelperCall &call, int argument, uint64_t size_bytes) {
  const std::vector<Pointer> &pointers = call.args[static_cast<size_t>(argument)].pointers;
  Value *address = get(Reg{static_cast<uint8_t>(argument + 1)});
  if (pointers.size() == 1) return bytes_at(index, pointers[0], address, size_bytes);
  llvm::AllocaInst *copy = b_.local(llvm::ArrayType::get(b_.getInt8Ty(), size_bytes), "argument");
  on_object(pointers, address, [&](const Pointer &pointer) {
    Bytes bytes = bytes_at(index, pointer, address, size_bytes);
    for (uint64_t at = 0; at < size_bytes; at += 8) {
      uint64_t part = std::min<uint64_t>(8, size_bytes - at);
      b_.store_integer(b_.byte_offset(copy, at), integer_of(b_, bytes, at, part), part, 8);
    }
    return nullptr;
  });
  return {copy, 8, nullptr};
}

Value *Translator::map_lookup(int index, const HelperCall &call) {
  int map = call.args[0].pointers[0].map;
  const MapSpec &spec = object_.maps[static_cast<size_t>(map)];
  Bytes key = bytes_argument(index, call, 1, spec.shape.key_size);
  return error_.empty() ? MapCode(b_, spec, map).lookup(key) : b_.i64(0);
}

Value *Translator::map_update(int index, const HelperCall &call) {
  int map = call.args[0].pointers[0].map;
  const MapSpec &spec = object_.maps[static_cast<size_t>(map)];
  Bytes key = bytes_argument(index, call, 1, spec.shape.key_size);
  Bytes value = bytes_argument(index, call, 2, spec.shape.value_size);
  const auto &known = call.args[3].value;
  Value *flags = known ? static_cast<Value *>(b_.i64(*known)) : get(Reg{4});
  return error_.empty() ? MapCode(b_, spec, map).update(key, value, flags) : b_.i64(0);
}

Value *Translator::ktime(int, const HelperCall &) {
  Value *now = b_.ptx("mov.u64 $0, %globaltimer;", "=l", b_.getInt64Ty());
  return b_.CreateAdd(now, b_.symbol64("egpu_ktime_offset"));
}

Value *Translator::clock(int, const HelperCall &) {
  return b_.ptx("mov.u64 $0, %clock64;", "=l", b_.getInt64Ty());
}

// The SM's cycle counter and the place of the thread on the GPU, mixed: threads differ in the
// place, calls of one thread in the time.
Value *Translator::prandom(int, const HelperCall &) {
  Value *time = b_.ptx("mov.u32 $0, %clock;", "=r", b_.getInt32Ty());
  Value *block = b_.CreateMul(b_.special32("%ctaid.x"), b_.i32(map::kHashSeed));
  Value *place = b_.CreateShl(b_.special32("%smid"), 11);
  place = b_.CreateOr(place, b_.CreateShl(b_.special32("%warpid"), 5));
  place = b_.CreateOr(place, b_.special32("%laneid"));
  Value *h = b_.CreateXor(b_.CreateAdd(place, block), b_.CreateMul(time, b_.i32(0x2545f491)));
  h = b_.CreateXor(h, b_.CreateLShr(h, 16));
  h = b_.CreateMul(h, b_.i32(map::kHashMultiplier1));
  h = b_.CreateXor(h, b_.CreateLShr(h, 13));
  h = b_.CreateMul(h, b_.i32(map::kHashMultiplier2));
  h = b_.CreateXor(h, b_.CreateLShr(h, 16));
  return b_.CreateZExt(h, b_.getInt64Ty());
}

Value *Translator::smp_processor_id(int, const HelperCall &) {
  return b_.CreateZExt(b_.special32("%smid"), b_.getInt64Ty());
}

Value *Translator::cookie(int, const HelperCall &) { return b_.i64(kCookiePointer); }

// slots[0]: 0; slots[i]: [2^(i-1), 2^i); the last one takes all that is larger (gpu.bpf.h).
Value *Translator::log2_slot(int, const HelperCall &) {
  Value *zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, get(Reg{1}), b_.getFalse());
  Value *slot = b_.CreateSub(b_.i32(64), b_.CreateTrunc(zeros, b_.getInt32Ty()));
  return b_.CreateZExt(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, slot, b_.i32(63)), b_.getInt64Ty());
}

// Lanes that are together are asked together, whatever the mask at the program's start was: `vote` waits
// for all lanes in its mask, and the verifier's labels do not promise that they come (verify/uniform.h).
Value *Translator::ballot(int, const HelperCall &) {
  Value *mask = b_.together("activemask.b32 $0;", "=r", b_.getInt32Ty());
  Value *yes = b_.CreateICmpNE(get(Reg{1}), b_.i64(0));
  Value *lanes = b_.together("vote.sync.ballot.b32 $0, $1, $2;", "=r,b,r", b_.getInt32Ty(), {yes, mask});
  return b_.CreateZExt(lanes, b_.getInt64Ty());
}

// bpf_loop(count, callback, context, flags): the callback in a counted loop, until it
// returns 1. kernel/bpf/bpf_iter.c, bpf_loop: result is the number of calls.
Value *Translator::loop(int index, const HelperCall &call) {
  constexpr uint64_t kMaxLoops = 1u << 23;
  int callback = callee(index, call.args[1].pointers[0].function);
  if (stack_.size() >= kMaxFrames) {
    fail(index, "calls are nested more than 8 deep");
    return b_.i64(0);
  }
  Value *count = b_.CreateAnd(get(Reg{1}), b_.i64(UINT32_MAX)), *context = get(Reg{3});
  Value *fails = b_.i64(static_cast<uint64_t>(-E2BIG));
  // No path has a round.
  if (callback < 0) return b_.CreateSelect(b_.CreateICmpULE(count, b_.i64(kMaxLoops)), b_.i64(0), fails);
  BasicBlock *before = b_.GetInsertBlock(), *head = b_.block("loop"), *body = b_.block("loop.body"),
             *done = b_.block("loop.done");
  b_.CreateCondBr(b_.CreateICmpULE(count, b_.i64(kMaxLoops)), head, done);
  b_.enter(head);
  PHINode *i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(b_.i64(0), before);
  b_.CreateCondBr(b_.CreateICmpULT(i, count), body, done);
  b_.enter(body);
  Value *result = nullptr;
  translate_function(callback, {i, context}, &result);
  if (!error_.empty()) return b_.i64(0);
  Value *next = b_.CreateAdd(i, b_.i64(1));
  BasicBlock *end = b_.GetInsertBlock();
  i->addIncoming(next, end);
  b_.CreateCondBr(b_.CreateICmpEQ(result, b_.i64(0)), head, done);
  b_.enter(done);
  PHINode *calls = b_.CreatePHI(b_.getInt64Ty(), 3);
  calls->addIncoming(fails, before);
  calls->addIncoming(i, head);
  calls->addIncoming(next, end);
  return calls;
}

}  // namespace egpu::bpf
