// Text with holes: format("slot {}: {}", 3, "bad"). g++ 12 has no <format>.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace egpu::bpf {

inline std::string as_text(std::string_view text) { return std::string(text); }
inline std::string as_text(const char *text) { return text; }
inline std::string as_text(char c) { return std::string(1, c); }
template <std::integral T>
std::string as_text(T number) {
  return std::to_string(number);
}

/// "0x1f"; at least `digits` digits.
std::string hex(uint64_t number, size_t digits = 1);
/// "+4", "-4".
std::string with_sign(int64_t number);

std::string format_texts(std::string_view text, std::initializer_list<std::string> arguments);

/// The text with each "{}" replaced by the next argument: a string, a character or an integer.
template <class... T>
std::string format(std::string_view text, const T &...arguments) {
  return format_texts(text, {as_text(arguments)...});
}

}  // namespace egpu::bpf
