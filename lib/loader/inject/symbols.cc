#include "lib/loader/inject/symbols.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace egpu::inject {
namespace {

constexpr uint32_t kMaxSymbols = 1 << 20;
constexpr uint16_t kHiddenVersion = 0x8000;

uint32_t gnu_hash(std::string_view name) {
  uint32_t h = 5381;
  for (unsigned char c : name) h = h * 33 + c;
  return h;
}

}  // namespace

Result<Library> Library::open(const Memory &memory, uint64_t base) {
  Library library(memory);
  TRY(auto header, memory.get<Elf64_Ehdr>(base));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return Error{"no 64-bit ELF library there"};
  uint64_t dynamic = 0, lowest = UINT64_MAX;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    TRY(auto segment, memory.get<Elf64_Phdr>(base + header.e_phoff + i * sizeof(Elf64_Phdr)));
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_vaddr;
    if (segment.p_type == PT_LOAD) lowest = std::min(lowest, segment.p_vaddr & ~uint64_t{0xfff});
  }
  if (dynamic == 0 || lowest == UINT64_MAX) return Error{"ELF library without a dynamic section"};
  library.bias_ = base - lowest;
  // ld.so relocates these pointers in place in most libraries, and leaves them alone in some.
  auto absolute = [&](uint64_t pointer) { return pointer < base ? pointer + library.bias_ : pointer; };
  for (uint64_t at = dynamic + library.bias_, i = 0; i < 4096; ++i, at += sizeof(Elf64_Dyn)) {
    TRY(auto entry, memory.get<Elf64_Dyn>(at));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_GNU_HASH) library.hash_ = absolute(entry.d_un.d_ptr);
    if (entry.d_tag == DT_SYMTAB) library.symbols_ = absolute(entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRTAB) library.strings_ = absolute(entry.d_un.d_ptr);
    if (entry.d_tag == DT_VERSYM) library.versions_ = absolute(entry.d_un.d_ptr);
  }
  if (library.hash_ == 0 || library.symbols_ == 0 || library.strings_ == 0)
    return Error{"ELF library without a symbol table"};
  return library;
}

std::optional<Symbol> Library::read_symbol(uint32_t index, std::string_view name, bool &is_default) const {
  auto symbol = memory_->get<Elf64_Sym>(symbols_ + uint64_t{index} * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
    return std::nullopt;
  auto text = memory_->get_string(strings_ + symbol->st_name, name.size() + 1);
  if (!text || *text != name) return std::nullopt;
  is_default = true;
  if (versions_ != 0) {
    auto version = memory_->get<uint16_t>(versions_ + uint64_t{index} * 2);
    is_default = version && (*version & kHiddenVersion) == 0;
  }
  return Symbol{symbol->st_value + bias_, symbol->st_size};
}

std::optional<Symbol> Library::find(std::string_view name) const {
  struct {
    uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
  } table;
  auto head = memory_->get<std::array<uint32_t, 4>>(hash_);
  if (!head) return std::nullopt;
  std::memcpy(&table, head->data(), sizeof(table));
  if (table.bucket_count == 0 || table.bucket_count > kMaxSymbols || table.bloom_words > kMaxSymbols)
    return std::nullopt;
  uint64_t buckets = hash_ + 16 + uint64_t{table.bloom_words} * 8;
  uint64_t chains = buckets + uint64_t{table.bucket_count} * 4;
  uint32_t hash = gnu_hash(name);
  auto first = memory_->get<uint32_t>(buckets + uint64_t{hash % table.bucket_count} * 4);
  if (!first || *first < table.first_symbol) return std::nullopt;
  std::optional<Symbol> other;
  for (uint32_t index = *first; index < kMaxSymbols; ++index) {
    auto chain = memory_->get<uint32_t>(chains + uint64_t{index - table.first_symbol} * 4);
    if (!chain) break;
    bool is_default = false;
    if ((*chain | 1) == (hash | 1)) {
      if (auto found = read_symbol(index, name, is_default)) {
        if (is_default) return found;
        other = found;
      }
    }
    if ((*chain & 1) != 0) break;
  }
  return other;
}

uint64_t library_base(const std::vector<Mapping> &mappings, std::string_view prefix) {
  for (const Mapping &m : mappings) {
    size_t slash = m.path.rfind('/');
    if (slash == std::string::npos || m.path.compare(slash + 1, prefix.size(), prefix) != 0) continue;
    if (m.offset == 0) return m.begin;
  }
  return 0;
}

}  // namespace egpu::inject
