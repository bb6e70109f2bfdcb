// Bytecode to typed instructions. Every field that an opcode does not use must be zero
// (RFC 9669, 3: "Unused fields SHALL be cleared to zero"), so that what we accept today
// cannot change its meaning tomorrow.
#include <algorithm>
#include <optional>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/opcodes.h"
#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {
namespace {

using namespace code;

constexpr int kRegCount = 11;

class Decoder {
 public:
  explicit Decoder(const std::vector<RawInsn> &code) : code_(code) {}

  Result<std::vector<Insn>> decode() {
    for (slot_ = 0; slot_ < code_.size();) {
      const RawInsn &raw = code_[slot_];
      index_of_slot_.resize(slot_ + 1, -1);
      index_of_slot_[slot_] = static_cast<int>(insns_.size());
      if (dst() >= kRegCount || src_field() >= kRegCount)
        return fail(format("register r{} does not exist", std::max(dst(), src_field())));
      TRY(Op op, decode_one(raw));
      Insn insn{std::move(op), static_cast<uint32_t>(slot_), -1};
      slot_ += static_cast<size_t>(slot_count(insn.op));
      insns_.push_back(std::move(insn));
    }
    index_of_slot_.resize(code_.size(), -1);
    for (Insn &insn : insns_) {
      TRY(Ok ok, resolve(insn));
      (void)ok;
    }
    return std::move(insns_);
  }

 private:
  Error fail(const std::string &what) const { return {format("slot {}: {}", slot_, what)}; }
  Error unknown(const RawInsn &raw) const { return fail(format("unknown opcode {}", hex(raw.code, 2))); }
  Error not_zero(const char *field) const { return fail(format("unused field '{}' is not zero", field)); }

  uint8_t dst() const { return code_[slot_].regs & 0xf; }
  uint8_t src_field() const { return code_[slot_].regs >> 4; }
  Reg dst_reg() const { return {dst()}; }
  Reg src_reg() const { return {src_field()}; }

  enum Unused : unsigned { kDst = 1, kSrc = 2, kOffset = 4, kImm = 8 };

  // The fields of the mask must be zero; the name of the first that is not.
  std::optional<Error> check_unused(const RawInsn &raw, unsigned fields) const {
    if ((fields & kDst) && dst() != 0) return not_zero("dst");
    if ((fields & kSrc) && src_field() != 0) return not_zero("src");
    if ((fields & kOffset) && raw.offset != 0) return not_zero("offset");
    if ((fields & kImm) && raw.imm != 0) return not_zero("imm");
    return std::nullopt;
  }

  // The second operand of ALU and JMP classes.
  Operand operand(const RawInsn &raw) const {
    if (raw.code & kSourceReg) return src_reg();
    return Imm{raw.imm};
  }
  static unsigned unused_operand(const RawInsn &raw) { return raw.code & kSourceReg ? kImm : kSrc; }

  // A branch distance in slots; resolve() turns the slot into an index.
  int target(int64_t distance) const {
    int64_t slot = static_cast<int64_t>(slot_) + 1 + distance;
    if (slot < 0 || slot >= static_cast<int64_t>(code_.size())) return -1;
    return static_cast<int>(slot);
  }

  Result<Op> decode_one(const RawInsn &raw) {
    switch (raw.code & 7) {
      case kLd:
        return decode_ld(raw);
      case kLdx:
        return decode_ldx(raw);
      case kSt:
        return decode_st(raw);
      case kStx:
        return decode_stx(raw);
      case kAlu:
        return decode_alu(raw, false);
      case kAlu64:
        return decode_alu(raw, true);
      case kJmp:
        return decode_jmp(raw, true);
      default:
        return decode_jmp(raw, false);
    }
  }

