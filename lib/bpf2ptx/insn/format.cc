#include "lib/bpf2ptx/insn/format.h"

#include <cassert>

namespace egpu::bpf {

std::string hex(uint64_t number, size_t digits) {
  std::string text;
  for (; number; number >>= 4) text.insert(text.begin(), "0123456789abcdef"[number & 15]);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return "0x" + text;
}

std::string with_sign(int64_t number) { return (number < 0 ? "" : "+") + std::to_string(number); }

std::string format_texts(std::string_view text, std::initializer_list<std::string> arguments) {
  std::string out;
  auto next = arguments.begin();
  for (size_t hole; (hole = text.find("{}")) != std::string_view::npos; text.remove_prefix(hole + 2)) {
    assert(next != arguments.end());
    out += text.substr(0, hole);
    out += *next++;
  }
  assert(next == arguments.end());
  return out += text;
}

}  // namespace egpu::bpf
