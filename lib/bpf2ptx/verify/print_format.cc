#include "lib/bpf2ptx/verify/print_format.h"

#include <string_view>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {

Result<int> count_conversions(const std::string &format_text) {
  constexpr std::string_view kFlags = "-+ #0", kDigits = "0123456789", kConversions = "diuxXcp";
  std::string_view rest = format_text;
  int count = 0;
  for (size_t percent; (percent = rest.find('%')) != rest.npos;) {
    rest.remove_prefix(percent);
    size_t at = 1;
    auto skip = [&](std::string_view set) {
      while (at < rest.size() && set.find(rest[at]) != set.npos) ++at;
    };
    skip(kFlags);
    skip(kDigits);
    size_t length = at;
    skip("hl");
    std::string_view modifier = rest.substr(length, at - length);
    std::string shown(rest.substr(0, at + 1));
    if (shown == "%%") {
      rest.remove_prefix(2);
      continue;
    }
    bool known_length =
        modifier.empty() || modifier == "h" || modifier == "hh" || modifier == "l" || modifier == "ll";
    if (at >= rest.size() || !known_length || kConversions.find(rest[at]) == kConversions.npos)
      return Error{format(
          "bpf_printk() cannot print '{}'; it prints numbers: %d %i %u %x %X %c %p, with l or ll", shown)};
    ++count;
    rest.remove_prefix(at + 1);
  }
  if (count > 3)
    return Error{format("bpf_printk() takes at most 3 arguments here, the format has {}", count)};
  return count;
}

}  // namespace egpu::bpf
