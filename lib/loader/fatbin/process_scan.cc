// Finds images in the memory of a running process (attach mode: they were loaded before us).
//
// Every readable private mapping is read once, front to back, in chunks; a fatbin's payloads are
// passed over by their headers, so that the gigabytes of SASS in a PyTorch process cost nothing.
// Three things are looked for: a fatbin's magic at 8-byte steps, a cubin's ELF header at 8-byte
// steps (for .nv_debug_ptx_txt), and the text ".version N" of a PTX module.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "lib/loader/fatbin/container.h"
#include "lib/loader/fatbin/elf_sections.h"
#include "lib/loader/fatbin/images.h"
#include "lib/loader/inject/process.h"

namespace egpu::fatbin {
namespace {

using inject::Mapping;
using inject::Memory;

constexpr uint64_t kChunkBytes = 4 << 20, kPageBytes = 4096;
constexpr uint64_t kMaxTextBytes = 64 << 20, kMaxCubinBytes = 256 << 20;
constexpr uint64_t kMaxMappingBytes = uint64_t{16}
                                      << 30;  // a bigger one is a reservation, a sanitizer's shadow, data
// What is cut by a chunk's end is seen again, complete, in the next chunk.
constexpr uint64_t kOverlapBytes = 64;
constexpr std::string_view kVersion = ".version";

// Libraries that hold no kernels of the program's, but texts and tables that look like some.
constexpr std::string_view kPassedOver[] = {"/libcuda.so",   "/libnvidia-", "/libcuda-",     "/libc.so",
                                            "/libstdc++.so", "/ld-linux",   "/libegpu-agent"};

bool is_worth_reading(const Mapping &m) {
  if (!m.read || m.end - m.begin > kMaxMappingBytes) return false;
  if (m.path.starts_with("/dev/") || m.path.starts_with("[v"))
    return false;  // devices; [vdso], [vvar], [vsyscall]
  if (m.shared && m.inode == 0) return false;
  return std::none_of(std::begin(kPassedOver), std::end(kPassedOver),
                      [&](std::string_view name) { return m.path.find(name) != std::string::npos; });
}

// Which pages of an anonymous mapping exist, from /proc/PID/pagemap (bit 63 present, 62 swapped).
// Where it cannot be read, all count as present.
class PageMap {
 public:
  explicit PageMap(pid_t pid)
      : fd_(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}

  bool any_present(uint64_t begin, uint64_t end) {
    if (!fd_) return true;
    uint64_t first = begin / kPageBytes, count = (end + kPageBytes - 1) / kPageBytes - first;
    words_.resize(count);
    ssize_t n = ::pread(fd_.get(), words_.data(), count * 8, static_cast<off_t>(first * 8));
    if (n != static_cast<ssize_t>(count * 8)) return true;
    return std::any_of(words_.begin(), words_.end(), [](uint64_t w) { return (w >> 62) != 0; });
  }

 private:
  session::Fd fd_;
  std::vector<uint64_t> words_;
};

struct Hit {
  enum Kind { fatbin, elf, text } kind;
  size_t offset;
};

// The first thing of interest in a chunk whose address is a multiple of 8.
std::optional<Hit> first_hit(std::span<const uint8_t> chunk) {
  std::optional<Hit> hit;
  size_t end = chunk.size();
  uint32_t elf_magic;
  std::memcpy(&elf_magic, "\177ELF", 4);
  for (size_t i = 0; i + 8 <= end; i += 8) {
    auto word = load<uint32_t>(chunk.data() + i);
    if (word != kMagic && word != elf_magic) continue;
    hit = Hit{word == kMagic ? Hit::fatbin : Hit::elf, i};
    end = i;  // a text counts only if it comes before
    break;
  }
  auto *text = static_cast<const uint8_t *>(::memmem(chunk.data(), end, kVersion.data(), kVersion.size()));
  if (text != nullptr) return Hit{Hit::text, static_cast<size_t>(text - chunk.data())};
  return hit;
}

class Scan {
 public:
  Scan(pid_t pid, const Memory &memory) : memory_(memory), pages_(pid) {}

  void read_mapping(const Mapping &m, const std::function<void(uint64_t)> &advance) {
    mapping_ = &m;
    chunk_.clear();
    for (uint64_t at = m.begin, next; at < m.end; at = next) {
      // The last chunk is used up to its end: a library may hold thousands of small fatbins.
      uint64_t last_end = chunk_address_ + chunk_.size();
      if (chunk_.empty() || at > last_end || (last_end - at < kOverlapBytes && last_end < m.end))
        read_chunk(at);
      uint64_t chunk_end = chunk_address_ + chunk_.size();
      if (chunk_.empty())
        next = std::min(at + kChunkBytes, m.end);  // absent or unreadable
      else if (auto hit = first_hit(std::span(chunk_).subspan(at - chunk_address_)))
        next = at + hit->offset + step_over(*hit, at + hit->offset);
      else
        next = chunk_end == m.end ? m.end : chunk_end - kOverlapBytes / 2;
      next = std::clamp(next & ~uint64_t{7}, at + 8, m.end);
      advance(next - at);
    }
  }

  std::vector<Container> take() { return std::move(found_); }

 private:
  void read_chunk(uint64_t at) {
    uint64_t size = std::min(kChunkBytes, mapping_->end - at);
    chunk_address_ = at;
    chunk_.clear();
    if (mapping_->inode == 0 && !pages_.any_present(at, at + size)) return;
    chunk_.resize(size);
    chunk_.resize(memory_.read_some(at, chunk_));
  }

