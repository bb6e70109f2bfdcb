#include "lib/bpf2ptx/object/elf_file.h"

#include <elf.h>

#include <cstring>

namespace egpu::bpf {
namespace {

constexpr uint16_t kMachineBpf = 247;

template <class T>
T read_at(const uint8_t *data, uint64_t offset) {
  T value;
  std::memcpy(&value, data + offset, sizeof value);
  return value;
}

// The string at `offset` of a string table, or nothing if it does not end inside it.
bool string_at(const ElfSection &table, uint64_t offset, std::string *out) {
  if (!table.data || offset >= table.size_bytes) return false;
  const void *end = std::memchr(table.data + offset, 0, table.size_bytes - offset);
  if (!end) return false;
  out->assign(reinterpret_cast<const char *>(table.data + offset), static_cast<const char *>(end));
  return true;
}

Error bad(const std::string &what) { return {"not a usable BPF object: " + what}; }

}  // namespace

uint32_t ElfFile::find(const std::string &name) const {
  for (size_t i = 1; i < sections_.size(); ++i)
    if (sections_[i].name == name) return static_cast<uint32_t>(i);
  return 0;
}

Result<ElfFile> ElfFile::parse(const std::vector<uint8_t> &bytes) {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return bad("no ELF header");
  if (bytes.size() < sizeof(Elf64_Ehdr)) return bad("truncated in the ELF header");
  auto header = read_at<Elf64_Ehdr>(bytes.data(), 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return bad("not 64-bit little-endian ELF");
  if (header.e_machine != kMachineBpf)
    return bad("made for another machine (ELF e_machine " + std::to_string(header.e_machine) +
               ", BPF is 247)");
  if (header.e_type != ET_REL) return bad("not a relocatable object");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return bad("section header size");
  uint64_t table_bytes = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_shnum == 0 || header.e_shoff > bytes.size() || table_bytes > bytes.size() - header.e_shoff)
    return bad("truncated: the section headers lie outside the file");

  ElfFile file;
  std::vector<uint32_t> name_offsets;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    auto raw = read_at<Elf64_Shdr>(bytes.data(), header.e_shoff + i * sizeof(Elf64_Shdr));
    ElfSection section;
    section.type = raw.sh_type;
    section.flags = raw.sh_flags;
    section.size_bytes = raw.sh_size;
    section.link = raw.sh_link;
    section.info = raw.sh_info;
    if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
      if (raw.sh_offset > bytes.size() || raw.sh_size > bytes.size() - raw.sh_offset)
        return bad("truncated: section " + std::to_string(i) + " lies outside the file");
      section.data = bytes.data() + raw.sh_offset;
    }
    if (raw.sh_type == SHT_NOBITS && raw.sh_size > (1u << 28)) return bad("a section of more than 256 MiB");
    name_offsets.push_back(raw.sh_name);
    file.sections_.push_back(std::move(section));
  }
  if (header.e_shstrndx >= file.sections_.size()) return bad("section name table");
  for (uint32_t i = 0; i < header.e_shnum; ++i)
    if (file.sections_[i].type != SHT_NULL &&
        !string_at(file.sections_[header.e_shstrndx], name_offsets[i], &file.sections_[i].name))
      return bad("name of section " + std::to_string(i));

  for (const ElfSection &section : file.sections_) {
    if (section.type != SHT_SYMTAB) continue;
    if (!file.symbols_.empty()) return bad("two symbol tables");
    if (section.link >= file.sections_.size()) return bad("symbol name table");
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.size_bytes; at += sizeof(Elf64_Sym)) {
      auto raw = read_at<Elf64_Sym>(section.data, at);
      ElfSymbol symbol;
      if (!string_at(file.sections_[section.link], raw.st_name, &symbol.name)) return bad("name of a symbol");
      symbol.type = ELF64_ST_TYPE(raw.st_info);
      symbol.section = raw.st_shndx >= SHN_LORESERVE ? 0 : raw.st_shndx;
      if (symbol.section >= file.sections_.size()) return bad("section of symbol '" + symbol.name + "'");
      symbol.value = raw.st_value;
      symbol.size_bytes = raw.st_size;
      if (symbol.section != 0 &&
          (symbol.value > file.sections_[symbol.section].size_bytes ||
           symbol.size_bytes > file.sections_[symbol.section].size_bytes - symbol.value))
        return bad("symbol '" + symbol.name + "' lies outside its section");
      file.symbols_.push_back(std::move(symbol));
    }
  }

  file.relocations_.resize(file.sections_.size());
  for (const ElfSection &section : file.sections_) {
    if (section.type != SHT_REL) continue;
    if (section.info >= file.sections_.size()) return bad("relocations of a section that does not exist");
    for (uint64_t at = 0; at + sizeof(Elf64_Rel) <= section.size_bytes; at += sizeof(Elf64_Rel)) {
      auto raw = read_at<Elf64_Rel>(section.data, at);
      uint64_t symbol = ELF64_R_SYM(raw.r_info);
      if (symbol >= file.symbols_.size()) return bad("relocation against a symbol that does not exist");
      file.relocations_[section.info].push_back({raw.r_offset, static_cast<uint32_t>(symbol)});
    }
  }
  return file;
}

}  // namespace egpu::bpf
