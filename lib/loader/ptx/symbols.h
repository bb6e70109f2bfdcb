// The free symbols of the body ABI (include/egpu/bpf2ptx.h): their types, and the values of
// those that are the same at all sites of a session.
#pragma once
#include <string>

#include "egpu/result.h"
#include "lib/loader/ptx/patch.h"

namespace egpu::ptx {

/// "b32" or "b64".
const char *symbol_type(const std::string &symbol);

/// Is it a map's address, the address of this SM's copy of one, or the clock's offset?
bool is_constant(const std::string &symbol);
/// egpu_shard_<i>.
bool is_shard(const std::string &symbol);

/// Declares the constant `symbol` of the probe's object as the register `name` and sets it.
/// Error: it is not bound.
Result<std::string> define_constant(const Probe &probe, const std::string &symbol, const std::string &name,
                                    const Bindings &bindings);

}  // namespace egpu::ptx
