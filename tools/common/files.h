// What the tools read and write.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::cli {

/// The bytes of a file, or of stdin for "-".
Result<std::vector<uint8_t>> read_file(const std::string &path);

/// Replaces the file in one step (temporary file beside it, rename); "-" writes to stdout.
Result<Ok> write_file(const std::string &path, const void *data, size_t size_bytes);

/// Flushes stdout; an Error if anything written to it was lost (disk full, pipe closed).
Result<Ok> finish_stdout();

}  // namespace egpu::cli
