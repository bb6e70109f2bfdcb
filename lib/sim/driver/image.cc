#include "lib/sim/driver/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "lib/loader/fatbin/container.h"
#include "lib/loader/fatbin/images.h"

namespace egpu::sim {
namespace {

constexpr char kPtxSection[] = ".egpu.ptx";
constexpr uint16_t kMachineCuda = 190;  // EM_CUDA

template <class T>
T load_at(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

bool is_elf(const uint8_t *image) { return std::memcmp(image, ELFMAG, SELFMAG) == 0; }

// An ELF image's own word on its size: the end of the last of its sections and tables.
uint64_t elf_bytes(const uint8_t *image) {
  const auto header = load_at<Elf64_Ehdr>(image);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  uint64_t end =
      std::max<uint64_t>(sizeof header, header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  end = std::max<uint64_t>(end, header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = load_at<Elf64_Shdr>(image + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

// The PTX of an image that linked_image made; false: it is none. Every offset is checked.
bool read_linked(std::span<const uint8_t> bytes, Image *read) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = load_at<Elf64_Ehdr>(bytes.data());
  const auto inside = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  if (header.e_machine != kMachineCuda || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) ||
      header.e_shstrndx >= header.e_shnum)
    return false;
  const auto section = [&](unsigned i) {
    return load_at<Elf64_Shdr>(bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  if (!inside(names.sh_offset, names.sh_size)) return false;
  bool found = false;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr at = section(i);
    if (at.sh_name > names.sh_size || names.sh_size - at.sh_name < sizeof kPtxSection) continue;
    if (std::memcmp(bytes.data() + names.sh_offset + at.sh_name, kPtxSection, sizeof kPtxSection) != 0)
      continue;
    if (!inside(at.sh_offset, at.sh_size)) return false;
    const char *text = reinterpret_cast<const char *>(bytes.data() + at.sh_offset);
    read->texts.emplace_back(text, strnlen(text, at.sh_size));
    found = true;
  }
  return found;
}

Status read_bytes(std::span<const uint8_t> bytes, const DeviceConfig &device, Image *read,
                  std::string *cause) {
  Result<std::vector<fatbin::Container>> containers = fatbin::images_in(bytes, "image");
  if (!containers) {
    *cause = containers.error().message;
    return kInvalidImage;
  }
  bool has_code = false;
  for (const fatbin::Container &container : *containers) {
    has_code = has_code || container.has_cubin || !container.ptx.empty();
    if (const fatbin::PtxImage *chosen =
            fatbin::choose(container, device.compute_major, device.compute_minor))
      read->texts.push_back(chosen->text);
  }
  if (!read->texts.empty()) return kSuccess;
  *cause = has_code ? "the image has no PTX for a device of compute capability " +
                          std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor) +
                          "; machine code is not simulated"
                    : "the image has no code";
  return kNoBinaryForGpu;
}

// A fatbin in memory, which says its own size.
Status read_fatbin(const uint8_t *image, size_t size_bytes, const DeviceConfig &device, Image *read,
                   std::string *cause) {
  const uint64_t own = fatbin::fatbin_bytes(image);
  if (size_bytes && own > size_bytes) {
    *cause = "fatbin is cut off";
    return kInvalidImage;
  }
  return read_bytes({image, own}, device, read, cause);
}

Status read_wrapper(const uint8_t *image, const DeviceConfig &device, Image *read, std::string *cause) {
  const auto version = load_at<uint32_t>(image + 4);
  std::vector<const uint8_t *> fatbins;
  if (version == 2)  // relocatable device code: the objects' fatbins, which have the PTX
    for (auto *const *at = load_at<const uint8_t *const *>(image + 16); at && *at; ++at)
      fatbins.push_back(*at);
  if (fatbins.empty()) fatbins.push_back(load_at<const uint8_t *>(image + 8));
  Status status = kInvalidImage;
  for (const uint8_t *fatbin : fatbins) {
    if (!fatbin || load_at<uint32_t>(fatbin) != fatbin::kMagic) {
      *cause = "the wrapper does not lead to a fatbin";
      return kInvalidImage;
    }
    const Status one = read_fatbin(fatbin, 0, device, read, cause);
    if (status != kSuccess) status = one;
  }
  return status;
}

}  // namespace

bool is_wrapper(const void *image) {
  return load_at<uint32_t>(static_cast<const uint8_t *>(image)) == fatbin::kWrapperMagic;
}

Status read_image(const void *image, size_t size_bytes, const DeviceConfig &device, Image *read,
                  std::string *cause) {
  if (!image) return kInvalidValue;
  const auto *bytes = static_cast<const uint8_t *>(image);
  if (size_bytes == 0 || size_bytes >= 4) {
    if (is_elf(bytes)) {
      const uint64_t own = size_bytes ? size_bytes : elf_bytes(bytes);
      if (own == 0) return kInvalidImage;
      if (read_linked({bytes, own}, read)) return kSuccess;
      return read_bytes({bytes, own}, device, read, cause);
    }
    const auto magic = load_at<uint32_t>(bytes);
    if (magic == fatbin::kMagic) return read_fatbin(bytes, size_bytes, device, read, cause);
    if (magic == fatbin::kWrapperMagic) return read_wrapper(bytes, device, read, cause);
  }
  const char *text = static_cast<const char *>(image);
  read->texts.emplace_back(text, size_bytes ? strnlen(text, size_bytes) : std::strlen(text));
  if (read->texts.back().find(".version") == std::string::npos) {
    *cause = "neither PTX nor a fatbin nor an ELF file";
    return kInvalidImage;
  }
  return kSuccess;
}

Status read_image_file(const char *path, const DeviceConfig &device, Image *read, std::string *cause) {
  std::FILE *file = path ? std::fopen(path, "rb") : nullptr;
  if (!file) return kFileNotFound;
  std::vector<uint8_t> bytes;
  uint8_t part[65536];
  while (const size_t got = std::fread(part, 1, sizeof part, file))
    bytes.insert(bytes.end(), part, part + got);
  std::fclose(file);
  bytes.push_back(0);
  return read_image(bytes.data(), bytes.size(), device, read, cause);
}

std::vector<uint8_t> linked_image(const Image &image, const DeviceConfig &device) {
  // Layout: header, texts, section names, section headers (null, names, one per text).
  const std::string names = std::string("\0.shstrtab\0", 11) + std::string(kPtxSection, sizeof kPtxSection);
  std::vector<uint8_t> out(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> sections(2);
  const auto append = [&](const void *data, size_t size) {
    const auto *from = static_cast<const uint8_t *>(data);
    out.insert(out.end(), from, from + size);
  };
  for (const std::string &text : image.texts) {
    Elf64_Shdr section{};
    section.sh_name = 11;
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = out.size();
    section.sh_size = text.size() + 1;
    section.sh_addralign = 1;
    append(text.c_str(), text.size() + 1);
    sections.push_back(section);
  }
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = out.size();
  sections[1].sh_size = names.size();
  sections[1].sh_addralign = 1;
  append(names.data(), names.size());
  out.resize((out.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = kMachineCuda;
  header.e_version = EV_CURRENT;
  header.e_flags = static_cast<uint32_t>(device.compute_major * 10 + device.compute_minor);
  header.e_ehsize = sizeof header;
  header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = 1;
  std::memcpy(out.data(), &header, sizeof header);
  append(sections.data(), sections.size() * sizeof(Elf64_Shdr));
  return out;
}

JitLog::JitLog(unsigned count, const int *options, void **values) {
  if (!options || !values) return;
  for (unsigned i = 0; i < count; ++i) {
    // Sizes are passed in the pointer itself and written back into it.
    switch (options[i]) {
      case kJitErrorLog:
        error_ = static_cast<char *>(values[i]);
        break;
      case kJitErrorLogBytes:
        error_size_ = &values[i];
        error_bytes_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
        break;
      case kJitInfoLog:
        info_ = static_cast<char *>(values[i]);
        break;
      case kJitInfoLogBytes:
        info_size_ = &values[i];
        info_bytes_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
        break;
      default:
        break;  // nothing to choose: PTX is executed as it is
    }
  }
}

void JitLog::error(const std::string &text) {
  if (!error_ || error_bytes_ == 0) return;
  const size_t length = std::min(text.size(), error_bytes_ - 1);
  std::memcpy(error_, text.data(), length);
  error_[length] = 0;
  written_ = std::min(text.size(), error_bytes_);
}

void JitLog::finish() {
  if (error_ && error_bytes_ && written_ == 0) error_[0] = 0;
  if (error_size_) *error_size_ = reinterpret_cast<void *>(written_);
  if (info_ && info_bytes_) info_[0] = 0;
  if (info_size_) *info_size_ = nullptr;
}

}  // namespace egpu::sim
