// A bounds-checked walk over the entries of a CUDA fatbin.
//
// Header only, no allocation, no exceptions, no library: the agent includes it too. All offsets
// are of cuda-formats.md, section 6 ("Fatbin container"). A fatbin is a 16-byte header and
// entries back to back; an entry is a header of its own size and a payload:
//
//   Walk walk;
//   if (!walk.open(data, size)) complain(walk.cause);
//   while (walk.next()) use(walk.entry);
//   if (walk.cause) complain(walk.cause, walk.offset);
#pragma once
#include <stdint.h>
#include <string.h>

namespace egpu::fatbin {

constexpr uint32_t kMagic = 0xBA55ED50, kWrapperMagic = 0x466243B1;
constexpr uint64_t kHeaderBytes = 16, kWrapperBytes = 24;
constexpr uint32_t kMinEntryHeaderBytes = 64, kMaxEntryHeaderBytes = 4096;

enum EntryKind : uint16_t { kPtx = 1, kCubin = 2, kLtoIr = 8 };
enum EntryFlags : uint64_t {
  kDebug = 0x2,
  kLz4 = 0x2000,
  kZstd = 0x8000,
  kArchSpecific = 0x100000,  // sm_90a
  kFamily = 0x200000,        // sm_100f
};

struct Entry {
  uint16_t kind;
  uint32_t arch;  // 75, 90, 100
  uint64_t flags;
  uint32_t compressed_bytes;  // 0: not compressed
  uint64_t uncompressed_bytes;
  const uint8_t *payload;
  uint64_t payload_bytes;  // with the padding to 8
  const uint8_t *options;  // ptxas options, not NUL-ended; may be binary
  uint32_t options_bytes;
  uint64_t offset;  // of the entry's header, from the start of the fatbin
};

template <class T>
inline T load(const uint8_t *at) {
  T value;
  memcpy(&value, at, sizeof(T));
  return value;
}

/// Does a fatbin header begin here?
inline bool is_fatbin(const uint8_t *data, uint64_t size) {
  return size >= kHeaderBytes && load<uint32_t>(data) == kMagic && load<uint16_t>(data + 4) == 1 &&
         load<uint16_t>(data + 6) == kHeaderBytes;
}

/// Bytes of the whole fatbin by its header, the header included. Only after is_fatbin.
inline uint64_t fatbin_bytes(const uint8_t *data) {
  uint64_t rest = load<uint64_t>(data + 8);
  return rest > UINT64_MAX - kHeaderBytes ? UINT64_MAX : kHeaderBytes + rest;
}

// The fields of an entry header that lies complete in memory; its payload is not looked at.
// Returns what is wrong, or null. `room` counts from the header's start to the fatbin's end.
inline const char *parse_entry_header(const uint8_t *at, uint64_t header_room, uint64_t room, Entry &entry) {
  if (header_room < kMinEntryHeaderBytes) return "entry header is cut off";
  uint32_t header_bytes = load<uint32_t>(at + 0x04);
  uint64_t payload_bytes = load<uint64_t>(at + 0x08);
  if (header_bytes < kMinEntryHeaderBytes || header_bytes > kMaxEntryHeaderBytes)
    return "entry header has an absurd size";
  if (header_bytes > header_room) return "entry header is cut off";
  if (payload_bytes > room - header_bytes) return "entry's payload is cut off";
  entry.kind = load<uint16_t>(at);
  entry.compressed_bytes = load<uint32_t>(at + 0x10);
  entry.arch = load<uint32_t>(at + 0x1c);
  entry.flags = load<uint64_t>(at + 0x28);
  entry.uncompressed_bytes = load<uint64_t>(at + 0x38);
  entry.payload = at + header_bytes;
  entry.payload_bytes = payload_bytes;
  entry.options = nullptr;
  entry.options_bytes = 0;
  if (entry.compressed_bytes > payload_bytes) return "entry's compressed size is over its payload's size";
  if (uint32_t record = load<uint32_t>(at + 0x14); record != 0) {
    if (record > header_bytes || header_bytes - record < 8) return "entry's options lie outside its header";
    uint32_t text = load<uint32_t>(at + record), length = load<uint32_t>(at + record + 4);
    if (text > header_bytes || length > header_bytes - text) return "entry's options lie outside its header";
    entry.options = at + text;
    entry.options_bytes = length;
  }
  return nullptr;
}

struct Walk {
  const uint8_t *data = nullptr;
  uint64_t offset = 0;       // of the next entry
  uint64_t total_bytes = 0;  // of the fatbin
  Entry entry{};
  const char *cause = nullptr;  // what is wrong at `offset`

  bool open(const uint8_t *bytes, uint64_t size) {
    data = bytes;
    offset = 0;
    cause = nullptr;
    if (!is_fatbin(bytes, size)) return fail("not a fatbin header");
    total_bytes = fatbin_bytes(bytes);
    if (total_bytes > size) return fail("fatbin is cut off");
    offset = kHeaderBytes;
    return true;
  }

  bool next() {
    if (cause != nullptr || offset == total_bytes) return false;
    uint64_t room = total_bytes - offset;
    if (const char *wrong = parse_entry_header(data + offset, room, room, entry)) return fail(wrong);
    entry.offset = offset;
    offset += static_cast<uint64_t>(entry.payload - (data + offset)) + entry.payload_bytes;
    return true;
  }

 private:
  bool fail(const char *what) {
    cause = what;
    return false;
  }
};

}  // namespace egpu::fatbin
