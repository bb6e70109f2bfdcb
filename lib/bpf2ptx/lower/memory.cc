// Loads, stores and atomics: each goes to the memory that the verifier's facts name.
#include <algorithm>
#include <bit>

#include "lib/bpf2ptx/lower/map_code.h"
#include "lib/bpf2ptx/lower/translator.h"
#include "lib/bpf2ptx/verify/ctx.h"

namespace egpu::bpf {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr uint64_t kStackAlign = 8;

uint64_t frame_top(int frame) { return kFrameTop + kFrameDistance * static_cast<uint64_t>(frame); }

// How a ctx field is read, by its name in vmgpu.h. A field that is not here is arg[K].
struct FieldSource {
  const char *field, *source;
  bool special;  // a PTX special register, else a free symbol
};
constexpr FieldSource kFieldSources[] = {
    {"grid_dim.x", "%nctaid.x", true},
    {"grid_dim.y", "%nctaid.y", true},
    {"grid_dim.z", "%nctaid.z", true},
    {"block_dim.x", "%ntid.x", true},
    {"block_dim.y", "%ntid.y", true},
    {"block_dim.z", "%ntid.z", true},
    {"block_idx.x", "%ctaid.x", true},
    {"block_idx.y", "%ctaid.y", true},
    {"block_idx.z", "%ctaid.z", true},
    {"thread_idx.x", "%tid.x", true},
    {"thread_idx.y", "%tid.y", true},
    {"thread_idx.z", "%tid.z", true},
    {"sm_id", "%smid", true},
    {"lane_id", "%laneid", true},
    {"active_mask", "egpu_active_mask", false},
    {"kernel", "egpu_kernel", false},
    {"site", "egpu_site", false},
    {"launch_ns", "egpu_launch_ns", false},
    {"addr", "egpu_addr", false},
    {"size", "egpu_size", false},
    {"taken_mask", "egpu_taken_mask", false},
};

}  // namespace

// One alloca per region.
void Translator::make_regions(Instance *instance) {
  for (const StackRegion &region : facts_.chains[static_cast<size_t>(instance->chain)].stack) {
    // The alloca begins at a multiple of 8 of the frame, so that proved alignments hold in it.
    int64_t base = region.begin & -static_cast<int64_t>(kStackAlign);
    auto size = static_cast<uint64_t>(region.end - base);
    llvm::AllocaInst *memory = b_.local(llvm::ArrayType::get(b_.getInt8Ty(), size), "stack",
                                        std::max<uint64_t>(region.align, kStackAlign));
    instance->regions.push_back({region.begin, region.end, base, memory});
  }
}

// The address of byte `offset` behind what the pointer points to; `register_value` is the
// pointer as an integer. *align is what is known of the address.
Value *Translator::stack_pointer(int index, const Pointer &pointer, Value *register_value, int64_t offset,
                                 uint64_t size_bytes, uint64_t *align) {
  const Instance &instance = stack_[static_cast<size_t>(pointer.frame)];
  *align = std::max<uint64_t>(pointer.align, 1);
  for (const Region &region : instance.regions) {
    if (pointer.min_offset < region.begin ||
        pointer.max_offset + static_cast<int64_t>(size_bytes) > region.end)
      continue;
    if (pointer.offset) {
      auto distance = static_cast<uint64_t>(*pointer.offset - region.base);
      *align = uint64_t{1} << std::countr_zero(distance | kStackAlign);
      return b_.byte_offset(region.memory, distance);
    }
    Value *distance = b_.CreateSub(b_.CreateAdd(register_value, b_.i64(static_cast<uint64_t>(offset))),
                                   b_.i64(frame_top(pointer.frame) + static_cast<uint64_t>(region.base)));
    return b_.byte_offset(region.memory, distance);
  }
  fail(index, "internal: stack access at " + std::to_string(pointer.min_offset) + " lies in no region");
  return llvm::PoisonValue::get(b_.getPtrTy());
}

Value *Translator::load_ctx(int index, int64_t offset, int bytes) {
  const CtxField *field = find_ctx_field(program_.event, offset, bytes);
  if (!field) {
    fail(index, "internal: no context field at " + std::to_string(offset));
    return b_.i64(0);
  }
  std::string name = field->name, source = "egpu_arg_" + name.substr(name.find('[') + 1);
  if (source.ends_with(']')) source.pop_back();
  bool special = false;
  for (const FieldSource &row : kFieldSources)
    if (name == row.field) source = row.source, special = row.special;
  Value *value = special             ? b_.special32(source)
                 : field->bytes == 8 ? b_.symbol64(source)
                                     : b_.symbol32(source);
  value = b_.CreateZExt(value, b_.getInt64Ty());
  if (offset != field->offset)
    value = b_.CreateLShr(value, static_cast<uint64_t>(8 * (offset - field->offset)));
  return b_.CreateTrunc(value, b_.getIntNTy(static_cast<unsigned>(8 * bytes)));
}

