#include "lib/loader/map/printk.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "lib/loader/map/layout.h"

namespace egpu::map {
namespace {

constexpr int kMaxWidth = 256;  // wider fields are a mistake, or meant to fill our memory

// One "%-08llx", split.
struct Conversion {
  std::string flags;  // with width and precision
  int length_bytes = 4;
  char letter = 0;
  size_t text_bytes = 0;  // in the format, from the %
};

// Parses at format[at] == '%'; letter 0: not a conversion that we print.
Conversion parse_conversion(const std::string &format, size_t at) {
  Conversion c;
  size_t i = at + 1;
  auto take_number = [&] {
    int value = 0;
    for (; i < format.size() && std::isdigit(static_cast<unsigned char>(format[i])); i++) {
      value = std::min(value * 10 + (format[i] - '0'), kMaxWidth);
    }
    return value;
  };
  while (i < format.size() && std::strchr("-+ #0", format[i]) != nullptr && c.flags.size() < 5)
    c.flags += format[i++];
  if (int width = take_number(); width > 0) c.flags += std::to_string(width);
  if (i < format.size() && format[i] == '.') {
    i++;
    c.flags += "." + std::to_string(take_number());
  }
  static constexpr struct {
    const char *text;
    int bytes;
  } kLengths[] = {{"hh", 1}, {"h", 2}, {"ll", 8}, {"l", 8}, {"z", 8}, {"j", 8}, {"t", 8}};
  for (const auto &length : kLengths) {
    if (format.compare(i, std::strlen(length.text), length.text) != 0) continue;
    i += std::strlen(length.text), c.length_bytes = length.bytes;
    break;
  }
  if (i < format.size() && std::strchr("diuxXocp%", format[i]) != nullptr) c.letter = format[i];
  c.text_bytes = i + (i < format.size() ? 1 : 0) - at;
  return c;
}

std::string print_conversion(const Conversion &c, uint64_t argument) {
  char text[2 * kMaxWidth + 64];
  std::string spec = "%" + c.flags;
  int shift = 64 - 8 * c.length_bytes;
  switch (c.letter) {
    case 'c':
      return std::string(1, static_cast<char>(argument));
    case 'p':
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(argument));
      break;
    case 'd':
    case 'i':
      std::snprintf(text, sizeof text, (spec + "lld").c_str(),
                    static_cast<long long>(static_cast<int64_t>(argument << shift) >> shift));
      break;
    default:
      std::snprintf(text, sizeof text, (spec + "ll" + c.letter).c_str(),
                    static_cast<unsigned long long>(argument << shift >> shift));
  }
  return text;
}

Result<std::string> format_of(const std::vector<MapData> &maps, const PrintkRecord &record) {
  if (record.map >= maps.size() || record.offset >= maps[record.map].spec.initial.size())
    return Error{"printk: a format string lies outside the program's constants"};
  const std::vector<uint8_t> &bytes = maps[record.map].spec.initial;
  auto begin = bytes.begin() + record.offset;
  return std::string(begin, std::find(begin, bytes.end(), 0));
}

}  // namespace

std::string format_printk(const std::string &format, const std::vector<uint64_t> &arguments) {
  std::string out;
  size_t used = 0;
  for (size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    Conversion c = parse_conversion(format, i);
    if (c.letter == '%')
      out += '%';
    else if (c.letter == 0 || used >= arguments.size())
      out.append(format, i, c.text_bytes), used++;  // an argument that cannot be printed is still passed over
    else
      out += print_conversion(c, arguments[used++]);
    i += c.text_bytes;
  }
  return out;
}

Result<PrintkBatch> read_printk(const std::vector<MapData> &maps, size_t ring, uint64_t tail) {
  const MapData &map = maps[ring];
  const uint64_t capacity = map.spec.shape.max_entries;
  if (map.spec.shape.type != Type::ringbuf || map.block.size() != block_bytes(map.spec.shape, 1))
    return Error{"map " + map.spec.name + ": is not a ring of lines"};
  PrintkHeader header;
  std::memcpy(&header, map.block.data(), sizeof header);
  // The GPU's tail lags behind ours until the agent stores it.
  PrintkBatch batch{{}, std::max(tail, header.tail), header.dropped};
  if (batch.tail > header.head || header.head - batch.tail > capacity)
    return Error{"map " + map.spec.name + ": is damaged: positions " + std::to_string(batch.tail) + " to " +
                 std::to_string(header.head) + " in a ring of " + std::to_string(capacity)};
  for (; batch.tail < header.head; batch.tail++) {
    PrintkRecord record;
    std::memcpy(&record, map.block.data() + sizeof header + batch.tail % capacity * sizeof record,
                sizeof record);
    if (record.sequence != batch.tail + 1) break;  // still being written; the next snapshot has it
    TRY(std::string format, format_of(maps, record));
    std::vector<uint64_t> arguments(record.arguments, record.arguments + std::min(record.argument_count, 3u));
    PrintkLine line{record.time_ns, record.kernel, record.site, format_printk(format, arguments)};
    while (!line.text.empty() && line.text.back() == '\n') line.text.pop_back();
    batch.lines.push_back(std::move(line));
  }
  return batch;
}

}  // namespace egpu::map
