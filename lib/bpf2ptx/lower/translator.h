// Translates the instructions of one program, function by function, in place.
//
// Registers are i64 slots that LLVM turns into values. A register holds a map value's device
// address as it is; a pointer to the stack as the frame's number of kFrameTop plus the distance from
// r10, so that no alloca's address becomes an integer; ctx and cookie as other small numbers. The
// verifier's facts say what an address can point into; where that is more than one object, the
// number tells which it is.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/bpf2ptx/lower/builder.h"
#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace egpu::bpf {

constexpr size_t kMaxFrames = 8;
constexpr uint64_t kFrameBytes = 512;
// r10 of frame 0, and from one frame's r10 to the next one's. All are below any device address.
constexpr uint64_t kFrameTop = 0x10000, kFrameDistance = 0x10000;
constexpr uint64_t kCtxPointer = 0x100000, kCookiePointer = 0x110000;

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
    int chain;
    std::vector<llvm::AllocaInst *> registers;
    std::vector<Region> regions;
    std::map<int, llvm::BasicBlock *> blocks;
    llvm::BasicBlock *exit;
  };

  // translate.cc: control flow and registers
  void translate_function(int chain, llvm::ArrayRef<llvm::Value *> arguments, llvm::Value **result);
  void translate_insn(int index);
  void open_instance(int chain);
  llvm::Value *frame_pointer();
  llvm::BasicBlock *block_of(int index);
  llvm::Value *get(Reg reg);
  llvm::Value *get(const Operand &operand);
  llvm::Value *get32(const Operand &operand);
  void set(Reg reg, llvm::Value *value);
  void set32(Reg reg, llvm::Value *value);
  void fail(int index, const std::string &text);
  const Chain &chain() const { return facts_.chains[static_cast<size_t>(stack_.back().chain)]; }
  const InsnFacts &facts(int index) const { return chain().at(index); }
  int callee(int call, int function) const;

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
  void make_regions(Instance *instance);
  llvm::Value *stack_pointer(int index, const Pointer &pointer, llvm::Value *register_value, int64_t offset,
                             uint64_t size_bytes, uint64_t *align);
  llvm::Value *load_ctx(int index, int64_t offset, int bytes);
  const uint8_t *constant_bytes(const Pointer &pointer, uint64_t size_bytes) const;
  llvm::Value *address_of(Reg base, int64_t offset);
  llvm::Value *device_pointer(Reg base, int64_t offset);
  llvm::Value *load_cookie();
  void store_cookie(llvm::Value *value);
  using Access = std::function<llvm::Value *(const Pointer &)>;
  llvm::Value *on_object(const std::vector<Pointer> &objects, llvm::Value *address, const Access &access);
  llvm::Value *points_into(const Pointer &object, llvm::Value *address);
  llvm::Value *load_memory(int index, const Pointer &memory, Reg base, int64_t offset, int bytes);
  void store_memory(int index, const Pointer &memory, Reg base, int64_t offset, int bytes,
                    llvm::Value *value);
  llvm::Value *atomic_memory(int index, const Pointer &memory, const Atomic &op);

  // helpers.cc
  using HelperCode = llvm::Value *(Translator::*)(int index, const HelperCall &call);
  struct HelperRow {
    int32_t id;
    HelperCode code;
  };
  static const HelperRow kHelpers[];
  llvm::Value *is_made(const HelperCall &call);
  Bytes bytes_argument(int index, const HelperCall &call, int argument, uint64_t size_bytes);
  Bytes bytes_at(int index, const Pointer &pointer, llvm::Value *address, uint64_t size_bytes);
  llvm::Value *map_lookup(int index, const HelperCall &call);
  llvm::Value *map_update(int index, const HelperCall &call);
  llvm::Value *ktime(int index, const HelperCall &call);
  llvm::Value *prandom(int index, const HelperCall &call);
  llvm::Value *smp_processor_id(int index, const HelperCall &call);
  llvm::Value *trace_printk(int index, const HelperCall &call);
  llvm::Value *loop(int index, const HelperCall &call);
  llvm::Value *cookie(int index, const HelperCall &call);
  llvm::Value *clock(int index, const HelperCall &call);
  llvm::Value *ballot(int index, const HelperCall &call);
  llvm::Value *log2_slot(int index, const HelperCall &call);

  const Program &program_;
  const Object &object_;
  const Facts &facts_;
  Builder b_;
  std::vector<Instance> stack_;
  size_t translated_ = 0;
  std::string error_;
};

}  // namespace egpu::bpf
