// Look-up and update of maps as inline code. Layout: lib/loader/map/layout.h, hash.h.
#pragma once
#include "egpu/bpf2ptx.h"
#include "lib/bpf2ptx/lower/builder.h"

namespace egpu::bpf {

/// Emits code for map `index` of the object at the builder's position.
class MapCode {
 public:
  MapCode(Builder &b, const MapSpec &spec, int index) : b_(b), spec_(spec), index_(index) {}

  /// i64 address of byte `offset` of value 0 in this SM's copy: a global variable.
  llvm::Value *global_address(uint64_t offset);

  /// i64 address of the key's value, 0 if there is none.
  llvm::Value *lookup(const Bytes &key);

  /// i64 result as the kernel's: 0, -EEXIST, -ENOENT, -E2BIG, -EINVAL. `flags` is an i64.
  llvm::Value *update(const Bytes &key, const Bytes &value, llvm::Value *flags);

 private:
  llvm::Value *array_lookup(const Bytes &key);
  llvm::Value *array_update(const Bytes &key, const Bytes &value, llvm::Value *flags);
  llvm::Value *hash_lookup(const Bytes &key);
  llvm::Value *hash_update(const Bytes &key, const Bytes &value, llvm::Value *flags);

  llvm::Value *add(llvm::Value *address, llvm::Value *bytes);
  llvm::Value *base();        // i64 address of the map's block
  llvm::Value *shard_base();  // the same plus this SM's copy
  llvm::Value *value_address(llvm::Value *slot);
  std::vector<llvm::Value *> key_words(const Bytes &key);
  llvm::Value *hash_of(const std::vector<llvm::Value *> &words);
  llvm::Value *key_equals(llvm::Value *slot, const std::vector<llvm::Value *> &words);
  void write_key(llvm::Value *slot, const std::vector<llvm::Value *> &words);
  void write_value(llvm::Value *slot, const Bytes &value, bool fresh);
  llvm::Value *state_address(llvm::Value *slot);
  llvm::Value *load_acquire(llvm::Value *address);
  void store_release(llvm::Value *address, llvm::Value *word);
  llvm::Value *add_in_order(llvm::Value *address, int32_t amount);
  void count_dropped();

  Builder &b_;
  const MapSpec &spec_;
  int index_;
};

}  // namespace egpu::bpf
