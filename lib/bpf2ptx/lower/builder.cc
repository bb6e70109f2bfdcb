#include "lib/bpf2ptx/lower/builder.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace egpu::bpf {

using llvm::Type;
using llvm::Value;

Builder::Builder(llvm::Function *function) : llvm::IRBuilder<>(function->getContext()), function_(function) {}

// Read once, at the start of the function; LLVM's sink pass moves the read to where it is used.
Value *Builder::pure(const std::string &name, const char *move, const char *constraints, Type *result) {
  Value *&value = reads_[name];
  if (value) return value;
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, false),
                                        std::string(move) + " $0, " + name + ";", constraints, false);
  llvm::BasicBlock &entry = function_->getEntryBlock();
  llvm::CallInst *call = llvm::IRBuilder<>(&entry, entry.getTerminator()->getIterator()).CreateCall(assembly);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return value = call;
}

Value *Builder::symbol32(const std::string &name) { return pure(name, "mov.b32", "=r", getInt32Ty()); }
Value *Builder::symbol64(const std::string &name) { return pure(name, "mov.b64", "=l", getInt64Ty()); }
Value *Builder::special32(const std::string &name) { return pure(name, "mov.u32", "=r", getInt32Ty()); }

Value *Builder::map_base(int index) { return address_symbol("egpu_map_" + std::to_string(index)); }
Value *Builder::shard_base(int index) { return address_symbol("egpu_shard_" + std::to_string(index)); }

Value *Builder::address_symbol(const std::string &name) {
  Value *base = symbol64(name);
  // All 64-bit numbers from 1 on.
  llvm::MDBuilder metadata(getContext());
  llvm::cast<llvm::CallInst>(base)->setMetadata(llvm::LLVMContext::MD_range,
                                                metadata.createRange(llvm::APInt(64, 1), llvm::APInt(64, 0)));
  return base;
}

Value *Builder::ptx(const std::string &text, const std::string &constraints, Type *result,
                    llvm::ArrayRef<Value *> arguments, bool memory) {
  std::vector<Type *> types;
  for (Value *argument : arguments) types.push_back(argument->getType());
  auto *type = llvm::FunctionType::get(result, types, false);
  auto *assembly = llvm::InlineAsm::get(type, text, constraints + (memory ? ",~{memory}" : ""), true);
  llvm::CallInst *call = CreateCall(assembly, arguments);
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  if (!memory) call->setOnlyAccessesInaccessibleMemory();
  return call;
}

Value *Builder::together(const std::string &text, const std::string &constraints, Type *result,
                         llvm::ArrayRef<Value *> arguments) {
  auto *call = llvm::cast<llvm::CallInst>(ptx(text, constraints, result, arguments));
  call->setConvergent();
  return call;
}

Value *Builder::global_pointer(Value *address) {
  return CreateIntToPtr(address, llvm::PointerType::get(getContext(), kGlobal));
}

Value *Builder::byte_offset(Value *pointer, Value *bytes) { return CreateGEP(getInt8Ty(), pointer, bytes); }

Value *Builder::load_integer(Value *pointer, uint64_t size_bytes, uint64_t align) {
  uint64_t piece = std::min(std::bit_floor(size_bytes), std::max<uint64_t>(align, 1));
  Type *type = getIntNTy(static_cast<unsigned>(8 * size_bytes));
  Value *result = nullptr;
  for (uint64_t at = 0; at < size_bytes;) {
    uint64_t count = std::min(piece, std::bit_floor(size_bytes - at));
    Value *part = CreateAlignedLoad(getIntNTy(static_cast<unsigned>(8 * count)), byte_offset(pointer, at),
                                    llvm::Align(count));
    part = CreateZExt(part, type);
    if (at > 0) part = CreateShl(part, 8 * at);
    result = result ? CreateOr(result, part) : part;
    at += count;
  }
  return result;
}

void Builder::store_integer(Value *pointer, Value *value, uint64_t size_bytes, uint64_t align) {
  uint64_t piece = std::min(std::bit_floor(size_bytes), std::max<uint64_t>(align, 1));
  for (uint64_t at = 0; at < size_bytes;) {
    uint64_t count = std::min(piece, std::bit_floor(size_bytes - at));
    Value *part = at > 0 ? CreateLShr(value, 8 * at) : value;
    part = CreateTrunc(part, getIntNTy(static_cast<unsigned>(8 * count)));
    CreateAlignedStore(part, byte_offset(pointer, at), llvm::Align(count));
    at += count;
  }
}

llvm::BasicBlock *Builder::block(const char *name) {
  return llvm::BasicBlock::Create(getContext(), name, function_);
}

void Builder::flow_into(llvm::BasicBlock *block) {
  CreateBr(block);
  SetInsertPoint(block);
}

llvm::AllocaInst *Builder::local(Type *type, const char *name, uint64_t align) {
  llvm::BasicBlock &entry = function_->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.begin());
  llvm::AllocaInst *slot = first.CreateAlloca(type, nullptr, name);
  slot->setAlignment(llvm::Align(align));
  return slot;
}

Value *integer_of(Builder &b, const Bytes &bytes, uint64_t at, uint64_t size_bytes) {
  if (bytes.constant) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.constant + at, size_bytes);
    return b.getIntN(static_cast<unsigned>(8 * size_bytes), value);
  }
  uint64_t align = at == 0 ? bytes.align : std::min(bytes.align, uint64_t{1} << std::countr_zero(at));
  return b.load_integer(b.byte_offset(bytes.pointer, at), size_bytes, align);
}

}  // namespace egpu::bpf
