// bpf_trace_printk: a record in the ring of the map "printk" (lib/loader/map/layout.h).
#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "lib/bpf2ptx/lower/map_code.h"
#include "lib/bpf2ptx/lower/translator.h"

namespace egpu::bpf {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr uint32_t kMaxArguments = 3;
constexpr uint64_t kMaxFormatBytes = 4096;

// The conversions of a format string: "%%" is none.
uint32_t count_conversions(const char *format, size_t size_bytes) {
  uint32_t count = 0;
  for (size_t i = 0; i < size_bytes && format[i]; ++i) {
    if (format[i] != '%') continue;
    if (i + 1 < size_bytes && format[i + 1] == '%')
      ++i;
    else
      ++count;
  }
  return count;
}

}  // namespace

// Result as the kernel's: bytes of text are not known here, so 0; -E2BIG if the ring is full.
Value *Translator::trace_printk(int index, const HelperCall &call) {
  const Pointer &format = call.args[0].pointers[0];
  uint64_t format_bytes = std::min(call.args[1].value.value_or(0), kMaxFormatBytes);
  const uint8_t *text = constant_bytes(format, format_bytes);
  if (!text || format_bytes == 0) {
    fail(index, "the format string of bpf_printk() must be a constant");
    return b_.i64(0);
  }
  uint32_t count = count_conversions(reinterpret_cast<const char *>(text), format_bytes);
  if (count > kMaxArguments) {
    fail(index, "bpf_printk() takes at most 3 arguments here");
    return b_.i64(0);
  }
  size_t ring = object_.maps.size() - 1;
  Value *base = b_.map_base(static_cast<int>(ring));
  auto field = [&](Value *address, size_t offset) {
    return b_.global_pointer(b_.CreateAdd(address, b_.i64(offset)));
  };
  auto relaxed = llvm::AtomicOrdering::Monotonic;
  auto load = [&](size_t offset) {
    auto *word = b_.CreateAlignedLoad(b_.getInt64Ty(), field(base, offset), llvm::Align(8));
    word->setAtomic(relaxed);
    return word;
  };

  BasicBlock *try_block = b_.block("print.try"), *take = b_.block("print.take"),
             *write = b_.block("print.write"), *dropped = b_.block("print.dropped"),
             *done = b_.block("print.done");
  b_.flow_into(try_block);
  Value *head = load(offsetof(map::PrintkHeader, head)), *tail = load(offsetof(map::PrintkHeader, tail));
  uint64_t capacity = object_.maps[ring].shape.max_entries;
  // Signed: a tail read after the head may be ahead of it.
  b_.CreateCondBr(b_.CreateICmpSLT(b_.CreateSub(head, tail), b_.i64(capacity)), take, dropped);
  b_.enter(take);
  Value *swapped = b_.CreateAtomicCmpXchg(field(base, offsetof(map::PrintkHeader, head)), head,
                                          b_.CreateAdd(head, b_.i64(1)), llvm::Align(8), relaxed, relaxed);
  b_.CreateCondBr(b_.CreateExtractValue(swapped, 1), write, try_block);

  b_.enter(write);
  Value *place = b_.CreateMul(b_.CreateURem(head, b_.i64(capacity)), b_.i64(sizeof(map::PrintkRecord)));
  Value *record = b_.CreateAdd(b_.CreateAdd(base, b_.i64(sizeof(map::PrintkHeader))), place);
  auto store = [&](size_t offset, Value *value, uint64_t bytes) {
    b_.CreateAlignedStore(value, field(record, offset), llvm::Align(bytes));
  };
  store(offsetof(map::PrintkRecord, time_ns), ktime(index, call), 8);
  store(offsetof(map::PrintkRecord, map), b_.i32(static_cast<uint32_t>(format.map)), 4);
  store(offsetof(map::PrintkRecord, offset), b_.i32(static_cast<uint32_t>(*format.offset)), 4);
  store(offsetof(map::PrintkRecord, kernel), b_.symbol32("egpu_kernel"), 4);
  store(offsetof(map::PrintkRecord, site), b_.symbol32("egpu_site"), 4);
  store(offsetof(map::PrintkRecord, argument_count), b_.i32(count), 4);
  for (uint32_t i = 0; i < count; ++i)
    store(offsetof(map::PrintkRecord, arguments) + 8 * i, get(Reg{static_cast<uint8_t>(3 + i)}), 8);
  b_.ptx("st.release.gpu.global.u64 [$0], $1;", "l,l", b_.getVoidTy(),
         {b_.CreateAdd(record, b_.i64(offsetof(map::PrintkRecord, sequence))), b_.CreateAdd(head, b_.i64(1))},
         true);
  b_.CreateBr(done);

  b_.enter(dropped);
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, field(base, offsetof(map::PrintkHeader, dropped)), b_.i64(1),
                     llvm::Align(8), relaxed);
  b_.CreateBr(done);
  b_.enter(done);
  llvm::PHINode *result = b_.CreatePHI(b_.getInt64Ty(), 2);
  result->addIncoming(b_.i64(0), write);
  result->addIncoming(b_.i64(static_cast<uint64_t>(-E2BIG)), dropped);
  return result;
}

}  // namespace egpu::bpf
