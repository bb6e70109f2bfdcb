// A probe's body as a function of its own: one definition in the module, a call at each site.
//
// Its arguments are the free symbols that differ from site to site; constants are set inside. A
// program that writes its cookie returns the new one. PTX ISA 9.0, 7.1 "Function declarations".
#pragma once
#include <string>

#include "egpu/result.h"
#include "lib/loader/ptx/body.h"
#include "lib/loader/ptx/patch.h"

namespace egpu::ptx {

/// `number`: the probe's, unique in the module. Error: a constant is not bound.
Result<std::string> function_definition(const Probe &probe, size_t number, const Body &body,
                                        const Bindings &bindings);

/// Statements for a place where the symbols that are no constants are registers of their names.
std::string function_call(const Probe &probe, size_t number);

}  // namespace egpu::ptx