// Contents that never change: of a read-only map at a known offset.
const uint8_t *Translator::constant_bytes(const Pointer &pointer, uint64_t size_bytes) const {
  if (pointer.space != Space::map_value || pointer.map < 0 || !pointer.offset || *pointer.offset < 0)
    return nullptr;
  const MapSpec &map = object_.maps[static_cast<size_t>(pointer.map)];
  auto offset = static_cast<uint64_t>(*pointer.offset);
  if (!map.read_only || offset + size_bytes > map.initial.size()) return nullptr;
  return map.initial.data() + offset;
}

Value *Translator::load_cookie() { return b_.ptx("mov.b64 $0, egpu_cookie;", "=l", b_.getInt64Ty()); }

void Translator::store_cookie(Value *value) {
  b_.ptx("mov.b64 egpu_cookie, $0;", "l", b_.getVoidTy(), {value});
}

Value *Translator::address_of(Reg base, int64_t offset) {
  return b_.CreateAdd(get(base), b_.i64(static_cast<uint64_t>(offset)));
}

Value *Translator::device_pointer(Reg base, int64_t offset) {
  return b_.global_pointer(address_of(base, offset));
}

// Does an address that lies in one of several objects lie in this one?
Value *Translator::points_into(const Pointer &object, Value *address) {
  uint64_t top = frame_top(object.frame);
  switch (object.space) {
    case Space::stack:
      return b_.CreateICmpULT(b_.CreateSub(address, b_.i64(top - kFrameBytes)), b_.i64(kFrameBytes));
    case Space::ctx:
      return b_.CreateICmpEQ(address, b_.i64(kCtxPointer + static_cast<uint64_t>(object.min_offset)));
    default:
      return b_.CreateICmpUGE(address, b_.i64(kCookiePointer));  // device memory
  }
}

// Emits `access` for each object that `address` can lie in, and the choice between them; the
// accesses' results become one. Values of several maps count as one object: map -1.
Value *Translator::on_object(const std::vector<Pointer> &objects, Value *address, const Access &access) {
  std::vector<Pointer> distinct;
  for (const Pointer &object : objects) {
    auto same = std::find_if(distinct.begin(), distinct.end(), [&](const Pointer &p) {
      return p.space == Space::map_value && object.space == Space::map_value;
    });
    if (same == distinct.end()) {
      distinct.push_back(object);
    } else {
      same->map = -1;
      same->align = std::min(same->align, object.align);
    }
  }
  BasicBlock *done = distinct.size() > 1 ? b_.block("accessed") : nullptr;
  std::vector<std::pair<Value *, BasicBlock *>> results;
  for (size_t i = 0; i < distinct.size(); ++i) {
    BasicBlock *other = nullptr;
    if (i + 1 < distinct.size()) {
      BasicBlock *here = b_.block("object");
      b_.CreateCondBr(points_into(distinct[i], address), here, other = b_.block("object.other"));
      b_.enter(here);
    }
    results.push_back({access(distinct[i]), b_.GetInsertBlock()});
    if (done) b_.CreateBr(done);
    if (other) b_.enter(other);
  }
  if (!done) return results[0].first;
  b_.enter(done);
  if (!results[0].first) return nullptr;
  llvm::PHINode *result = b_.CreatePHI(results[0].first->getType(), static_cast<unsigned>(results.size()));
  for (const auto &[value, block] : results) result->addIncoming(value, block);
  return result;
}

// An integer of `bytes` bytes.
Value *Translator::load_memory(int index, const Pointer &memory, Reg base, int64_t offset, int bytes) {
  auto size = static_cast<uint64_t>(bytes);
  llvm::Type *type = b_.getIntNTy(static_cast<unsigned>(8 * bytes));
  switch (memory.space) {
    case Space::ctx:
      return load_ctx(index, memory.offset.value_or(0), bytes);
    case Space::cookie: {
      auto shift = static_cast<uint64_t>(8 * memory.offset.value_or(0));
      return b_.CreateTrunc(b_.CreateLShr(load_cookie(), shift), type);
    }
    case Space::stack: {
      uint64_t align;
      Value *pointer = stack_pointer(index, memory, get(base), offset, size, &align);
      return b_.load_integer(pointer, size, align);
    }
    case Space::map_value: {
      if (const uint8_t *known = constant_bytes(memory, size))
        return integer_of(b_, {nullptr, 1, known}, 0, size);
      Value *pointer = device_pointer(base, offset);
      auto *load = b_.CreateAlignedLoad(type, pointer, llvm::Align(size));
      // Other SMs write maps: a relaxed load sees that, a weak one may come from an old L1 line.
      if (memory.map < 0 || !object_.maps[static_cast<size_t>(memory.map)].read_only)
        load->setAtomic(llvm::AtomicOrdering::Monotonic);
      return load;
    }
    case Space::device:
      return b_.load_integer(device_pointer(base, offset), size, 1);
    default:
      fail(index, "internal: load from unknown memory");
      return llvm::ConstantInt::get(type, 0);
  }
}

