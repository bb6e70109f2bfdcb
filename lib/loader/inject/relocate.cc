#include "lib/loader/inject/relocate.h"

#include <Zydis/Zydis.h>

#include <cstdio>
#include <cstring>
#include <optional>

namespace egpu::inject {
namespace {

using session::EntryPoint;
using session::Hook;

std::optional<int32_t> distance(uint64_t next_instruction, uint64_t target) {
  auto delta = static_cast<int64_t>(target - next_instruction);
  if (delta < INT32_MIN || delta > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(delta);
}

std::string hex(uint64_t n) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

// Code that grows at a known address.
class Assembler {
 public:
  explicit Assembler(uint64_t address) : address_(address) {}

  uint64_t here() const { return address_ + code_.size(); }
  std::vector<uint8_t> take() { return std::move(code_); }

  void bytes(std::span<const uint8_t> b) { code_.insert(code_.end(), b.begin(), b.end()); }
  void bytes(std::initializer_list<uint8_t> b) { code_.insert(code_.end(), b.begin(), b.end()); }
  template <class T>
  void value(T v) {
    uint8_t raw[sizeof(T)];
    std::memcpy(raw, &v, sizeof(T));
    bytes(raw);
  }

  void jump(uint64_t target) {
    if (auto d = distance(here() + 5, target)) {
      bytes({0xe9});
      value(*d);
    } else {
      bytes({0xff, 0x25, 0, 0, 0, 0});  // jmp [rip]
      value(target);
    }
  }

  void call(uint64_t target) {
    if (auto d = distance(here() + 5, target)) {
      bytes({0xe8});
      value(*d);
    } else {
      bytes({0xff, 0x15, 2, 0, 0, 0, 0xeb, 8});  // call [rip+2]; jmp over the address
      value(target);
    }
  }

  void jump_if(uint8_t condition, uint64_t target) {
    if (auto d = distance(here() + 6, target)) {
      bytes({0x0f, static_cast<uint8_t>(0x80 | condition)});
      value(*d);
    } else {
      bytes({static_cast<uint8_t>(0x70 | (condition ^ 1)), 14});  // the opposite, over a far jump
      jump(target);
    }
  }

 private:
  uint64_t address_;
  std::vector<uint8_t> code_;
};

struct Instruction {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

std::optional<Instruction> decode(std::span<const uint8_t> code) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  Instruction insn;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &insn.decoded, insn.operands)))
    return std::nullopt;
  return insn;
}

// Where a relative branch goes; nullopt for everything else.
std::optional<uint64_t> branch_target(const Instruction &insn, uint64_t address) {
  const auto &imm = insn.decoded.raw.imm[0];
  if ((insn.decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE) == 0 || !imm.is_relative) return std::nullopt;
  return address + insn.decoded.length + static_cast<uint64_t>(imm.value.s);
}

bool ends_the_function(const ZydisDecodedInstruction &insn) {
  return insn.meta.category == ZYDIS_CATEGORY_RET || insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
         insn.mnemonic == ZYDIS_MNEMONIC_UD2 || insn.mnemonic == ZYDIS_MNEMONIC_HLT;
}

Result<Ok> move_branch(const ZydisDecodedInstruction &insn, uint64_t target, Assembler &out) {
  if (insn.meta.category == ZYDIS_CATEGORY_CALL) {
    out.call(target);
  } else if (insn.mnemonic == ZYDIS_MNEMONIC_JMP) {
    out.jump(target);
  } else if (insn.meta.category == ZYDIS_CATEGORY_COND_BR &&
             ((insn.opcode & 0xf0) == 0x70 || (insn.opcode & 0xf0) == 0x80)) {
    out.jump_if(insn.opcode & 0x0f, target);  // 70+cc short, 0f 80+cc near
  } else {
    return Error{std::string("instruction cannot be moved: ") + ZydisMnemonicGetString(insn.mnemonic)};
  }
  return Ok{};
}

