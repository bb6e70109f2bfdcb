// Addresses of symbols in the libraries of another process, read from its memory.
//
// Not from the files: the process may be in a container with other ones, or they were replaced
// since. The dynamic section, hash table and strings of a loaded library are in its memory.
// Source: elf(5); the GNU hash table as ld.so reads it.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "egpu/result.h"
#include "lib/loader/inject/process.h"

namespace egpu::inject {

struct Symbol {
  uint64_t address, size;
};

// One loaded ELF library (or program) of a process.
class Library {
 public:
  /// `base`: where its ELF header is mapped. Error: no ELF library there.
  static Result<Library> open(const Memory &memory, uint64_t base);
  /// A defined function of the library: its default version if there are several.
  std::optional<Symbol> find(std::string_view name) const;

 private:
  explicit Library(const Memory &memory) : memory_(&memory) {}
  std::optional<Symbol> read_symbol(uint32_t index, std::string_view name, bool &is_default) const;

  const Memory *memory_;
  uint64_t bias_ = 0;  // runtime minus link-time addresses
  uint64_t hash_ = 0, symbols_ = 0, strings_ = 0, versions_ = 0;
};

/// Base of the first mapping of a file whose name (after the last slash) begins with `prefix`; 0: none.
uint64_t library_base(const std::vector<Mapping> &mappings, std::string_view prefix);

}  // namespace egpu::inject
