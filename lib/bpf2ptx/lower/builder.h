// What every part of lowering builds with: an IRBuilder that knows inline PTX, free symbols,
// special registers and memory of odd alignment.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace egpu::bpf {

constexpr unsigned kGlobal = 1;  // NVPTX address space of device memory

class Builder : public llvm::IRBuilder<> {
 public:
  explicit Builder(llvm::Function *function);

  llvm::Value *i32(uint64_t value) { return getInt32(static_cast<uint32_t>(value)); }
  llvm::Value *i64(uint64_t value) { return getInt64(value); }

  /// The value of a free symbol of the body ABI, .b32 or .b64. It touches no memory, so that
  /// LLVM may move or drop it. The function's first block must have been left.
  llvm::Value *symbol32(const std::string &name);
  llvm::Value *symbol64(const std::string &name);

  /// The address of map `index`'s block, or of this SM's copy of it; known not to be 0.
  llvm::Value *map_base(int index);
  llvm::Value *shard_base(int index);

  /// A special register that does not change while the program runs: "%smid".
  llvm::Value *special32(const std::string &name);

  /// Inline PTX that must stay where it is; it clobbers memory if `memory`.
  llvm::Value *ptx(const std::string &text, const std::string &constraints, llvm::Type *result,
                   llvm::ArrayRef<llvm::Value *> arguments = {}, bool memory = false);
  /// The same of what the lanes of a warp do together: it stays under the branches it is under.
  llvm::Value *together(const std::string &text, const std::string &constraints, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> arguments = {});

  llvm::Value *global_pointer(llvm::Value *address);
  llvm::Value *byte_offset(llvm::Value *pointer, llvm::Value *bytes);
  llvm::Value *byte_offset(llvm::Value *pointer, uint64_t bytes) { return byte_offset(pointer, i64(bytes)); }

  /// `size_bytes` (1 to 8) as an integer of that width, in pieces if `align` is smaller.
  llvm::Value *load_integer(llvm::Value *pointer, uint64_t size_bytes, uint64_t align);
  void store_integer(llvm::Value *pointer, llvm::Value *value, uint64_t size_bytes, uint64_t align);

  llvm::BasicBlock *block(const char *name);
  void enter(llvm::BasicBlock *block) { SetInsertPoint(block); }
  /// Branches to `block` and goes on there.
  void flow_into(llvm::BasicBlock *block);

  llvm::AllocaInst *local(llvm::Type *type, const char *name, uint64_t align = 8);

 private:
  llvm::Value *address_symbol(const std::string &name);
  llvm::Value *pure(const std::string &name, const char *move, const char *constraints, llvm::Type *result);

  llvm::Function *function_;
  std::map<std::string, llvm::Value *> reads_;
};

/// The key or value that a helper's argument points to: its bytes, wherever they are.
struct Bytes {
  llvm::Value *pointer = nullptr;  // null: `constant`
  uint64_t align = 1;
  const uint8_t *constant = nullptr;  // known contents, in .rodata
};

/// Bytes [at, at + size) of `bytes` as an integer.
llvm::Value *integer_of(Builder &b, const Bytes &bytes, uint64_t at, uint64_t size_bytes);

}  // namespace egpu::bpf
