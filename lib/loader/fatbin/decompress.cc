#include "lib/loader/fatbin/decompress.h"

#include <lz4.h>
#include <zstd.h>

#include <climits>

#include "lib/loader/fatbin/images.h"

namespace egpu::fatbin {
namespace {

// LZ4's block format makes at most 255 bytes of one. Zstandard's can repeat one byte 128 KiB at a
// time from a block of 4 bytes; PTX reaches 100. 40000 lets all honest images pass.
constexpr uint64_t kMaxLz4Ratio = 255, kMaxZstdRatio = 40000;

Result<uint64_t> checked_size(const Entry &entry, uint64_t max_ratio) {
  uint64_t size = entry.uncompressed_bytes;
  if (entry.compressed_bytes == 0) return Error{"compressed image without a compressed size"};
  if (size > kMaxImageBytes)
    return Error{"uncompressed size " + std::to_string(size) + " is over the limit of " +
                 std::to_string(kMaxImageBytes)};
  if (size > entry.compressed_bytes * max_ratio)
    return Error{"uncompressed size " + std::to_string(size) + " cannot come from " +
                 std::to_string(entry.compressed_bytes) + " bytes"};
  return size;
}

Result<std::string> inflate_zstd(const Entry &entry) {
  TRY(uint64_t size, checked_size(entry, kMaxZstdRatio));
  std::string text(size, '\0');
  size_t n = ZSTD_decompress(text.data(), text.size(), entry.payload, entry.compressed_bytes);
  if (ZSTD_isError(n)) return Error{std::string("zstd: ") + ZSTD_getErrorName(n)};
  if (n != size)
    return Error{"zstd: gives " + std::to_string(n) + " bytes, header says " + std::to_string(size)};
  return text;
}

Result<std::string> inflate_lz4(const Entry &entry) {
  TRY(uint64_t size, checked_size(entry, kMaxLz4Ratio));
  if (entry.compressed_bytes > INT_MAX) return Error{"lz4: block is too long"};
  std::string text(size, '\0');
  int n = LZ4_decompress_safe(reinterpret_cast<const char *>(entry.payload), text.data(),
                              static_cast<int>(entry.compressed_bytes), static_cast<int>(size));
  if (n < 0) return Error{"lz4: malformed block"};
  if (static_cast<uint64_t>(n) != size)
    return Error{"lz4: gives " + std::to_string(n) + " bytes, header says " + std::to_string(size)};
  return text;
}

}  // namespace

Result<std::string> payload_text(const Entry &entry) {
  if ((entry.flags & kZstd) != 0) return inflate_zstd(entry);
  if ((entry.flags & kLz4) != 0) return inflate_lz4(entry);
  if (entry.compressed_bytes != 0) return Error{"compressed in an unknown way"};
  if (entry.payload_bytes > kMaxImageBytes) return Error{"image is over the limit"};
  return std::string(reinterpret_cast<const char *>(entry.payload), entry.payload_bytes);
}

}  // namespace egpu::fatbin
