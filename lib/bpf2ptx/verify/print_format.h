// The format strings of bpf_printk(): what egpu-load can print later.
#pragma once
#include <string>

#include "egpu/result.h"

namespace egpu::bpf {

/// The number of arguments that the format takes, at most 3. Error: the conversion that is not
/// supported. Supported: %d %i %u %x %X %c %p with flags -+ #0, width and h, hh, l, ll; and %%.
Result<int> count_conversions(const std::string &format_text);

}  // namespace egpu::bpf
