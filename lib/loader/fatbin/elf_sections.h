// The sections of a 64-bit little-endian ELF image, bounds-checked. Source: elf(5).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "egpu/result.h"

namespace egpu::fatbin {

constexpr uint16_t kMachineCuda = 190;  // EM_CUDA

struct Section {
  std::string_view name;
  std::span<const uint8_t> bytes;  // empty for SHT_NOBITS
  uint64_t offset;                 // in the file
};

struct ElfImage {
  uint16_t machine = 0;
  std::vector<Section> sections;
};

bool is_elf(std::span<const uint8_t> bytes);
/// Views into `bytes`. A file without section headers has no sections. Error: malformed.
Result<ElfImage> read_elf(std::span<const uint8_t> bytes);
/// The image's whole size by its headers, as far as they go; 0 if they are absurd.
uint64_t elf_image_bytes(std::span<const uint8_t> header);

}  // namespace egpu::fatbin
