// How a key is written on the command line, and whether an entry's key is it.
//
// A number (decimal or 0x...), negative for signed keys; for kernels the name as printed, mangled,
// or without parameters and template arguments; for sites file:line; a text as it stands; for
// structs a JSON object, in which fields that are left out match everything.
#pragma once
#include <string>

#include "egpu/result.h"
#include "tools/print/value.h"

namespace egpu::map_tool {

/// Error: `text` cannot be a key of this kind at all.
Result<bool> key_matches(const map::Snapshot &snapshot, const print::Value &key, const std::string &text);

/// "ns::vecadd<float, 4>(float*)" -> "ns::vecadd<float, 4>"; and without template arguments.
std::string without_parameters(const std::string &printable);
std::string without_template_arguments(const std::string &name);

}  // namespace egpu::map_tool
