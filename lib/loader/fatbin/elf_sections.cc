#include "lib/loader/fatbin/elf_sections.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace egpu::fatbin {
namespace {

constexpr uint64_t kMaxSections = 65536;

}  // namespace

bool is_elf(std::span<const uint8_t> bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

Result<ElfImage> read_elf(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (!is_elf(bytes) || bytes.size() < sizeof(header)) return Error{"ELF header is cut off"};
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return Error{"not a 64-bit little-endian ELF file"};
  ElfImage image;
  image.machine = header.e_machine;
  if (header.e_shoff == 0 || header.e_shnum == 0) return image;
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return Error{"ELF section headers have an absurd size"};
  if (header.e_shoff > bytes.size() || header.e_shnum > (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr))
    return Error{"ELF section headers are cut off"};
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  std::memcpy(headers.data(), bytes.data() + header.e_shoff, headers.size() * sizeof(Elf64_Shdr));

  auto bytes_of = [&](const Elf64_Shdr &s) -> Result<std::span<const uint8_t>> {
    if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL) return std::span<const uint8_t>();
    if (s.sh_offset > bytes.size() || s.sh_size > bytes.size() - s.sh_offset)
      return Error{"ELF section is cut off"};
    return bytes.subspan(s.sh_offset, s.sh_size);
  };
  if (header.e_shstrndx >= headers.size()) return Error{"ELF file has no section names"};
  TRY(auto names, bytes_of(headers[header.e_shstrndx]));
  for (const Elf64_Shdr &s : headers) {
    TRY(auto content, bytes_of(s));
    std::string_view name;
    if (s.sh_name < names.size()) {
      auto *begin = reinterpret_cast<const char *>(names.data()) + s.sh_name;
      name = std::string_view(begin, ::strnlen(begin, names.size() - s.sh_name));
    }
    image.sections.push_back({name, content, s.sh_offset});
  }
  return image;
}

uint64_t elf_image_bytes(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (!is_elf(bytes) || bytes.size() < sizeof(header)) return 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  if (header.e_shnum == 0 || header.e_shoff > UINT64_MAX - kMaxSections * sizeof(Elf64_Shdr)) return 0;
  // Cubins end with their program headers, which follow the section headers.
  uint64_t end = header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_phnum != 0 && header.e_phoff <= UINT64_MAX - kMaxSections * sizeof(Elf64_Phdr))
    end = std::max(end, header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  return end;
}

}  // namespace egpu::fatbin
