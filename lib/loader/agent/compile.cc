#include "lib/loader/agent/compile.h"

#include <string.h>

namespace egpu::agent {

CUresult compile_ptx(const char *ptx, size_t bytes, Compiled *compiled) {
  memset(compiled, 0, sizeof *compiled);
  const int options[] = {driver::kJitErrorLogBuffer, driver::kJitErrorLogBufferSize,
                         driver::kJitInfoLogBuffer, driver::kJitInfoLogBufferSize};
  memcpy(compiled->options, options, sizeof options);
  // Values that are integers travel in the pointer itself (driver API manual, CUjit_option).
  void *size = reinterpret_cast<void *>(kLogBytes - 1);
  void *values[] = {compiled->errors, size, compiled->remarks, size};
  memcpy(compiled->values, values, sizeof values);
  CUresult error = cu.cuLinkCreate_v2(4, compiled->options, compiled->values, &compiled->link);
  if (error != 0) {
    compiled->link = nullptr;
    return error;
  }
  error = cu.cuLinkAddData_v2(compiled->link, driver::kJitInputPtx, const_cast<char *>(ptx), bytes, "egpu", 0,
                              nullptr, nullptr);
  if (error == 0) error = cu.cuLinkComplete(compiled->link, &compiled->cubin, &compiled->cubin_bytes);
  compiled->errors[kLogBytes - 1] = compiled->remarks[kLogBytes - 1] = 0;
  return error;
}

void free_compiled(Compiled *compiled) {
  if (compiled->link) cu.cuLinkDestroy(compiled->link);
  compiled->link = nullptr;
  compiled->cubin = nullptr;
}

}  // namespace egpu::agent
