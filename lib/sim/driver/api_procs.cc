// cuGetProcAddress, and the entry points that exist in name only.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "lib/sim/driver/driver.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

namespace egpu::sim {
namespace {

constexpr int kVersions = 4;
struct VersionRow {
  const char *name;
  int since[kVersions];
};
constexpr VersionRow kRows[] = {
#define X(name, v1, v2, v3, v4) {#name, {v1, v2, v3, v4}},
#include "lib/sim/driver/versions.inc"
#undef X
    // cuda-formats.md, section 5: the third version has another name.
};

enum QueryResult : int { kFound = 0, kSymbolNotFound = 1, kVersionNotSufficient = 2 };
constexpr uint64_t kPerThreadFlag = 2;
constexpr int kWithFlagsSince = 12000;

void *own_symbol(const std::string &name) {
  static void *self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void *>(&own_symbol), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  void *address = self ? dlsym(self, name.c_str()) : nullptr;
  // A program's own symbol of that name, found through our dependencies, is not ours.
  Dl_info of_address{}, of_self{};
  if (address && dladdr(address, &of_address) && dladdr(reinterpret_cast<void *>(&own_symbol), &of_self) &&
      of_address.dli_fbase != of_self.dli_fbase)
    return nullptr;
  return address;
}

// The ABI name for a base name and a CUDA version: "cuMemAlloc" at 12000 is "cuMemAlloc_v2".
// Empty: the function is newer than that version.
std::string abi_name(const char *name, int version) {
  if (!std::strcmp(name, "cuGraphInstantiate") && version >= kWithFlagsSince)
    return "cuGraphInstantiateWithFlags";
  for (const VersionRow &row : kRows) {
    if (std::strcmp(row.name, name) != 0) continue;
    int chosen = 0;
    for (int i = 0; i < kVersions; ++i)
      if (row.since[i] && row.since[i] <= version) chosen = i + 1;
    if (chosen == 0) return "";
    return chosen == 1 ? name : name + ("_v" + std::to_string(chosen));
  }
  return name;
}

// The second version says with its result alone that there is no such function.
Status not_found(QueryResult why, int *result) {
  if (result) *result = why;
  return kSuccess;
}

Status proc_address(const char *name, void **function, int version, uint64_t flags, int *result) {
  if (!name || !function || flags > kPerThreadFlag) return kInvalidValue;
  *function = nullptr;
  if (result) *result = kFound;
  if (!*name) return kSuccess;  // a runtime's first and last question (cuda-formats.md, section 5)
  const std::string symbol = abi_name(name, version);
  if (symbol.empty()) return not_found(kVersionNotSufficient, result);
  if (std::strncmp(name, "cu", 2) == 0) {
    if (flags == kPerThreadFlag)
      for (const char *suffix : {"_ptsz", "_ptds"})
        if (!*function) *function = own_symbol(symbol + suffix);
    if (!*function) *function = own_symbol(symbol);
  }
  return *function ? kSuccess : not_found(kSymbolNotFound, result);
}

Status unwritten(const char *name, bool *said) {
  if (!*said) std::fprintf(stderr, "egpu-sim: warning: %s: not supported by the simulated driver\n", name);
  *said = true;
  return kNotSupported;
}

}  // namespace
}  // namespace egpu::sim

CU_API(cuGetProcAddress, (const char *name, void **function, int version, uint64_t flags),
       (name, function, version, flags)) {
  int result = kFound;
  CU_TRY(proc_address(name, function, version, flags, &result));
  return result == kFound ? kSuccess : kNotFound;
}
CU_API(cuGetProcAddress_v2, (const char *name, void **function, int version, uint64_t flags, int *result),
       (name, function, version, flags, result)) {
  return proc_address(name, function, version, flags, result);
}

#define X(name)                                  \
  CU_API(name, (), ()) {                         \
    static bool said = false;                    \
    return ::egpu::sim::unwritten(#name, &said); \
  }
#include "lib/sim/driver/unwritten.inc"
#undef X
