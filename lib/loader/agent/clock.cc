#include "lib/loader/agent/clock.h"

#include "lib/loader/agent/compile.h"
#include "lib/loader/agent/socket.h"

namespace egpu::agent {
namespace {

// sm_75 and PTX 6.3: the oldest that CUDA 13 drivers run (facts.md, section 5).
constexpr char kClockPtx[] =
    ".version 6.3\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry egpu_agent_clock(.param .u64 out)\n"
    "{\n"
    "  .reg .u64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mov.u64 %rd2, %globaltimer;\n"
    "  st.volatile.u64 [%rd1], %rd2;\n"
    "  ret;\n"
    "}\n";
constexpr int kTries = 20;
constexpr uint64_t kTryLimitNs = kNanosecondsPerSecond;  // a kernel of the target may fill the device

const char *load_clock(ContextState *state) {
  if (state->clock_function) return nullptr;
  Compiled compiled;
  CUresult error = compile_ptx(kClockPtx, sizeof kClockPtx, &compiled);
  if (error == 0) error = cu.cuModuleLoadData(&state->clock_module, compiled.cubin);
  free_compiled(&compiled);
  if (error != 0) return "its kernel cannot be loaded";
  if (cu.cuModuleGetFunction(&state->clock_function, state->clock_module, "egpu_agent_clock") != 0)
    return "its kernel is not found";
  return nullptr;
}

const char *measure(ContextState *state) {
  if (const char *why = load_clock(state)) return why;
  if (!state->clock_word) {
    void *word = nullptr;
    if (!cu.cuMemHostAlloc || cu.cuMemHostAlloc(&word, sizeof(uint64_t), driver::kHostAllocDeviceMap) != 0)
      return "no host memory for it";
    state->clock_word = static_cast<volatile uint64_t *>(word);
  }
  int64_t best = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    *state->clock_word = 0;
    // With unified addressing the device address of this memory is its host address.
    CUdeviceptr argument = reinterpret_cast<CUdeviceptr>(state->clock_word);
    void *parameters[] = {&argument};
    if (cu.cuLaunchKernel(state->clock_function, 1, 1, 1, 1, 1, 1, 0, state->stream, parameters, nullptr) !=
        0)
      return "its kernel cannot be launched";
    uint64_t deadline = now_ns() + kTryLimitNs, host, device;
    do {
      device = *state->clock_word;
      host = now_ns();
    } while (!device && host < deadline);
    if (!device) {
      // The kernel may still write: this word is its for good.
      state->clock_word = nullptr;
      if (best == INT64_MAX) return "the device is busy";
      break;
    }
    int64_t offset = static_cast<int64_t>(host - device);
    if (offset < best) best = offset;
  }
  state->ktime_offset_ns = best;
  return nullptr;
}

}  // namespace

void measure_clock(ContextState *state) {
  // A failure leaves what an earlier session measured.
  if (const char *why = measure(state)) send_warning("GPU times are not on the host's clock: %s", why);
}

}  // namespace egpu::agent
