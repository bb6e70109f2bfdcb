#include "lib/bpf2ptx/lower/lower.h"

#include <llvm/IR/Module.h>

#include "lib/bpf2ptx/lower/translator.h"

namespace egpu::bpf {

Result<Ok> lower(const Program &program, const Object &object, const Facts &facts, llvm::Module *module) {
  llvm::LLVMContext &context = module->getContext();
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "prog", module);
  function->setDoesNotThrow();
  return Translator(program, object, facts, function).run();
}

}  // namespace egpu::bpf
