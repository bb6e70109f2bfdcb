#include "lib/loader/fatbin/images.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lib/loader/fatbin/container.h"
#include "lib/loader/fatbin/decompress.h"
#include "lib/loader/fatbin/elf_sections.h"

namespace egpu::fatbin {
namespace {

std::string hex(uint64_t n) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

Result<PtxImage> ptx_image(const Entry &entry, const std::string &where) {
  auto text = payload_text(entry);
  if (!text) return std::move(text).error().in(where);
  PtxImage image;
  image.text = *std::move(text);
  // Padded to 8 with NULs; one NUL is part of the text when it was compressed.
  if (size_t nul = image.text.find('\0'); nul != std::string::npos) image.text.resize(nul);
  image.arch = static_cast<int>(entry.arch);
  image.arch_specific = (entry.flags & kArchSpecific) != 0;
  image.family = (entry.flags & kFamily) != 0;
  std::string_view options(reinterpret_cast<const char *>(entry.options), entry.options_bytes);
  options = trimmed(options);
  if (is_printable(options)) image.options = options;  // binary for sm_100f
  image.where = where;
  return image;
}

Result<Container> read_fatbin(std::span<const uint8_t> bytes, const std::string &where) {
  Container container;
  container.where = where;
  Walk walk;
  walk.open(bytes.data(), bytes.size());
  while (walk.next()) {
    if (walk.entry.kind == kCubin) container.has_cubin = true;
    if (walk.entry.kind != kPtx) continue;
    TRY(PtxImage image, ptx_image(walk.entry, where + ": entry at " + hex(walk.entry.offset)));
    container.ptx.push_back(std::move(image));
  }
  if (walk.cause != nullptr) return Error{where + ": " + walk.cause + " at " + hex(walk.offset)};
  return container;
}

// Fatbins back to back, with padding between them.
Result<Ok> read_fatbin_section(const Section &section, const std::string &where,
                               std::vector<Container> &out) {
  std::span<const uint8_t> rest = section.bytes;
  uint64_t offset = section.offset;
  while (rest.size() >= kHeaderBytes) {
    uint64_t step = 8;
    if (load<uint32_t>(rest.data()) == kMagic) {
      TRY(Container container, read_fatbin(rest, where + ": fatbin at " + hex(offset)));
      step = (fatbin_bytes(rest.data()) + 7) / 8 * 8;
      out.push_back(std::move(container));
    }
    step = std::min<uint64_t>(step, rest.size());
    rest = rest.subspan(step);
    offset += step;
  }
  return Ok{};
}

// `ptxas -lineinfo` leaves the PTX as NUL-separated lines after 8 zero bytes.
std::string text_of_debug_section(std::span<const uint8_t> bytes) {
  auto first = std::find_if(bytes.begin(), bytes.end(), [](uint8_t b) { return b != 0; });
  std::string text(first, bytes.end());
  std::replace(text.begin(), text.end(), '\0', '\n');
  return text;
}

// PTX texts among a program's constants: what a driver-API program hands to cuModuleLoadData.
void read_text_section(const Section &section, const std::string &where, std::vector<Container> &out) {
  std::string_view bytes(reinterpret_cast<const char *>(section.bytes.data()), section.bytes.size());
  for (size_t at = bytes.find(".version"); at != std::string_view::npos;
       at = bytes.find(".version", at + 1)) {
    std::string_view text = bytes.substr(at, bytes.find('\0', at) - at);
    PtxImage image;
    if (text.find(".entry") == std::string_view::npos || !read_target(text, image)) continue;
    image.where = where + ": text at " + hex(section.offset + at);
    image.text = text;
    out.push_back({{std::move(image)}, false, where, Origin::file_text});
    at += text.size();
  }
}

bool has_cubin_code(const ElfImage &elf) {
  return std::any_of(elf.sections.begin(), elf.sections.end(),
                     [](const Section &s) { return s.name.starts_with(".text."); });
}

Result<std::vector<Container>> read_elf_images(std::span<const uint8_t> bytes, const std::string &where) {
  auto elf = read_elf(bytes);
  if (!elf) return std::move(elf).error().in(where);
  std::vector<Container> containers;
  for (const Section &section : elf->sections) {
    if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin") {
      TRY([[maybe_unused]] auto read, read_fatbin_section(section, where, containers));
    } else if (section.name == ".nv_debug_ptx_txt") {
      PtxImage image;
      image.where = where + ": .nv_debug_ptx_txt";
      image.text = text_of_debug_section(section.bytes);
      if (!read_target(image.text, image)) continue;  // an empty one, or not PTX
      containers.push_back({{std::move(image)}, has_cubin_code(*elf), where});
    } else if (elf->machine != kMachineCuda &&
               (section.name.starts_with(".rodata") || section.name == ".data")) {
      read_text_section(section, where, containers);
    }
  }
  if (elf->machine == kMachineCuda && containers.empty())
    containers.push_back({{}, has_cubin_code(*elf), where});
  return containers;
}

Result<std::vector<Container>> read_text(std::span<const uint8_t> bytes, const std::string &where) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  text = text.substr(0, text.find('\0'));
  PtxImage image;
  image.where = where;
  if (text.find(".version") == std::string_view::npos || !read_target(text, image))
    return Error{where + ": not a fatbin, an ELF file or a PTX text"};
  image.text = text;
  return std::vector<Container>{{{std::move(image)}, false, where, Origin::file_text}};
}

}  // namespace

bool read_target(std::string_view text, PtxImage &image) {
  constexpr std::string_view kDirective = ".target";
  for (size_t at = text.find(kDirective); at != std::string_view::npos; at = text.find(kDirective, at + 1)) {
    size_t i = at + kDirective.size();
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    if (text.substr(i, 3) != "sm_") continue;  // in a comment
    i += 3;
    int arch = 0;
    size_t digits = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && digits < 4; ++i, ++digits)
      arch = arch * 10 + (text[i] - '0');
    if (digits == 0) continue;
    image.arch = arch;
    image.arch_specific = i < text.size() && text[i] == 'a';
    image.family = i < text.size() && text[i] == 'f';
    return true;
  }
  return false;
}

Result<std::vector<Container>> images_in(std::span<const uint8_t> bytes, const std::string &where) {
  if (bytes.size() >= 4 && load<uint32_t>(bytes.data()) == kMagic) {
    TRY(Container container, read_fatbin(bytes, where));
    std::vector<Container> containers;
    containers.push_back(std::move(container));
    return containers;
  }
  if (is_elf(bytes)) return read_elf_images(bytes, where);
  return read_text(bytes, where);
}

Result<std::vector<Container>> images_in_file(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path);
  std::vector<uint8_t> bytes;
  struct stat st;
  bool good = ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  if (good) {
    bytes.resize(static_cast<size_t>(st.st_size));
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    bytes.resize(done);
  }
  ::close(fd);
  if (!good) return Error{path + ": not a regular file"};
  return images_in(bytes, path);
}

const PtxImage *choose(const Container &container, int cc_major, int cc_minor) {
  int device = cc_major * 10 + cc_minor;
  const PtxImage *best = nullptr;
  for (const PtxImage &image : container.ptx) {
    if (image.arch_specific) {
      // CUDA Programming Guide, "Architecture-specific features": this device and no other.
      if (image.arch == device) return &image;
      continue;
    }
    if (image.arch > device) continue;
    if (image.family && image.arch / 10 != cc_major) continue;
    if (best == nullptr || image.arch > best->arch || (image.arch == best->arch && image.family))
      best = &image;
  }
  return best;
}

}  // namespace egpu::fatbin
