// The sections, symbols and relocations of a BPF ELF object: what libbpf keeps to itself and
// line information needs. Every offset and length is checked; strings are copied out.
// Source: System V ABI, "Object Files"; BPF objects are ELF64, little endian.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::bpf {

struct ElfSection {
  std::string name;
  uint32_t type = 0;
  uint64_t flags = 0;
  const uint8_t *data = nullptr;  // into the file's bytes; null for SHT_NOBITS
  uint64_t size_bytes = 0;
  uint32_t link = 0, info = 0;
};

struct ElfSymbol {
  std::string name;
  uint8_t type = 0;      // STT_*
  uint32_t section = 0;  // index; 0: undefined
  uint64_t value = 0, size_bytes = 0;
};

struct ElfRelocation {
  uint64_t offset;  // bytes in the section it applies to
  uint32_t symbol;
};

class ElfFile {
 public:
  /// `bytes` must outlive the result.
  static Result<ElfFile> parse(const std::vector<uint8_t> &bytes);

  const std::vector<ElfSection> &sections() const { return sections_; }
  const std::vector<ElfSymbol> &symbols() const { return symbols_; }
  /// Relocations of section `index`, in file order.
  const std::vector<ElfRelocation> &relocations(size_t index) const { return relocations_[index]; }
  /// Index of the first section of that name, or 0.
  uint32_t find(const std::string &name) const;

 private:
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
  std::vector<std::vector<ElfRelocation>> relocations_;
};

}  // namespace egpu::bpf
