#include "tests/sim-machine/vectors/results.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace egpu::vectors {
namespace {

constexpr size_t kMostShown = 4;  // threads of a row
constexpr std::string_view kSeparator = " :: ";

unsigned digits(const Type &type) { return type.bits == 1 ? 1 : type.bits / 4; }

std::string hex(uint64_t value, unsigned width) {
  char text[20];
  std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(width), static_cast<unsigned long long>(value));
  return text;
}

struct Format {
  unsigned bits, mantissa_bits;
};
Format format_of(const Type &type) {
  if (type.name == "f64") return {64, 52};
  if (type.name.starts_with("f16")) return {16, 10};
  if (type.name.starts_with("bf16")) return {16, 7};
  return {32, 23};
}

double to_double(uint64_t bits, Format format) {
  if (format.bits == 64) return std::bit_cast<double>(bits);
  const unsigned exponent_bits = format.bits - 1 - format.mantissa_bits;
  const uint64_t mantissa = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> format.mantissa_bits & ((1u << exponent_bits) - 1));
  const int highest = (1 << exponent_bits) - 1, bias = highest / 2;
  const int scale = std::max(exponent, 1) - bias - static_cast<int>(format.mantissa_bits);
  const uint64_t leading = exponent ? uint64_t{1} << format.mantissa_bits : 0;
  double value = std::ldexp(static_cast<double>(mantissa | leading), scale);
  if (exponent == highest) value = mantissa ? std::nan("") : HUGE_VAL;
  return bits >> (format.bits - 1) & 1 ? -value : value;
}

// Of the number's place: the distance to the next number of the format.
double ulp(double value, Format format) {
  const int exponent = value == 0 ? -2000 : std::ilogb(value);
  const int lowest = format.bits == 64 ? -1022 : format.mantissa_bits == 10 ? -14 : -126;
  return std::ldexp(1.0, std::max(exponent, lowest) - static_cast<int>(format.mantissa_bits));
}

bool is_within(const Bound &bound, Format format, uint64_t expected_bits, uint64_t got_bits) {
  const double expected = to_double(expected_bits, format), got = to_double(got_bits, format);
  if (bound.kind == Bound::any_nan) return expected != expected && got != got;
  const double error = std::fabs(expected - got);
  switch (bound.kind) {
    case Bound::relative:
      return error <= bound.limit * std::fabs(expected);
    case Bound::absolute:
      return error <= bound.limit;
    default:
      return error <= bound.limit * ulp(expected, format);
  }
}

// One number of a result: packed ones are taken apart.
bool is_number_close(const Row &row, Format format, uint64_t expected, uint64_t got) {
  if (expected == got) return true;
  for (const Bound &bound : row.bounds)
    if (is_within(bound, format, expected, got)) return true;
  return false;
}

}  // namespace

std::string to_line(const Row &row, const Values &values) {
  std::string line = row.text + std::string(kSeparator) + hex(fingerprint(row), 16) + " ::";
  for (size_t i = 0; i < row.results.size(); ++i) {
    line += ' ';
    for (size_t thread = 0; thread < row.threads(); ++thread)
      line += hex(values[i * row.threads() + thread], digits(row.results[i]));
  }
  return line;
}

Result<std::map<std::string, std::string>> read_results(const std::string &path) {
  std::ifstream file(path);
  if (!file) return Error{path + ": cannot be read"};
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with("#")) lines[line.substr(0, line.find(kSeparator))] = line;
  return lines;
}

Result<Values> from_line(const Row &row, const std::string &line) {
  const std::string head = row.text + std::string(kSeparator) + hex(fingerprint(row), 16) + " ::";
  if (!line.starts_with(head)) return Error{"the results are of other inputs; run tests/gpu/vectors.sh"};
  Values values;
  size_t at = head.size();
  for (const Type &type : row.results) {
    ++at;  // the space
    for (size_t thread = 0; thread < row.threads(); ++thread, at += digits(type)) {
      if (at + digits(type) > line.size()) return Error{"the results are cut off"};
      values.push_back(std::stoull(line.substr(at, digits(type)), nullptr, 16));
    }
  }
  return values;
}

bool is_close(const Row &row, const Type &type, uint64_t expected, uint64_t got) {
  if (expected == got) return true;
  const Format format = format_of(type);
  for (unsigned shift = 0; shift < type.bits; shift += format.bits) {
    const uint64_t mask = ~uint64_t{0} >> (64 - std::min(format.bits, type.bits));
    if (!is_number_close(row, format, expected >> shift & mask, got >> shift & mask)) return false;
  }
  return true;
}

std::string differences(const Row &row, const Values &expected, const Values &got) {
  std::string text;
  size_t count = 0;
  for (size_t thread = 0; thread < row.threads(); ++thread)
    for (size_t i = 0; i < row.results.size(); ++i) {
      const Type &type = row.results[i];
      const size_t at = i * row.threads() + thread;
      if (is_close(row, type, expected[at], got[at]) || ++count > kMostShown) continue;
      text += row.text + ":";
      for (size_t k = 0; k < row.sources.size(); ++k)
        text += std::string(" ") + "abc"[k] + "=" + hex(row.inputs[k][thread], digits(row.sources[k]));
      text += std::string(": ") + "de"[i] + " is " + hex(got[at], digits(type)) + ", not " +
              hex(expected[at], digits(type)) + "\n";
    }
  if (count > kMostShown) text += row.text + ": " + std::to_string(count) + " differ\n";
  return text;
}

}  // namespace egpu::vectors
