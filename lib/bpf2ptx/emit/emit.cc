#include "lib/bpf2ptx/emit/emit.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <mutex>

// The only target that is linked in; llvm/Support/TargetSelect.h would name all of them.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace egpu::bpf {
namespace {

constexpr const char *kTriple = "nvptx64-nvidia-cuda";

// No loop idioms (memset calls), no switch tables, no vectorizers: see emit.h.
constexpr const char *kPasses =
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,jump-threading,"
    "correlated-propagation,"
    "simplifycfg,reassociate,loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,loop("
    "indvars,loop-deletion,"
    "loop-unroll-full),sroa<modify-cfg>,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,jump-threading,"
    "correlated-propagation,dse,adce,"
    "simplifycfg,instcombine<no-verify-fixpoint>,sink,lower-switch)";
constexpr const char *kFewPasses =
    "function(sroa<modify-cfg>,simplifycfg,instcombine<no-verify-fixpoint>,adce,lower-switch)";

// What LLVM 19 can emit for, newest last; PTX versions are the oldest that know the target.
struct ArchRow {
  int number;
  const char *cpu, *features;
};
constexpr std::array kArchs = {
    ArchRow{75, "sm_75", "+ptx63"}, ArchRow{80, "sm_80", "+ptx70"}, ArchRow{86, "sm_86", "+ptx71"},
    ArchRow{87, "sm_87", "+ptx74"}, ArchRow{89, "sm_89", "+ptx78"}, ArchRow{90, "sm_90", "+ptx78"},
};

Result<int> arch_number(const std::string &arch) {
  Error bad{"--arch: not one of sm_75 to sm_120: '" + arch + "'"};
  if (!arch.starts_with("sm_")) return bad;
  std::string digits = arch.substr(3);
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.pop_back();
  if (digits.size() < 2 || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
    return bad;
  int number = std::stoi(digits);
  if (number < 75 || number > 121) return bad;
  return number;
}

thread_local std::jmp_buf *rescue = nullptr;
thread_local std::string fatal_reason;

void on_fatal_error(void *, const char *reason, bool) {
  fatal_reason = reason;
  if (rescue) std::longjmp(*rescue, 1);
  std::fprintf(stderr, "egpu: error: LLVM: %s\n", reason);
  std::_Exit(1);
}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const std::string &arch) {
  initialize_llvm();
  TRY(int number, arch_number(arch));
  const ArchRow *row = &kArchs[0];
  for (const ArchRow &candidate : kArchs)
    if (candidate.number <= number) row = &candidate;
  std::string reason;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(kTriple, reason);
  if (!target) return Error{"LLVM has no NVPTX back end: " + reason};
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, row->cpu, row->features, {}, std::nullopt));
  if (!machine) return Error{"LLVM cannot emit for " + arch};
  return machine;
}

// LLVM's default prints a diagnostic and exits.
class KeepDiagnostics : public llvm::DiagnosticHandler {
 public:
  explicit KeepDiagnostics(std::string *errors) : errors_(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string *errors_;
};

}  // namespace

Result<Ok> check_arch(const std::string &arch) {
  if (auto number = arch_number(arch); !number) return std::move(number).error();
  return Ok{};
}

Result<Ok> guarded(const std::function<Result<Ok>()> &work) {
  initialize_llvm();
  std::jmp_buf here;
  std::jmp_buf *outer = rescue;
  if (setjmp(here) != 0) {
    rescue = outer;
    return Error{"internal: LLVM: " + fatal_reason};
  }
  rescue = &here;
  Result<Ok> result = work();
  rescue = outer;
  return result;
}

Result<Ok> optimize(llvm::Module *module, const std::string &arch, int opt_level) {
  TRY(auto machine, target_machine(arch));
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  return run_passes(module, machine.get(), opt_level);
}

Result<Ok> run_passes(llvm::Module *module, llvm::TargetMachine *machine, int opt_level) {
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*module, &stream)) return Error{"internal: wrong IR: " + broken};

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (auto wrong = builder.parsePassPipeline(passes, opt_level == 0 ? kFewPasses : kPasses))
    return Error{"internal: LLVM: " + llvm::toString(std::move(wrong))};
  passes.run(*module, modules);
  return Ok{};
}

Result<std::string> emit_ptx(llvm::Module *module, const std::string &arch) {
  TRY(auto machine, target_machine(arch));
  std::string errors;
  module->getContext().setDiagnosticHandler(std::make_unique<KeepDiagnostics>(&errors));
  llvm::SmallString<0> text;
  {
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
      return Error{"internal: LLVM cannot write PTX"};
    passes.run(*module);
  }
  if (!errors.empty()) return Error{"internal: LLVM: " + errors};
  return std::string(text);
}

std::string print_ir(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace egpu::bpf
