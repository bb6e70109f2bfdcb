// The machine code of a hook: a jump at a function's entry, and a trampoline that still runs the
// original.
//
// The first whole instructions of at least 5 bytes are copied into the entry's trampoline, with
// rip-relative operands and branches re-aimed, and followed by a jump to the rest. The entry
// itself gets `jmp rel32` to the replacement (or to a stub at the trampoline's end, when the
// replacement is over 2 GiB away), written as one 8-byte word whose last 3 bytes stay as they are:
//
//   entry:       jmp replacement            trampoline+0:   the original's first instructions
//   entry+n:     the original goes on                       jmp entry+n
//                                           trampoline+50:  jmp [rip]; .quad replacement   (if needed)
//
// What cannot be moved safely (loop, jrcxz, branches into the copied bytes, a function of less
// than 5 bytes, a breakpoint) is refused. Source: Intel SDM volume 2; Zydis decodes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/session/protocol.h"

namespace egpu::inject {

constexpr size_t kEntryJumpBytes = 5;  // of the entry, that the jump overwrites
constexpr size_t kStubOffset = 50;     // of the far stub in the trampoline

struct Relocated {
  std::vector<uint8_t> code;  // for `to`; runs the instructions and jumps back
  size_t moved_bytes;         // of the original
};

/// Moves the first instructions (kEntryJumpBytes or more) of the function at `from` to `to`.
Result<Relocated> relocate_code(std::span<const uint8_t> code, uint64_t from, uint64_t to);

/// The Hook of protocol.h for an entry point, `ok` set, `written` not.
Result<session::Hook> relocate(const session::EntryPoint &entry);

}  // namespace egpu::inject