  Result<Op> decode_ld(const RawInsn &raw) {
    uint8_t mode = raw.code & 0xe0;
    if (mode == kModeAbs || mode == kModeInd)
      return fail("legacy packet access (LD_ABS, LD_IND) is not supported: there is no packet");
    if (raw.code != kLoadImm64) return unknown(raw);
    if (slot_ + 1 >= code_.size()) return fail("64-bit immediate without its second half");
    const RawInsn &second = code_[slot_ + 1];
    if (second.code != 0 || second.regs != 0 || second.offset != 0)
      return fail("the second half of a 64-bit immediate has an opcode");
    if (raw.offset != 0) return not_zero("offset");
    uint8_t kind = src_field();
    if ((kind == kImm64MapIndex || kind == kImm64Function) && second.imm != 0) return not_zero("next_imm");
    switch (kind) {
      case kImm64Value:
        return Op{LoadImm64{
            dst_reg(), (uint64_t{static_cast<uint32_t>(second.imm)} << 32) | static_cast<uint32_t>(raw.imm)}};
      case kImm64MapIndex:
        if (raw.imm < 0) return fail("negative map index");
        return Op{LoadMap{dst_reg(), raw.imm}};
      case kImm64MapIndexValue:
        if (raw.imm < 0) return fail("negative map index");
        return Op{LoadMapValue{dst_reg(), raw.imm, static_cast<uint32_t>(second.imm)}};
      case kImm64Function:
        return Op{LoadFunction{dst_reg(), target(raw.imm)}};
      case kImm64MapFd:
      case kImm64MapFdValue:
        return fail("a map by file descriptor has no meaning on a GPU");
      case kImm64VarAddr:
        return fail("the address of a kernel variable has no meaning on a GPU");
      default:
        return fail(format("unknown kind {} of 64-bit immediate", kind));
    }
  }

  Result<Op> decode_ldx(const RawInsn &raw) {
    uint8_t mode = raw.code & 0xe0, bytes = size_bytes(raw.code);
    if (mode != kModeMem && (mode != kModeMemSx || bytes == 8)) return unknown(raw);
    if (auto e = check_unused(raw, kImm)) return std::move(*e);
    return Op{Load{bytes, mode == kModeMemSx, dst_reg(), src_reg(), raw.offset}};
  }

  Result<Op> decode_st(const RawInsn &raw) {
    if ((raw.code & 0xe0) != kModeMem) return unknown(raw);
    if (auto e = check_unused(raw, kSrc)) return std::move(*e);
    return Op{Store{size_bytes(raw.code), dst_reg(), raw.offset, Imm{raw.imm}}};
  }

  Result<Op> decode_stx(const RawInsn &raw) {
    uint8_t mode = raw.code & 0xe0, bytes = size_bytes(raw.code);
    if (mode == kModeMem) {
      if (auto e = check_unused(raw, kImm)) return std::move(*e);
      return Op{Store{bytes, dst_reg(), raw.offset, src_reg()}};
    }
    if (mode != kModeAtomic) return unknown(raw);
    if (bytes < 4) return fail("atomics are 4 or 8 bytes wide");
    for (const AtomicRow &row : kAtomicRows)
      if (row.imm == raw.imm) return Op{Atomic{row.op, bytes, row.fetch, dst_reg(), raw.offset, src_reg()}};
    if (raw.imm == kLoadAcquire || raw.imm == kStoreRelease)
      return fail("load-acquire and store-release are not supported (not in RFC 9669)");
    return fail(format("unknown atomic operation {}", hex(static_cast<uint32_t>(raw.imm))));
  }

  Result<Op> decode_alu(const RawInsn &raw, bool is64) {
    uint8_t op = raw.code & 0xf0;
    if (op == kNeg) {
      if (raw.code & kSourceReg) return unknown(raw);
      if (auto e = check_unused(raw, kSrc | kOffset | kImm)) return std::move(*e);
      return Op{Neg{is64, dst_reg()}};
    }
    if (op == kEnd) return decode_end(raw, is64);
    if (op == kMov) return decode_mov(raw, is64);
    for (const AluRow &row : kAluRows) {
      if (row.code != op || row.offset != raw.offset) continue;
      if (auto e = check_unused(raw, unused_operand(raw))) return std::move(*e);
      return Op{Alu{row.op, is64, dst_reg(), operand(raw)}};
    }
    for (const AluRow &row : kAluRows)
      if (row.code == op)
        return op == 0x30 || op == 0x90 ? fail(format("bad offset {} of div or mod", raw.offset))
                                        : not_zero("offset");
    return unknown(raw);
  }

