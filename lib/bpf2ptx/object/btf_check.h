// Checks .BTF before libbpf sees it: libbpf 1.1 trusts type ids, counts and string offsets.
#pragma once
#include "lib/bpf2ptx/object/elf_file.h"

namespace egpu::bpf {

/// Every record inside the section, every type id and string offset in range, and no cycle
/// of typedefs, modifiers and arrays. Source: kernel Documentation/bpf/btf.rst, section 2.
Result<Ok> check_btf(const ElfSection &section);

}  // namespace egpu::bpf
