// LLVM IR of one program to the text of a PTX body (include/egpu/bpf2ptx.h, "The body ABI").
//
// optimize() runs a fixed list of passes: none of them may create a global constant (switch
// tables, constant pools), because a body cannot hold one. emit_ptx() is LLVM's NVPTX back
// end. LLVM reports what it cannot select by ending the process; `guarded` turns
// that into an Error. Source of the text's form: PTX ISA 9.0.
#pragma once
#include <functional>
#include <string>

#include "egpu/result.h"

namespace llvm {
class Module;
class TargetMachine;
}

namespace egpu::bpf {

/// A checked --arch: "sm_75" to "sm_120", a final "a" or "f" allowed.
Result<Ok> check_arch(const std::string &arch);

/// Sets the module's target for `arch` and runs the passes. `opt_level` 0 to 3.
Result<Ok> optimize(llvm::Module *module, const std::string &arch, int opt_level);

/// The same passes for another machine, whose triple and layout the module has.
Result<Ok> run_passes(llvm::Module *module, llvm::TargetMachine *machine, int opt_level);

/// PTX of the whole module: header, `.visible .func prog()`.
Result<std::string> emit_ptx(llvm::Module *module, const std::string &arch);

std::string print_ir(const llvm::Module &module);

/// Calls `work`; if LLVM gives up in it, an Error with LLVM's reason.
Result<Ok> guarded(const std::function<Result<Ok>()> &work);

}  // namespace egpu::bpf
