// Translates the instructions of one program, function by function, in place.
//
// Registers are i64 slots that LLVM turns into values. A register holds a map value's device
// address as it is; a pointer to the stack as kFrameTop plus the distance from r10, so that no
// alloca's address becomes an integer; ctx and cookie as arbitrary numbers, because accesses
// through them are told by the verifier's facts.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/bpf2ptx/lower/builder.h"
#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

constexpr size_t kMaxFrames = 8;
constexpr uint64_t kFrameBytes = 512;
constexpr uint64_t kFrameTop = 0x10000, kCtxPointer = 0x20000, kCookiePointer = 0x30000;

class Translator {
 public:
  Translator(const Program &program, const Object &object, const Facts &facts, llvm::Function *function);

  /// Fills the function. Error: a diagnostic with its source line.
  Result<Ok> run();

 private:
  struct Region {
    int64_t begin, end;  // from r10
    int64_t base;        // what the alloca's first byte stands for
    llvm::AllocaInst *memory;
  };
  // One call in progress: a subprogram's registers, stack and way back.
  struct Instance {
    int begin, end;
    std::vector<llvm::AllocaInst *> registers;
    std::vector<Region> regions;
    std::map<int, llvm::BasicBlock *> blocks;
    llvm::BasicBlock *exit;
  };

  // translate.cc: control flow and registers
  void translate_function(int begin, llvm::ArrayRef<llvm::Value *> arguments, llvm::Value **result);
  void translate_insn(int index);
  void open_instance(int begin);
  llvm::Value *frame_pointer();
  llvm::BasicBlock *block_of(int index);
  llvm::Value *get(Reg reg);
  llvm::Value *get(const Operand &operand);
  llvm::Value *get32(const Operand &operand);
  void set(Reg reg, llvm::Value *value);
  void set32(Reg reg, llvm::Value *value);
  void fail(int index, const std::string &text);
  const InsnFacts &facts(int index) const { return facts_.insns[static_cast<size_t>(index)]; }

  void operator_on(int index, const Alu &op);
  void operator_on(int index, const Neg &op);
  void operator_on(int index, const Mov &op);
  void operator_on(int index, const Endian &op);
  void operator_on(int index, const LoadImm64 &op);
  void operator_on(int index, const LoadMap &op);
  void operator_on(int index, const LoadMapValue &op);
  void operator_on(int index, const LoadFunction &op);
  void operator_on(int index, const Load &op);
  void operator_on(int index, const Store &op);
  void operator_on(int index, const Atomic &op);
  void operator_on(int index, const Jump &op);
  void operator_on(int index, const JumpIf &op);
  void operator_on(int index, const CallHelper &op);
  void operator_on(int index, const CallLocal &op);
  void operator_on(int index, const Exit &op);

  // memory.cc
  void make_regions(Instance *instance, int frame);
  llvm::Value *stack_pointer(int index, const Pointer &pointer, llvm::Value *register_value, int64_t offset,
                             uint64_t size_bytes, uint64_t *align);
  llvm::Value *load_ctx(int index, int64_t offset, int bytes);
  const uint8_t *constant_bytes(const Pointer &pointer, uint64_t size_bytes) const;
  llvm::Value *device_pointer(Reg base, int64_t offset);
  llvm::Value *load_cookie();
  void store_cookie(llvm::Value *value);
  llvm::Value *load_memory(int index, Reg base, int64_t offset, int bytes);
  void store_memory(int index, Reg base, int64_t offset, int bytes, llvm::Value *value);

  // helpers.cc
  using HelperCode = llvm::Value *(Translator::*)(int index);
  struct HelperRow {
    int32_t id;
    HelperCode code;
  };
  static const HelperRow kHelpers[];
  Bytes bytes_argument(int index, int argument, uint64_t size_bytes);
  int map_argument(int index) const;
  llvm::Value *map_lookup(int index);
  llvm::Value *map_update(int index);
  llvm::Value *ktime(int index);
  llvm::Value *prandom(int index);
  llvm::Value *smp_processor_id(int index);
  llvm::Value *trace_printk(int index);
  llvm::Value *loop(int index);
  llvm::Value *cookie(int index);
  llvm::Value *clock(int index);
  llvm::Value *log2_slot(int index);

  const Program &program_;
  const Object &object_;
  const Facts &facts_;
  Builder b_;
  std::vector<Instance> stack_;
  size_t translated_ = 0;
  std::string error_;
};

}  // namespace egpu::bpf
