// Control flow, registers and arithmetic. Semantics: RFC 9669.
#include "lib/bpf2ptx/lower/map_code.h"
#include "lib/bpf2ptx/lower/translator.h"

namespace egpu::bpf {

using llvm::Value;

namespace {

std::string diagnostic(const Program &program, int index, const std::string &text) {
  const Insn &insn = program.insns[static_cast<size_t>(index)];
  if (insn.source < 0) return program.name + ": instruction " + std::to_string(index) + ": error: " + text;
  const SourceLine &line = program.lines[static_cast<size_t>(insn.source)];
  size_t column = line.column > 0 ? line.column - 1 : 0;
  std::string pad;
  for (size_t i = 0; i < column; ++i) pad += i < line.text.size() && line.text[i] == '\t' ? '\t' : ' ';
  return line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column) +
         ": error: " + text + "\n" + line.text + "\n" + pad + "^";
}

}  // namespace

Translator::Translator(const Program &program, const Object &object, const Facts &facts,
                       llvm::Function *function)
    : program_(program), object_(object), facts_(facts), b_(function) {}

void Translator::fail(int index, const std::string &text) {
  if (error_.empty()) error_ = diagnostic(program_, index, text);
}

Result<Ok> Translator::run() {
  b_.enter(b_.block("entry"));
  b_.flow_into(b_.block("program"));
  Value *result = nullptr;
  translate_function(0, {b_.i64(kCtxPointer)}, &result);
  b_.CreateRetVoid();
  if (!error_.empty()) return Error{error_};
  return Ok{};
}

// Translates the chain's function at the builder's position and goes on behind it; *result is
// its r0.
void Translator::translate_function(int chain_index, llvm::ArrayRef<Value *> arguments, Value **result) {
  open_instance(chain_index);
  int begin = chain().begin, end = chain().end;
  // What an unverified program reads before it writes it is 0, as the interpreter has it.
  for (uint8_t i = 0; facts_.stack_map >= 0 && i < 10; ++i) set(Reg{i}, b_.i64(0));
  for (size_t i = 0; i < arguments.size(); ++i) set(Reg{static_cast<uint8_t>(i + 1)}, arguments[i]);
  set(Reg{10}, frame_pointer());
  b_.CreateBr(block_of(begin));
  for (int index = begin; index < end && error_.empty(); ++index) {
    if (!facts(index).reachable) continue;
    b_.enter(block_of(index));
    translate_insn(index);
    if (!b_.GetInsertBlock()->getTerminator()) b_.CreateBr(block_of(index + 1));
  }
  // Blocks that only never-taken branches name.
  for (auto &[index, block] : stack_.back().blocks)
    if (block->empty()) {
      b_.enter(block);
      b_.CreateUnreachable();
    }
  b_.enter(stack_.back().exit);
  *result = get(Reg{0});
  stack_.pop_back();
}

Value *Translator::frame_pointer() {
  if (facts_.stack_map < 0) return b_.i64(kFrameTop + kFrameDistance * (stack_.size() - 1));
  uint64_t top = kFrameBytes * stack_.size();
  return MapCode(b_, object_.maps[static_cast<size_t>(facts_.stack_map)], facts_.stack_map)
      .global_address(top);
}

void Translator::open_instance(int chain_index) {
  Instance instance;
  instance.chain = chain_index;
  for (int i = 0; i <= 10; ++i) instance.registers.push_back(b_.local(b_.getInt64Ty(), "r"));
  make_regions(&instance);
  instance.exit = b_.block("exit");
  stack_.push_back(std::move(instance));
}

llvm::BasicBlock *Translator::block_of(int index) {
  llvm::BasicBlock *&block = stack_.back().blocks[index];
  if (!block) block = b_.block("insn");
  return block;
}

Value *Translator::get(Reg reg) { return b_.CreateLoad(b_.getInt64Ty(), stack_.back().registers[reg.n]); }

Value *Translator::get(const Operand &operand) {
  if (const auto *imm = std::get_if<Imm>(&operand)) return b_.i64(static_cast<uint64_t>(int64_t{imm->value}));
  return get(std::get<Reg>(operand));
}

Value *Translator::get32(const Operand &operand) { return b_.CreateTrunc(get(operand), b_.getInt32Ty()); }

void Translator::set(Reg reg, Value *value) { b_.CreateStore(value, stack_.back().registers[reg.n]); }

