// Which statements and kernels does an event mean? docs/probe-language.md, "Sections".
//
// What egpu-load needs of it (kernel_matches, unsupported, near_names) is declared in patch.h.
#pragma once
#include <string_view>
#include <vector>

#include "egpu/event.h"

namespace egpu::ptx {

/// First part equal, the others a subset of the mnemonic's dotted parts in any order; a part
/// `shared::cta` also answers to `shared`. Statements of space .param never match: they move
/// parameters and arguments and are no memory access.
bool statement_matches(const Event &event, std::string_view mnemonic);

/// Dotted parts of a mnemonic: "ld.global.v4" gives ld, global, v4.
std::vector<std::string_view> dotted_parts(std::string_view mnemonic);

}  // namespace egpu::ptx
