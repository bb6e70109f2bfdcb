// A signal frame of our own making: what rt_sigreturn reads to put a thread back.
//
// The kernel restores all registers, the vector state and the signal mask from it in one step.
// Every detour that a borrowed thread takes ends in such a frame, so the thread finds back by
// itself should we be killed in the meantime. Source: sigreturn(2); Linux,
// arch/x86/include/uapi/asm/sigcontext.h and arch/x86/kernel/{signal_64,fpu/signal}.c.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/loader/inject/tracee.h"

namespace egpu::inject {

struct SignalFrame {
  uint64_t address;  // its first word, the return address (of a restorer); 8 mod 16
  std::vector<uint8_t> bytes;
  uint64_t sigreturn_rsp() const { return address + 8; }
};

/// The frame that leads to these registers, with its end at or below `top`. A system call in
/// them that was interrupted is begun again.
SignalFrame make_signal_frame(uint64_t top, uint64_t restorer, const Registers &registers,
                              const std::vector<uint8_t> &xstate, uint64_t signal_mask);

}  // namespace egpu::inject