  Result<Op> decode_mov(const RawInsn &raw, bool is64) {
    if (auto e = check_unused(raw, unused_operand(raw))) return std::move(*e);
    int16_t bits = raw.offset;
    bool known = bits == 0 || ((raw.code & kSourceReg) && (bits == 8 || bits == 16 || (bits == 32 && is64)));
    if (!known) return fail(format("bad offset {} of mov", bits));
    return Op{Mov{is64, static_cast<uint8_t>(bits), dst_reg(), operand(raw)}};
  }

  Result<Op> decode_end(const RawInsn &raw, bool is64) {
    if (is64 && (raw.code & kSourceReg)) return unknown(raw);
    if (auto e = check_unused(raw, kSrc | kOffset)) return std::move(*e);
    if (raw.imm != 16 && raw.imm != 32 && raw.imm != 64) return fail(format("byte swap of {} bits", raw.imm));
    EndianOp op = is64 ? EndianOp::bswap : raw.code & kSourceReg ? EndianOp::to_be : EndianOp::to_le;
    return Op{Endian{op, static_cast<uint8_t>(raw.imm), dst_reg()}};
  }

  Result<Op> decode_jmp(const RawInsn &raw, bool is64) {
    uint8_t op = raw.code & 0xf0;
    if (op == kJa) {
      if (raw.code & kSourceReg) return unknown(raw);
      if (auto e = check_unused(raw, kDst | kSrc | (is64 ? kImm : kOffset))) return std::move(*e);
      return Op{Jump{target(is64 ? raw.offset : raw.imm)}};
    }
    if (op == kExit) {
      if (!is64 || (raw.code & kSourceReg)) return unknown(raw);
      if (auto e = check_unused(raw, kDst | kSrc | kOffset | kImm)) return std::move(*e);
      return Op{Exit{}};
    }
    if (op == kCall) return decode_call(raw, is64);
    for (const CmpRow &row : kCmpRows) {
      if (row.code != op) continue;
      if (auto e = check_unused(raw, unused_operand(raw))) return std::move(*e);
      return Op{JumpIf{row.op, is64, dst_reg(), operand(raw), target(raw.offset)}};
    }
    if (op == kMayGoto) return fail("may_goto is not supported: bound the loop with a constant");
    return unknown(raw);
  }

  Result<Op> decode_call(const RawInsn &raw, bool is64) {
    if (!is64) return unknown(raw);
    if (raw.code & kSourceReg) return fail("calls through a register are not supported");
    if (auto e = check_unused(raw, kDst | kOffset)) return std::move(*e);
    switch (src_field()) {
      case kCallHelper:
        return Op{CallHelper{raw.imm}};
      case kCallLocal:
        return Op{CallLocal{target(raw.imm)}};
      case kCallKfunc:
        return fail("kernel functions (kfuncs) have no meaning on a GPU");
      default:
        return fail(format("unknown kind {} of call", src_field()));
    }
  }

  // Turns the target slot of a branch, call or callback into an index.
  Result<Ok> resolve(Insn &insn) {
    slot_ = insn.slot;
    int *target = nullptr;
    if (auto *jump = std::get_if<Jump>(&insn.op)) target = &jump->target;
    if (auto *jump = std::get_if<JumpIf>(&insn.op)) target = &jump->target;
    if (auto *call = std::get_if<CallLocal>(&insn.op)) target = &call->target;
    if (auto *load = std::get_if<LoadFunction>(&insn.op)) target = &load->target;
    if (!target) return Ok{};
    if (*target < 0) return fail("target is outside the program");
    int index = index_of_slot_[static_cast<size_t>(*target)];
    if (index < 0) return fail("target is inside a 64-bit immediate");
    *target = index;
    return Ok{};
  }

  const std::vector<RawInsn> &code_;
  size_t slot_ = 0;
  std::vector<Insn> insns_;
  std::vector<int> index_of_slot_;
};

}  // namespace

Result<std::vector<Insn>> decode(const std::vector<RawInsn> &code) { return Decoder(code).decode(); }

}  // namespace egpu::bpf