void Translator::set32(Reg reg, Value *value) { set(reg, b_.CreateZExt(value, b_.getInt64Ty())); }

void Translator::translate_insn(int index) {
  // The verifier has refused more, of a program that it has seen.
  if (++translated_ > kMaxPlaced)
    return fail(index, "the program is too large once its calls are put in place");
  std::visit([&](const auto &op) { operator_on(index, op); }, program_.insns[static_cast<size_t>(index)].op);
}

namespace {

// RFC 9669, 4.1: x / 0 = 0, x % 0 = x; the smallest number / -1 is itself, its remainder 0.
// The divisor is replaced before the division: LLVM's division by zero is undefined even if
// its result is not selected.
Value *divide(Builder &b, AluOp op, Value *n, Value *d, bool nonzero) {
  llvm::Type *type = n->getType();
  Value *zero = llvm::ConstantInt::get(type, 0), *one = llvm::ConstantInt::get(type, 1);
  Value *minus_one = llvm::ConstantInt::getSigned(type, -1);
  bool is_signed = op == AluOp::sdiv || op == AluOp::smod;
  bool remainder = op == AluOp::mod || op == AluOp::smod;
  Value *by_zero = nonzero ? b.getFalse() : b.CreateICmpEQ(d, zero);
  Value *safe = b.CreateSelect(by_zero, one, d), *result;
  if (!is_signed) {
    result = remainder ? b.CreateURem(n, safe) : b.CreateUDiv(n, safe);
  } else {
    Value *by_minus_one = b.CreateICmpEQ(d, minus_one);
    safe = b.CreateSelect(by_minus_one, one, safe);
    result = remainder ? b.CreateSRem(n, safe) : b.CreateSDiv(n, safe);
    result = b.CreateSelect(by_minus_one, remainder ? zero : b.CreateNeg(n), result);
  }
  return b.CreateSelect(by_zero, remainder ? n : zero, result);
}

Value *compute(Builder &b, AluOp op, Value *a, Value *s, bool divisor_nonzero) {
  // Shifts use the low 5 or 6 bits of the distance.
  Value *distance =
      b.CreateAnd(s, llvm::ConstantInt::get(s->getType(), s->getType()->getIntegerBitWidth() - 1));
  switch (op) {
    case AluOp::add:
      return b.CreateAdd(a, s);
    case AluOp::sub:
      return b.CreateSub(a, s);
    case AluOp::mul:
      return b.CreateMul(a, s);
    case AluOp::or_:
      return b.CreateOr(a, s);
    case AluOp::and_:
      return b.CreateAnd(a, s);
    case AluOp::xor_:
      return b.CreateXor(a, s);
    case AluOp::lsh:
      return b.CreateShl(a, distance);
    case AluOp::rsh:
      return b.CreateLShr(a, distance);
    case AluOp::arsh:
      return b.CreateAShr(a, distance);
    case AluOp::div:
    case AluOp::sdiv:
    case AluOp::mod:
    case AluOp::smod:
      return divide(b, op, a, s, divisor_nonzero);
  }
  return a;
}

Value *compare(Builder &b, CmpOp op, Value *a, Value *s) {
  switch (op) {
    case CmpOp::eq:
      return b.CreateICmpEQ(a, s);
    case CmpOp::ne:
      return b.CreateICmpNE(a, s);
    case CmpOp::gt:
      return b.CreateICmpUGT(a, s);
    case CmpOp::ge:
      return b.CreateICmpUGE(a, s);
    case CmpOp::lt:
      return b.CreateICmpULT(a, s);
    case CmpOp::le:
      return b.CreateICmpULE(a, s);
    case CmpOp::sgt:
      return b.CreateICmpSGT(a, s);
    case CmpOp::sge:
      return b.CreateICmpSGE(a, s);
    case CmpOp::slt:
      return b.CreateICmpSLT(a, s);
    case CmpOp::sle:
      return b.CreateICmpSLE(a, s);
    case CmpOp::set:
      return b.CreateICmpNE(b.CreateAnd(a, s), llvm::ConstantInt::get(a->getType(), 0));
  }
  return b.getFalse();
}

}  // namespace

