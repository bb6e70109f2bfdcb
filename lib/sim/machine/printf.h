// Formats what a kernel prints.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace egpu::sim {

using ReadBytes = std::function<bool(uint64_t address, void *to, uint32_t bytes)>;
using ReadString = std::function<bool(uint64_t address, std::string &out)>;

/// The text of printf(format, ...); `args` is a buffer as CUDA's vprintf wants it: every argument
/// aligned to its size, chars and shorts as int, floats as double. Stops where a read fails.
/// `count`: how many arguments the format has.
std::string format_printf(const std::string &format, uint64_t args, const ReadBytes &read,
                          const ReadString &read_string, int *count);

}  // namespace egpu::sim