  // Takes what is at the address, and says how many bytes it has.
  uint64_t step_over(const Hit &hit, uint64_t address) {
    uint64_t room = mapping_->end - address;
    switch (hit.kind) {
      case Hit::fatbin:
        return take_fatbin(address, room);
      case Hit::elf:
        return take_cubin(address, room);
      case Hit::text:
        return take_text(address, room);
    }
    return 8;
  }

  uint64_t take_fatbin(uint64_t address, uint64_t room) {
    uint8_t header[kHeaderBytes];
    if (!memory_.read(address, header) || !is_fatbin(header, sizeof(header))) return 8;
    uint64_t total = fatbin_bytes(header);
    if (total > room) return 8;
    // A small copy of the fatbin: the header and the PTX entries, without the rest.
    std::vector<uint8_t> copy(header, header + sizeof(header));
    bool has_cubin = false;
    for (uint64_t at = kHeaderBytes; at < total;) {
      uint8_t head[kMinEntryHeaderBytes];
      if (total - at < sizeof(head) || !memory_.read(address + at, head)) return 8;
      uint64_t header_bytes = load<uint32_t>(head + 4), payload_bytes = load<uint64_t>(head + 8);
      if (header_bytes < sizeof(head) || header_bytes > kMaxEntryHeaderBytes || header_bytes > total - at ||
          payload_bytes > total - at - header_bytes)
        return 8;
      if (load<uint16_t>(head) == kCubin) has_cubin = true;
      if (load<uint16_t>(head) == kPtx && payload_bytes <= kMaxImageBytes) {
        size_t end = copy.size();
        copy.resize(end + header_bytes + payload_bytes);
        if (!memory_.read(address + at, std::span(copy).subspan(end))) return 8;
      }
      at += header_bytes + payload_bytes;
    }
    uint64_t rest = copy.size() - kHeaderBytes;
    std::memcpy(copy.data() + 8, &rest, sizeof(rest));
    keep(images_in(copy, where(address)), has_cubin);
    return std::max<uint64_t>(total, 8);
  }

  uint64_t take_cubin(uint64_t address, uint64_t room) {
    uint8_t header[64];
    if (!memory_.read(address, header) || load<uint16_t>(header + 18) != kMachineCuda) return 8;
    uint64_t size = elf_image_bytes(header);
    if (size == 0 || size > room || size > kMaxCubinBytes) return 8;
    std::vector<uint8_t> image(size);
    if (!memory_.read(address, image)) return 8;
    if (!keep(images_in(image, where(address)), false)) return 8;
    return size;
  }

  uint64_t take_text(uint64_t address, uint64_t room) {
    constexpr uint64_t kPastWord = kVersion.size();
    std::string text;
    std::vector<uint8_t> part(4096);
    while (text.find('\0') == std::string::npos) {
      uint64_t size = std::min<uint64_t>(part.size(), room - text.size());
      size_t got = memory_.read_some(address + text.size(), {part.data(), size});
      text.append(reinterpret_cast<char *>(part.data()), got);
      if (text.size() <= 4096 && !looks_like_ptx(text)) return kPastWord;
      if (got == 0 || text.size() == room || text.size() > kMaxTextBytes)
        return kPastWord;  // no NUL: not a C string
      part.resize(std::min<size_t>(part.size() * 2, 1 << 20));
    }
    text.resize(text.find('\0'));
    if (text.find(".entry") == std::string::npos) return kPastWord;
    uint64_t size = text.size();
    if (text.substr(0, text.find('\n')).find(kPatchedMark) != std::string::npos) return size;
    keep(images_in({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, where(address)), false,
         mapping_->inode == 0 ? Origin::memory_text : Origin::file_text);
    return size;
  }

  // ".version 9.0 ... .target sm_" within the first lines.
  static bool looks_like_ptx(std::string_view text) {
    size_t i = kVersion.size();
    if (i >= text.size() || !std::isspace(static_cast<unsigned char>(text[i]))) return false;
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    if (i >= text.size() || !std::isdigit(static_cast<unsigned char>(text[i]))) return false;
    PtxImage image;
    return read_target(text.substr(0, text.find('\0')), image);
  }

  bool keep(Result<std::vector<Container>> containers, bool has_cubin, Origin origin = Origin::image) {
    if (!containers) return false;
    for (Container &c : *containers) {
      c.origin = origin;
      c.has_cubin |= has_cubin;
      std::string texts;
      for (const PtxImage &image : c.ptx) texts += image.text + '\0';
      if (!c.ptx.empty() && !seen_.insert(texts).second) continue;
      if (c.ptx.empty() && !c.has_cubin) continue;
      found_.push_back(std::move(c));
    }
    return true;
  }

  std::string where(uint64_t address) const {
    char text[64];
    std::snprintf(text, sizeof(text), " at 0x%llx", static_cast<unsigned long long>(address));
    return (mapping_->path.empty() ? "memory" : mapping_->path) + text;
  }

  const Memory &memory_;
  PageMap pages_;
  const Mapping *mapping_ = nullptr;
  std::vector<uint8_t> chunk_;
  uint64_t chunk_address_ = 0;
  std::vector<Container> found_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

Result<std::vector<Container>> images_of_process(pid_t pid,
                                                 const std::function<void(ScanProgress)> &progress) {
  TRY(auto mappings, inject::mappings_of(pid));
  TRY(Memory memory, Memory::open(pid));
  ScanProgress state{0, 0};
  std::erase_if(mappings, [](const Mapping &m) { return !is_worth_reading(m); });
  for (const Mapping &m : mappings) state.total_bytes += m.end - m.begin;
  Scan scan(pid, memory);
  for (const Mapping &m : mappings)
    scan.read_mapping(m, [&](uint64_t bytes) {
      state.scanned_bytes += bytes;
      if (progress) progress(state);
    });
  return scan.take();
}

}  // namespace egpu::fatbin