void Translator::operator_on(int index, const Alu &op) {
  bool nonzero = facts(index).divisor_nonzero;
  if (op.is64)
    set(op.dst, compute(b_, op.op, get(op.dst), get(op.src), nonzero));
  else
    set32(op.dst, compute(b_, op.op, get32(Operand{op.dst}), get32(op.src), nonzero));
}

void Translator::operator_on(int, const Neg &op) {
  if (op.is64)
    set(op.dst, b_.CreateNeg(get(op.dst)));
  else
    set32(op.dst, b_.CreateNeg(get32(Operand{op.dst})));
}

void Translator::operator_on(int, const Mov &op) {
  Value *value = op.is64 ? get(op.src) : get32(op.src);
  if (op.sign_extend_bits != 0)
    value = b_.CreateSExt(b_.CreateTrunc(value, b_.getIntNTy(op.sign_extend_bits)), value->getType());
  if (op.is64)
    set(op.dst, value);
  else
    set32(op.dst, value);
}

void Translator::operator_on(int, const Endian &op) {
  Value *value = b_.CreateTrunc(get(op.dst), b_.getIntNTy(op.bits));
  if (op.op != EndianOp::to_le)
    value = b_.CreateUnaryIntrinsic(llvm::Intrinsic::bswap, value);  // GPUs are little endian
  set(op.dst, b_.CreateZExt(value, b_.getInt64Ty()));
}

void Translator::operator_on(int, const LoadImm64 &op) { set(op.dst, b_.i64(op.value)); }

void Translator::operator_on(int, const LoadMap &op) { set(op.dst, b_.i64(static_cast<uint64_t>(op.map))); }

void Translator::operator_on(int, const LoadMapValue &op) {
  set(op.dst, MapCode(b_, object_.maps[static_cast<size_t>(op.map)], op.map).global_address(op.offset));
}

void Translator::operator_on(int, const LoadFunction &op) {
  set(op.dst, b_.i64(static_cast<uint64_t>(op.target)));
}

void Translator::operator_on(int, const Jump &op) { b_.CreateBr(block_of(op.target)); }

void Translator::operator_on(int index, const JumpIf &op) {
  llvm::BasicBlock *taken = block_of(op.target), *next = block_of(index + 1);
  if (facts(index).always_taken || facts(index).never_taken) {
    b_.CreateBr(facts(index).always_taken ? taken : next);
    return;
  }
  Value *lhs = op.is64 ? get(op.lhs) : get32(Operand{op.lhs});
  Value *rhs = op.is64 ? get(op.rhs) : get32(op.rhs);
  b_.CreateCondBr(compare(b_, op.op, lhs, rhs), taken, next);
}

void Translator::operator_on(int index, const CallHelper &op) {
  const HelperRow *row = nullptr;
  for (const HelperRow *candidate = kHelpers; candidate->code; ++candidate)
    if (candidate->id == op.id) row = candidate;
  if (!row) return fail(index, "helper " + std::to_string(op.id) + " has no code on the GPU");
  const std::vector<HelperCall> &calls = facts(index).calls;
  llvm::BasicBlock *done = b_.block("called");
  for (size_t i = 0; i < calls.size(); ++i) {
    llvm::BasicBlock *other = nullptr;
    if (i + 1 < calls.size()) {
      llvm::BasicBlock *here = b_.block("call");
      b_.CreateCondBr(is_made(calls[i]), here, other = b_.block("call.other"));
      b_.enter(here);
    }
    set(Reg{0}, (this->*row->code)(index, calls[i]));
    b_.CreateBr(done);
    if (other) b_.enter(other);
  }
  b_.enter(done);
}

// The chain of a function that is called here, -1 if no path calls it. An unverified program has one
// chain for each function.
int Translator::callee(int call, int function) const {
  if (facts_.stack_map >= 0) return facts_.callee(0, 0, function);
  return facts_.callee(stack_.back().chain, call, function);
}

void Translator::operator_on(int index, const CallLocal &op) {
  if (stack_.size() >= kMaxFrames) return fail(index, "calls are nested more than 8 deep");
  std::vector<Value *> arguments;
  for (uint8_t i = 1; i <= 5; ++i) arguments.push_back(get(Reg{i}));
  Value *result = nullptr;
  translate_function(callee(index, op.target), arguments, &result);
  set(Reg{0}, result);
}

void Translator::operator_on(int, const Exit &) { b_.CreateBr(stack_.back().exit); }

}  // namespace egpu::bpf
