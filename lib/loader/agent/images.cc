#include "lib/loader/agent/images.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/loader/agent/queue.h"

namespace egpu::agent {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1, kFatbinMagic = 0xba55ed50;
constexpr uint16_t kEntryPtx = 1;
constexpr size_t kSmallestEntryHeader = 64;
constexpr int kMaxFatbins = 4096;  // of one wrapper

struct Wrapper {
  uint32_t magic, version;
  const void *data;
  const void *const *more;  // version 2: a NULL-ended array of fatbins
};
struct FatbinHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t body_bytes;
};
struct FatbinEntry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
};
static_assert(sizeof(Wrapper) == 24 && sizeof(FatbinHeader) == 16 && sizeof(FatbinEntry) == 16);

bool write_all(int fd, const void *from, size_t bytes) {
  const char *next = static_cast<const char *>(from);
  while (bytes) {
    ssize_t put = write(fd, next, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    next += put;
    bytes -= static_cast<size_t>(put);
  }
  return true;
}

template <class T>
T read_at(const void *from, size_t offset = 0) {
  T value;
  memcpy(&value, static_cast<const char *>(from) + offset, sizeof value);
  return value;
}

// The PTX entries of one fatbin, appended to the file. `*total` counts their bytes.
bool copy_ptx_entries(int fd, const void *fatbin, size_t limit, uint64_t *total) {
  if (limit < sizeof(FatbinHeader)) return false;
  FatbinHeader header = read_at<FatbinHeader>(fatbin);
  if (header.magic != kFatbinMagic || header.header_bytes < sizeof header || limit < header.header_bytes)
    return false;
  uint64_t left = limit - header.header_bytes;
  if (header.body_bytes < left) left = header.body_bytes;
  const char *at = static_cast<const char *>(fatbin) + header.header_bytes;
  while (left >= kSmallestEntryHeader) {
    FatbinEntry entry = read_at<FatbinEntry>(at);
    if (entry.header_bytes < kSmallestEntryHeader || entry.header_bytes > left ||
        entry.payload_bytes > left - entry.header_bytes)
      return false;
    uint64_t bytes = entry.header_bytes + entry.payload_bytes;
    if (entry.kind == kEntryPtx) {
      if (!write_all(fd, at, bytes)) return false;
      *total += bytes;
    }
    at += bytes;
    left -= bytes;
  }
  return true;
}

// One fatbin with the PTX entries of all: of the fatbin itself and, for code that was linked on
// the device (-rdc=true), of its objects.
bool copy_fatbins(int fd, const void *fatbin, size_t limit, const void *const *more) {
  FatbinHeader header = {kFatbinMagic, 1, sizeof(FatbinHeader), 0};
  if (!write_all(fd, &header, sizeof header)) return false;
  bool ok = true;
  if (fatbin) ok = copy_ptx_entries(fd, fatbin, limit, &header.body_bytes);
  for (int i = 0; more && more[i] && i < kMaxFatbins; ++i)
    ok = copy_ptx_entries(fd, more[i], SIZE_MAX, &header.body_bytes) && ok;
  return pwrite(fd, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) && ok;
}

// How long an ELF image is: the end of its last header table, segment or section. 0: malformed.
size_t elf_bytes(const void *image, size_t limit) {
  if (limit < sizeof(Elf64_Ehdr)) return 0;
  Elf64_Ehdr header = read_at<Elf64_Ehdr>(image);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  constexpr uint64_t kMost = uint64_t{1} << 40;
  uint64_t end = sizeof header;
  auto reach = [&](uint64_t offset, uint64_t bytes) {
    if (offset > kMost || bytes > kMost) return false;
    if (offset + bytes > end) end = offset + bytes;
    return end <= limit;
  };
  uint64_t sections = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  uint64_t segments = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_shnum && (header.e_shentsize != sizeof(Elf64_Shdr) || !reach(header.e_shoff, sections)))
    return 0;
  if (header.e_phnum && (header.e_phentsize != sizeof(Elf64_Phdr) || !reach(header.e_phoff, segments)))
    return 0;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section = read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
        !reach(section.sh_offset, section.sh_size))
      return 0;
  }
  return end;
}

// Module loads of the target while no session wants them cost nothing more.
bool wanted() { return process.active.load(std::memory_order_acquire); }

void report(uint64_t module, bool is_library, const void *image, size_t limit) {
  session::Image message = {module, session::kPtxText, is_library};
  session::ImageForm form;
  int fd = copy_image(image, limit, &form);
  if (fd < 0) {
    push_warning("a module's image cannot be copied: its kernels are not probed");
    return;
  }
  message.form = form;
  Node *node = new_node(Told::packet, session::Kind::image, sizeof message);
  if (!node) {
    close(fd);
    return;
  }
  memcpy(node->payload(), &message, sizeof message);
  node->fd = fd;
  push(node);
}

}  // namespace

int copy_image(const void *image, size_t limit, session::ImageForm *form) {
  int fd = memfd_create("egpu-image", MFD_CLOEXEC);
  if (fd < 0) return -1;
  uint32_t magic = limit >= sizeof magic ? read_at<uint32_t>(image) : 0;
  bool ok;
  if (magic == kWrapperMagic && limit == SIZE_MAX) {
    Wrapper wrapper = read_at<Wrapper>(image);
    uint32_t inner = wrapper.data ? read_at<uint32_t>(wrapper.data) : 0;
    *form = session::kFatbin;
    // Version 2 wraps what the device linker made, an ELF file at times: the PTX is in the objects.
    ok = copy_fatbins(fd, inner == kFatbinMagic ? wrapper.data : nullptr, SIZE_MAX,
                      wrapper.version == 2 ? wrapper.more : nullptr);
    if (ok && inner != kFatbinMagic && wrapper.version != 2 && wrapper.data) {
      close(fd);
      return copy_image(wrapper.data, limit, form);
    }
  } else if (magic == kFatbinMagic) {
    *form = session::kFatbin;
    ok = copy_fatbins(fd, image, limit, nullptr);
  } else if (limit >= SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0) {
    *form = session::kElf;
    size_t bytes = elf_bytes(image, limit);
    ok = bytes && write_all(fd, image, bytes);
  } else {
    *form = session::kPtxText;
    size_t length = limit == SIZE_MAX ? strlen(static_cast<const char *>(image))
                                      : strnlen(static_cast<const char *>(image), limit);
    ok = write_all(fd, image, length) && write_all(fd, "", 1);
  }
  if (ok) return fd;
  close(fd);
  return -1;
}

void report_image(uint64_t module, bool is_library, const void *image) {
  if (wanted() && image) report(module, is_library, image, SIZE_MAX);
}

void report_image_file(uint64_t module, bool is_library, const char *path) {
  if (!wanted() || !path) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat file;
  if (fd >= 0 && fstat(fd, &file) == 0 && file.st_size > 0) {
    // Read, not mapped: the file may be truncated meanwhile.
    size_t size = static_cast<size_t>(file.st_size), done = 0;
    char *bytes = static_cast<char *>(malloc(size));
    while (bytes && done < size) {
      ssize_t got = read(fd, bytes + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    if (bytes && done) report(module, is_library, bytes, done);
    free(bytes);
  }
  if (fd >= 0) close(fd);
}

}  // namespace egpu::agent
