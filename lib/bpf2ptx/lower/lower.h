// A verified program to LLVM IR: one function `void @prog()` in a module of its own.
//
// Types come from the verifier's facts: a stack slot is an alloca of its region, a map value
// a pointer in address space 1, a ctx field a special register or a free symbol, a helper a
// few instructions. Subprograms are translated in place at each call. Free symbols and
// what NVPTX cannot select (acquire, release, %globaltimer) are inline PTX.
// Error: with the source line, only for what the verifier cannot know (printk's format,
// code that becomes too large).
#pragma once
#include <memory>

#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/facts.h"

namespace llvm {
class Module;
}

namespace egpu::bpf {

/// Fills `module`, which is empty, for an object whose sharding is decided.
Result<Ok> lower(const Program &program, const Object &object, const Facts &facts, llvm::Module *module);

}  // namespace egpu::bpf
