#include "lib/loader/inject/signal_frame.h"

#include <cpuid.h>

#include <algorithm>
#include <cstring>

namespace egpu::inject {
namespace {

struct Context {  // struct sigcontext_64
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  uint16_t cs, gs, fs, ss;
  uint64_t error, trap, old_mask, cr2, fpstate, reserved[8];
};
struct Frame {  // struct rt_sigframe without the siginfo, which nobody reads
  uint64_t return_address;
  uint64_t flags, link;
  uint64_t stack_address;
  int32_t stack_flags, padding;
  uint64_t stack_bytes;
  Context context;
  uint64_t mask;
};
static_assert(sizeof(Context) == 256 && sizeof(Frame) == 8 + 40 + 256 + 8);

constexpr uint64_t kXstateFlag = 1,
                   kSegmentFlags = 2 | 4;  // UC_FP_XSTATE; UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr uint32_t kXstateMagic1 = 0x46505853, kXstateMagic2 = 0x46505845;
constexpr size_t kSoftwareBytesOffset = 464;  // in the FXSAVE area; ptrace puts XCR0 there
constexpr uint64_t kTileFeatures = uint64_t{3}
                                   << 17;  // AMX: in a signal frame only for threads that asked for it

struct SoftwareBytes {  // struct _fpx_sw_bytes
  uint32_t magic1, extended_bytes;
  uint64_t features;
  uint32_t xstate_bytes, padding[7];
};
static_assert(sizeof(SoftwareBytes) == 48);

// Bytes of the standard XSAVE area with these features. Source: Intel SDM volume 1, 13.4.
size_t xstate_bytes(uint64_t features) {
  size_t size = 512 + 64;
  for (unsigned i = 2; i < 63; ++i) {
    unsigned a, b, c, d;
    if ((features >> i & 1) == 0 || !__get_cpuid_count(0xd, i, &a, &b, &c, &d)) continue;
    if ((c & 1) == 0) size = std::max<size_t>(size, size_t{a} + b);  // not a supervisor state
  }
  return size;
}

void begin_system_call_again(Registers &r) {
  keep_system_call(r);
  auto result = static_cast<int64_t>(r.rax);
  if (static_cast<int64_t>(r.orig_rax) < 0) return;
  if (result != kRestartSys && result != kRestartNoIntr && result != kRestartNoHand &&
      result != kRestartBlock)
    return;
  r.rax = r.orig_rax;
  r.rip -= 2;  // the syscall instruction
}

}  // namespace

SignalFrame make_signal_frame(uint64_t top, uint64_t restorer, const Registers &registers,
                              const std::vector<uint8_t> &xstate, uint64_t signal_mask) {
  uint64_t features = 3;
  if (xstate.size() >= 576) std::memcpy(&features, xstate.data() + kSoftwareBytesOffset, sizeof(features));
  features &= ~kTileFeatures;
  size_t state_bytes = std::min(xstate_bytes(features), xstate.size());
  uint64_t state = (top - state_bytes - sizeof(kXstateMagic2)) & ~uint64_t{63};
  uint64_t address = ((state - sizeof(Frame) - 8) & ~uint64_t{15}) + 8;  // as after a call
  if (address + sizeof(Frame) > state) address -= 16;
  SignalFrame frame{address, std::vector<uint8_t>(state + state_bytes + sizeof(kXstateMagic2) - address)};

  Registers r = registers;
  begin_system_call_again(r);
  Frame f{};
  f.return_address = restorer;
  f.flags = kXstateFlag | kSegmentFlags;
  // An invalid mode: sigreturn then leaves the thread's alternate stack alone, which we do not know.
  f.stack_flags = 0x7777;
  f.context = {r.r8,
               r.r9,
               r.r10,
               r.r11,
               r.r12,
               r.r13,
               r.r14,
               r.r15,
               r.rdi,
               r.rsi,
               r.rbp,
               r.rbx,
               r.rdx,
               r.rax,
               r.rcx,
               r.rsp,
               r.rip,
               r.eflags,
               static_cast<uint16_t>(r.cs),
               static_cast<uint16_t>(r.gs),
               static_cast<uint16_t>(r.fs),
               static_cast<uint16_t>(r.ss),
               0,
               0,
               0,
               0,
               state,
               {}};
  f.mask = signal_mask;
  std::memcpy(frame.bytes.data(), &f, sizeof(f));
  uint8_t *area = frame.bytes.data() + (state - address);
  std::memcpy(area, xstate.data(), state_bytes);
  SoftwareBytes software{kXstateMagic1,
                         static_cast<uint32_t>(state_bytes + sizeof(kXstateMagic2)),
                         features,
                         static_cast<uint32_t>(state_bytes),
                         {}};
  std::memcpy(area + kSoftwareBytesOffset, &software, sizeof(software));
  std::memcpy(area + state_bytes, &kXstateMagic2, sizeof(kXstateMagic2));
  return frame;
}

}  // namespace egpu::inject
