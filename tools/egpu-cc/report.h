// Texts about a compiled object: the manifest of -v and the listing of --emit.
#pragma once
#include <string>

#include "egpu/bpf2ptx.h"

namespace egpu::cc {

/// For each program a line for each thing that it takes, and a line for each map.
std::string manifest(const CompiledObject &object);

/// The bodies of all programs, each after a head in comments of the form `comment`.
std::string listing(const CompiledObject &object, const std::string &comment);

}  // namespace egpu::cc
