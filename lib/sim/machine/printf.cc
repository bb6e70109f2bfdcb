#include "lib/sim/machine/printf.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace egpu::sim {

std::string format_printf(const std::string &format, uint64_t args, const ReadBytes &read,
                          const ReadString &read_string, int *count) {
  std::string out;
  uint64_t offset = 0;
  *count = 0;
  auto next = [&](uint32_t bytes, uint64_t &value) {
    offset = (offset + bytes - 1) / bytes * bytes;
    value = 0;
    bool ok = read(args + offset, &value, bytes);
    offset += bytes;
    ++*count;
    return ok;
  };
  for (size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out.push_back(format[i++]);
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      out.push_back('%');
      i += 2;
      continue;
    }
    // %[flags][width][.precision][length]conversion; '*' takes an int.
    size_t begin = i++;
    std::string spec = "%";
    uint64_t value = 0;
    while (i < format.size() && std::strchr("-+ #0123456789.*", format[i])) {
      if (format[i] == '*') {
        if (!next(4, value)) return out;
        spec += std::to_string(static_cast<int32_t>(value));
      } else {
        spec.push_back(format[i]);
      }
      ++i;
    }
    uint32_t bytes = 4;
    while (i < format.size() && std::strchr("hljztL", format[i])) {
      if (std::strchr("ljzt", format[i])) bytes = 8;
      ++i;
    }
    if (i >= format.size() || spec.size() > 64) return out + format.substr(begin);
    char conversion = format[i++];
    char text[512];
    switch (conversion) {
      case 'd':
      case 'i':
        if (!next(bytes, value)) return out;
        std::snprintf(
            text, sizeof text, (spec + "lld").c_str(),
            bytes == 4 ? static_cast<long long>(static_cast<int32_t>(value)) : static_cast<long long>(value));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (!next(bytes, value)) return out;
        std::snprintf(text, sizeof text, (spec + "ll" + conversion).c_str(),
                      static_cast<unsigned long long>(value));
        break;
      case 'c':
        if (!next(4, value)) return out;
        std::snprintf(text, sizeof text, (spec + "c").c_str(), static_cast<int>(value));
        break;
      case 'p':
        if (!next(8, value)) return out;
        std::snprintf(text, sizeof text, (spec + "p").c_str(), reinterpret_cast<void *>(value));
        break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        if (!next(8, value)) return out;
        double number;
        std::memcpy(&number, &value, 8);
        std::snprintf(text, sizeof text, (spec + conversion).c_str(), number);
        break;
      }
      case 's': {
        if (!next(8, value)) return out;
        std::string string;
        if (!read_string(value, string)) return out;
        std::string big(string.size() + 512, '\0');
        int length = std::snprintf(big.data(), big.size(), (spec + "s").c_str(), string.c_str());
        out.append(
            big, 0,
            static_cast<size_t>(length > 0 ? std::min<int>(length, static_cast<int>(big.size()) - 1) : 0));
        continue;
      }
      default:
        out += format.substr(begin, i - begin);
        continue;
    }
    out += text;
  }
  return out;
}

}  // namespace egpu::sim
