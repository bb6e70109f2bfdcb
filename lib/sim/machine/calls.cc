#include "lib/sim/machine/calls.h"

#include <cstdio>
#include <cstring>
#include <mutex>

#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/printf.h"

namespace egpu::sim {
namespace {

enum Builtin { none, printf_call, assert_call, malloc_call, free_call };
struct Name {
  std::string_view name;
  Builtin id;
};
constexpr Name kBuiltins[] = {
    {"vprintf", printf_call}, {"__assertfail", assert_call}, {"malloc", malloc_call}, {"free", free_call}};

// Lane `l`'s argument `i`.
uint64_t argument(Exec &x, const CallSite &site, size_t i, uint32_t l) {
  uint64_t value = 0;
  if (i >= site.arguments.size()) return 0;
  const Slot &slot = site.arguments[i];
  uint32_t bytes = slot.size_bytes < 8 ? slot.size_bytes : 8;
  const uint8_t *from = site.argument_registers[i] == kNone
                            ? x.local + uint64_t{l} * x.local_stride + x.frame->local_base + slot.offset
                            : x.at<uint8_t>(site.argument_registers[i]) + l * slot.size_bytes;
  std::memcpy(&value, from, bytes);
  return value;
}

void set_result(Exec &x, const CallSite &site, uint32_t l, uint64_t value) {
  if (site.results.empty()) return;
  const Slot &slot = site.results[0];
  uint32_t bytes = slot.size_bytes < 8 ? slot.size_bytes : 8;
  uint8_t *to = site.result_registers[0] == kNone
                    ? x.local + uint64_t{l} * x.local_stride + x.frame->local_base + slot.offset
                    : x.at<uint8_t>(site.result_registers[0]) + l * slot.size_bytes;
  std::memcpy(to, &value, bytes);
}

// A C string at a generic address.
bool read_string(Exec &x, uint64_t address, uint32_t lane, std::string &out) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const uint8_t *at = resolve(x, Space::generic, address + i, 1, 1, lane);
    if (!at) return false;
    if (!*at) return true;
    out.push_back(static_cast<char>(*at));
  }
  return true;
}

void print(Exec &x, const CallSite &site, uint32_t lanes) {
  static std::mutex mutex;
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t l = static_cast<uint32_t>(std::countr_zero(m));
    std::string format;
    if (!read_string(x, argument(x, site, 0, l), l, format)) return;
    bool readable = true;
    int count = 0;
    std::string text = format_printf(
        format, argument(x, site, 1, l),
        [&](uint64_t address, void *to, uint32_t bytes) {
          const uint8_t *at = resolve(x, Space::generic, address, bytes, 1, l);
          if (at) std::memcpy(to, at, bytes);
          return readable = at != nullptr;
        },
        [&](uint64_t address, std::string &s) { return readable = read_string(x, address, l, s); }, &count);
    if (!readable) return;
    std::lock_guard lock(mutex);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    set_result(x, site, l, static_cast<uint64_t>(count));
  }
}

void assert_failed(Exec &x, const CallSite &site, uint32_t lanes) {
  uint32_t l = static_cast<uint32_t>(std::countr_zero(lanes));
  std::string expression, file, function;
  if (!read_string(x, argument(x, site, 0, l), l, expression) ||
      !read_string(x, argument(x, site, 1, l), l, file) ||
      !read_string(x, argument(x, site, 3, l), l, function))
    return;
  raise(x, Fault::assertion, l,
        file + ":" + std::to_string(argument(x, site, 2, l)) + ": " + function + ": Assertion `" +
            expression + "` failed.");
}
}  // namespace

int find_builtin(std::string_view name) {
  for (const Name &row : kBuiltins)
    if (row.name == name) return row.id;
  return 0;
}

void call_builtin(Exec &x, const CallSite &site, uint32_t lanes) {
  switch (site.builtin) {
    case printf_call:
      return print(x, site, lanes);
    case assert_call:
      return assert_failed(x, site, lanes);
    case malloc_call:
      each_lane(lanes, [&](uint32_t l) {
        uint64_t size = argument(x, site, 0, l);
        set_result(x, site, l, size ? x.grid->memory->allocate(size) : 0);
      });
      return;
    default:
      for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t l = static_cast<uint32_t>(std::countr_zero(m));
        uint64_t base = argument(x, site, 0, l);
        if (base && !x.grid->memory->free(base))
          return raise(x, Fault::illegal_address, l, "free of what malloc did not give");
      }
  }
}

}  // namespace egpu::sim