// Stores the low `bytes` bytes of an i64.
void Translator::store_memory(int index, const Pointer &memory, Reg base, int64_t offset, int bytes,
                              Value *value) {
  auto size = static_cast<uint64_t>(bytes);
  switch (memory.space) {
    case Space::cookie: {
      auto shift = static_cast<uint64_t>(8 * memory.offset.value_or(0));
      if (bytes == 8) return store_cookie(value);
      uint64_t mask = ((uint64_t{1} << (8 * bytes)) - 1) << shift;
      Value *kept = b_.CreateAnd(load_cookie(), b_.i64(~mask));
      return store_cookie(b_.CreateOr(kept, b_.CreateAnd(b_.CreateShl(value, shift), b_.i64(mask))));
    }
    case Space::stack: {
      uint64_t align;
      Value *pointer = stack_pointer(index, memory, get(base), offset, size, &align);
      return b_.store_integer(pointer, value, size, align);
    }
    case Space::map_value: {
      Value *pointer = device_pointer(base, offset);
      Value *narrow = b_.CreateTrunc(value, b_.getIntNTy(static_cast<unsigned>(8 * bytes)));
      b_.CreateAlignedStore(narrow, pointer, llvm::Align(size))->setAtomic(llvm::AtomicOrdering::Monotonic);
      return;
    }
    case Space::device:
      return b_.store_integer(device_pointer(base, offset), value, size, 1);
    default:
      fail(index, "internal: store to unknown memory");
  }
}

void Translator::operator_on(int index, const Load &op) {
  Value *value = on_object(facts(index).memory, address_of(op.base, op.offset), [&](const Pointer &memory) {
    return load_memory(index, memory, op.base, op.offset, op.bytes);
  });
  set(op.dst, op.sign_extend ? b_.CreateSExt(value, b_.getInt64Ty()) : b_.CreateZExt(value, b_.getInt64Ty()));
}

void Translator::operator_on(int index, const Store &op) {
  on_object(facts(index).memory, address_of(op.base, op.offset), [&](const Pointer &memory) {
    store_memory(index, memory, op.base, op.offset, op.bytes, get(op.src));
    return nullptr;
  });
}

namespace {

Value *combine(Builder &b, AtomicOp op, Value *old, Value *operand, Value *expected) {
  switch (op) {
    case AtomicOp::add:
      return b.CreateAdd(old, operand);
    case AtomicOp::or_:
      return b.CreateOr(old, operand);
    case AtomicOp::and_:
      return b.CreateAnd(old, operand);
    case AtomicOp::xor_:
      return b.CreateXor(old, operand);
    case AtomicOp::xchg:
      return operand;
    case AtomicOp::cmpxchg:
      return b.CreateSelect(b.CreateICmpEQ(old, expected), operand, old);
  }
  return operand;
}

llvm::AtomicRMWInst::BinOp binary_op(AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return llvm::AtomicRMWInst::Add;
    case AtomicOp::or_:
      return llvm::AtomicRMWInst::Or;
    case AtomicOp::and_:
      return llvm::AtomicRMWInst::And;
    case AtomicOp::xor_:
      return llvm::AtomicRMWInst::Xor;
    default:
      return llvm::AtomicRMWInst::Xchg;
  }
}

}  // namespace

// In device memory an atomic; elsewhere the memory is the thread's own (PTX has no atomics on
// .local) and three plain steps do.
Value *Translator::atomic_memory(int index, const Pointer &memory, const Atomic &op) {
  llvm::Type *type = b_.getIntNTy(8u * op.bytes);
  Value *operand = b_.CreateTrunc(get(op.src), type), *expected = b_.CreateTrunc(get(Reg{0}), type);
  if (memory.space != Space::map_value && memory.space != Space::device) {
    Value *old = load_memory(index, memory, op.base, op.offset, op.bytes);
    Value *combined = combine(b_, op.op, old, operand, expected);
    store_memory(index, memory, op.base, op.offset, op.bytes, b_.CreateZExt(combined, b_.getInt64Ty()));
    return old;
  }
  Value *pointer = device_pointer(op.base, op.offset);
  auto relaxed = llvm::AtomicOrdering::Monotonic;
  llvm::Align align(op.bytes);
  if (op.op != AtomicOp::cmpxchg)
    return b_.CreateAtomicRMW(binary_op(op.op), pointer, operand, align, relaxed);
  return b_.CreateExtractValue(b_.CreateAtomicCmpXchg(pointer, expected, operand, align, relaxed, relaxed),
                               0);
}

void Translator::operator_on(int index, const Atomic &op) {
  Value *old = on_object(facts(index).memory, address_of(op.base, op.offset),
                         [&](const Pointer &memory) { return atomic_memory(index, memory, op); });
  if (op.op == AtomicOp::cmpxchg)
    set(Reg{0}, b_.CreateZExt(old, b_.getInt64Ty()));
  else if (op.fetch || op.op == AtomicOp::xchg)
    set(op.src, b_.CreateZExt(old, b_.getInt64Ty()));
}

}  // namespace egpu::bpf
