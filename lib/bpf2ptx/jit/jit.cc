#include "lib/bpf2ptx/jit/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "lib/bpf2ptx/emit/emit.h"
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/lower/lower.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace egpu::bpf {
namespace {

Error from_llvm(llvm::Error error) { return Error{"LLVM: " + llvm::toString(std::move(error))}; }

// Statements that read one symbol into a register: lower/builder.cc, `pure`.
constexpr std::array kReads = {"mov.b32 $0, ", "mov.b64 $0, ", "mov.u32 $0, ", "mov.u64 $0, ",
                               "cvt.u32.u64 $0, "};

// The symbol that the statement reads; empty: it does something else.
std::string symbol_read(const std::string &statement) {
  for (const char *read : kReads)
    if (statement.starts_with(read) && statement.ends_with(';')) {
      std::string symbol = statement.substr(std::string(read).size());
      symbol.pop_back();
      return symbol;
    }
  return {};
}

// A function of one argument, the row of symbols, with the body of `old`, which disappears.
llvm::Function *with_symbol_row(llvm::Function *old, const std::string &name) {
  llvm::LLVMContext &context = old->getContext();
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::PointerType::getUnqual(context)}, false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, old->getParent());
  function->setDoesNotThrow();
  function->splice(function->begin(), old);
  old->eraseFromParent();
  return function;
}

class OrcCode : public HostCode {
 public:
  Result<Ok> open() {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeX86TargetInfo();
      LLVMInitializeX86Target();
      LLVMInitializeX86TargetMC();
      LLVMInitializeX86AsmPrinter();
    });
    auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!host) return from_llvm(host.takeError());
    // Our own passes have run when code is made of the module. Not None: LLVM 19's fast selector folds a load
    // into its only user without seeing that a store lies between, if the user leads, around the loop, to
    // that store. Here %old is read after the store (llc -O0); the NVPTX back end has no fast selector:
    //   loop: %x = phi i64 [1, %entry], [%next, %loop]
    //         %old = load i32, ptr %p
    //         %low = trunc i64 %x to i32
    //         store i32 %low, ptr %p
    //         %next = zext i32 %old to i64
    //         br label %loop
    host->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
    host_ = *host;
    auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(*host).create();
    if (!jit) return from_llvm(jit.takeError());
    jit_ = std::move(*jit);
    auto context = std::make_unique<llvm::LLVMContext>();
    module_ = std::make_unique<llvm::Module>("programs", *context);
    context_ = llvm::orc::ThreadSafeContext(std::move(context));
    module_->setDataLayout(jit_->getDataLayout());
    module_->setTargetTriple(jit_->getTargetTriple().str());
    return Ok{};
  }

  Result<Ok> add(const Program &program, const Object &object, const Facts &facts) override {
    TRY(Ok lowered, lower(program, object, facts, module_.get()));
    (void)lowered;
    std::string name = format("prog_{}", symbols_.size());
    llvm::Function *function = with_symbol_row(module_->getFunction("prog"), name);
    std::vector<std::string> symbols;
    TRY(Ok read, read_symbols_from_row(function, &symbols));
    (void)read;
    symbols_.push_back(std::move(symbols));
    return Ok{};
  }

  Result<Ok> finish(int opt_level) override {
    auto machine = host_->createTargetMachine();
    if (!machine) return from_llvm(machine.takeError());
    TRY(Ok optimized, run_passes(module_.get(), machine->get(), opt_level));
    (void)optimized;
    if (auto wrong = jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module_), context_)))
      return from_llvm(std::move(wrong));
    for (size_t i = 0; i < symbols_.size(); ++i) {
      auto address = jit_->lookup(format("prog_{}", i));
      if (!address) return from_llvm(address.takeError());
      code_.push_back(address->toPtr<Code>());
    }
    return Ok{};
  }

  const std::vector<std::string> &symbols(size_t number) const override { return symbols_[number]; }

  void run(size_t number, const std::vector<uint64_t> &values) const override {
    code_[number](values.data());
  }

 private:
  using Code = void (*)(const uint64_t *);

  Result<Ok> read_symbols_from_row(llvm::Function *function, std::vector<std::string> *symbols) {
    std::vector<llvm::CallInst *> calls;
    for (llvm::Instruction &insn : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&insn); call && call->isInlineAsm())
        calls.push_back(call);
    for (llvm::CallInst *call : calls) {
      std::string statement =
          std::string(llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
      std::string symbol = symbol_read(statement);
      if (symbol.empty()) {
        function->eraseFromParent();
        return Error{"no x86-64 form of: " + statement};
      }
      auto at = std::find(symbols->begin(), symbols->end(), symbol) - symbols->begin();
      if (static_cast<size_t>(at) == symbols->size()) symbols->push_back(symbol);
      llvm::IRBuilder<> b(call);
      llvm::Value *slot =
          b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(0), static_cast<uint64_t>(at));
      llvm::Value *value = b.CreateLoad(b.getInt64Ty(), slot);
      call->replaceAllUsesWith(b.CreateTruncOrBitCast(value, call->getType()));
      call->eraseFromParent();
    }
    return Ok{};
  }

  std::optional<llvm::orc::JITTargetMachineBuilder> host_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::ThreadSafeContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::vector<std::vector<std::string>> symbols_;
  std::vector<Code> code_;
};

}  // namespace

Result<std::unique_ptr<HostCode>> HostCode::create() {
  auto code = std::make_unique<OrcCode>();
  TRY(Ok opened, code->open());
  (void)opened;
  return std::unique_ptr<HostCode>(std::move(code));
}

}  // namespace egpu::bpf
