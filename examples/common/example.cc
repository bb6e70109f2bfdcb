#include "example.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace gpu {

void fail(const char *format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("FAIL ", stdout);
  std::vprintf(format, arguments);
  std::fputs("\n", stdout);
  va_end(arguments);
  std::fflush(stdout);
  std::_Exit(1);
}

}  // namespace gpu

namespace example {
namespace {

struct Counts {
  uint64_t launches = 0, blocks = 0, warps = 0, threads = 0, loads = 0, stores = 0, bytes = 0;
};
std::mutex mutex;
std::map<std::string, Counts> counts;

}  // namespace

void count(const std::string &kernel, const gpu::Config &config, uint64_t times) {
  const auto volume = [](const gpu::Dim &dim) { return uint64_t{dim.x} * dim.y * dim.z; };
  const uint64_t blocks = volume(config.grid) * times, threads = volume(config.block);
  const std::lock_guard lock(mutex);
  Counts &sum = counts[kernel];
  sum.launches += times;
  sum.blocks += blocks;
  sum.warps += blocks * ((threads + 31) / 32);
  sum.threads += blocks * threads;
}

void count_accesses(const std::string &kernel, uint64_t loads, uint64_t stores, uint64_t bytes) {
  const std::lock_guard lock(mutex);
  Counts &sum = counts[kernel];
  sum.loads += loads;
  sum.stores += stores;
  sum.bytes += bytes;
}

void dump(const void *data, size_t size_bytes) {
  if (common().dump.empty()) return;
  static std::FILE *file = std::fopen(common().dump.c_str(), "wb");
  if (!file) gpu::fail("%s: cannot write", common().dump.c_str());
  if (std::fwrite(data, 1, size_bytes, file) != size_bytes || std::fflush(file))
    gpu::fail("%s: write failed", common().dump.c_str());
}

int finish(const char *name, bool passed) {
  if (common().print_counts) {
    std::printf("{\"kernels\":[");
    const char *separator = "";
    for (const auto &[kernel, sum] : counts) {
      std::printf("%s{\"name\":\"%s\",\"launches\":%llu,\"blocks\":%llu,\"warps\":%llu,\"threads\":%llu",
                  separator, kernel.c_str(), static_cast<unsigned long long>(sum.launches),
                  static_cast<unsigned long long>(sum.blocks), static_cast<unsigned long long>(sum.warps),
                  static_cast<unsigned long long>(sum.threads));
      if (sum.bytes)
        std::printf(",\"global_loads\":%llu,\"global_stores\":%llu,\"global_bytes\":%llu",
                    static_cast<unsigned long long>(sum.loads), static_cast<unsigned long long>(sum.stores),
                    static_cast<unsigned long long>(sum.bytes));
      std::printf("}");
      separator = ",";
    }
    std::printf("]}\n");
  }
  std::printf("%s %s\n", passed ? "PASS" : "FAIL", name);
  std::fflush(stdout);
  return passed ? 0 : 1;
}

}  // namespace example