// Copies an instruction; a displacement from rip is changed so that it names the same address.
Result<Ok> move_plain(const Instruction &insn, std::span<const uint8_t> bytes, uint64_t from,
                      Assembler &out) {
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  if ((insn.decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0) {
    const auto &disp = insn.decoded.raw.disp;
    if (disp.size != 32 || disp.offset + size_t{4} > copy.size())
      return Error{"instruction cannot be moved: odd operand"};
    uint64_t target = from + insn.decoded.length + static_cast<uint64_t>(disp.value);
    auto moved = distance(out.here() + insn.decoded.length, target);
    if (!moved) return Error{"data at " + hex(target) + " is over 2 GiB from the trampoline"};
    std::memcpy(copy.data() + disp.offset, &*moved, sizeof(*moved));
  }
  out.bytes(copy);
  return Ok{};
}

// Does code after the moved bytes, as far as we know it, branch into them?
bool branches_back(std::span<const uint8_t> code, uint64_t from, size_t moved) {
  for (size_t at = moved; at < code.size();) {
    auto insn = decode(code.subspan(at));
    if (!insn) return false;  // cut off at the end of what we have
    auto target = branch_target(*insn, from + at);
    if (target && *target > from && *target < from + moved) return true;
    at += insn->decoded.length;
    if (ends_the_function(insn->decoded)) return false;
  }
  return false;
}

}  // namespace

Result<Relocated> relocate_code(std::span<const uint8_t> code, uint64_t from, uint64_t to) {
  Assembler out(to);
  std::vector<uint64_t> targets;
  size_t at = 0;
  bool ended = false;
  while (at < kEntryJumpBytes) {
    if (ended) return Error{"function is shorter than a jump"};
    auto insn = decode(code.subspan(at));
    if (!insn) return Error{"instruction at +" + std::to_string(at) + " is not understood"};
    if (insn->decoded.mnemonic == ZYDIS_MNEMONIC_INT3) return Error{"a debugger's breakpoint is there"};
    if (auto target = branch_target(*insn, from + at)) {
      targets.push_back(*target);
      TRY([[maybe_unused]] auto moved, move_branch(insn->decoded, *target, out));
    } else {
      TRY([[maybe_unused]] auto moved,
          move_plain(*insn, code.subspan(at, insn->decoded.length), from + at, out));
    }
    ended = ends_the_function(insn->decoded);
    at += insn->decoded.length;
  }
  for (uint64_t target : targets)
    if (target >= from && target < from + at) return Error{"code branches into its first instructions"};
  if (branches_back(code, from, at)) return Error{"code branches into its first instructions"};
  if (!ended) out.jump(from + at);
  return Relocated{out.take(), at};
}

Result<Hook> relocate(const EntryPoint &entry) {
  if (entry.address % 64 > 56)
    return Error{"entry point crosses a cache line; it cannot be changed in one store"};
  TRY(Relocated moved, relocate_code(entry.code, entry.address, entry.trampoline));
  Hook hook{};
  std::memset(hook.trampoline, 0xcc, sizeof(hook.trampoline));
  auto direct = distance(entry.address + kEntryJumpBytes, entry.replacement);
  auto jump = direct ? direct : distance(entry.address + kEntryJumpBytes, entry.trampoline + kStubOffset);
  if (!jump) return Error{"the agent has no memory within 2 GiB of the entry point"};
  size_t room = direct ? sizeof(hook.trampoline) : kStubOffset;
  if (moved.code.size() > room) return Error{"first instructions do not fit into the trampoline"};
  std::memcpy(hook.trampoline, moved.code.data(), moved.code.size());
  if (!direct) {
    Assembler stub(entry.trampoline + kStubOffset);
    stub.bytes({0xff, 0x25, 0, 0, 0, 0});
    stub.value(entry.replacement);
    auto bytes = stub.take();
    std::memcpy(hook.trampoline + kStubOffset, bytes.data(), bytes.size());
  }
  uint8_t word[8];
  std::memcpy(word, entry.code, sizeof(word));
  std::memcpy(&hook.original, word, sizeof(word));
  word[0] = 0xe9;
  std::memcpy(word + 1, &*jump, sizeof(*jump));
  std::memcpy(&hook.jump, word, sizeof(word));
  hook.ok = 1;
  return hook;
}

}  // namespace egpu::inject
