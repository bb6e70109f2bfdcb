#include "lib/bpf2ptx/insn/encode.h"

#include <cassert>
#include <limits>

#include "lib/bpf2ptx/insn/opcodes.h"

namespace egpu::bpf {
namespace {

using namespace code;

class Encoder {
 public:
  explicit Encoder(const std::vector<Insn> &insns) : insns_(insns) {
    int64_t slot = 0;
    for (const Insn &insn : insns) {
      slots_.push_back(slot);
      slot += slot_count(insn.op);
    }
  }

  std::vector<RawInsn> encode() {
    for (index_ = 0; index_ < insns_.size(); ++index_)
      std::visit([this](const auto &op) { put(op); }, insns_[index_].op);
    return std::move(out_);
  }

 private:
  void add(uint8_t opcode, uint8_t dst, uint8_t src, int64_t offset, int64_t imm) {
    assert(offset == static_cast<int16_t>(offset) && imm == static_cast<int32_t>(imm));
    out_.push_back({opcode, static_cast<uint8_t>(dst | src << 4), static_cast<int16_t>(offset),
                    static_cast<int32_t>(imm)});
  }
  void add_wide(uint8_t dst, uint8_t kind, uint64_t low, uint64_t high) {
    add(kLoadImm64, dst, kind, 0, static_cast<int32_t>(static_cast<uint32_t>(low)));
    add(0, 0, 0, 0, static_cast<int32_t>(static_cast<uint32_t>(high)));
  }
  void add_binary(int opcode, Reg dst, const Operand &src, int64_t offset) {
    if (auto *reg = std::get_if<Reg>(&src))
      add(static_cast<uint8_t>(opcode | kSourceReg), dst.n, reg->n, offset, 0);
    else
      add(static_cast<uint8_t>(opcode), dst.n, 0, offset, std::get<Imm>(src).value);
  }
  int64_t distance(int target) const { return slots_.at(static_cast<size_t>(target)) - slots_[index_] - 1; }

  void put(const Alu &op) {
    for (const AluRow &row : kAluRows)
      if (row.op == op.op) add_binary(row.code | (op.is64 ? kAlu64 : kAlu), op.dst, op.src, row.offset);
  }
  void put(const Neg &op) { add(kNeg | (op.is64 ? kAlu64 : kAlu), op.dst.n, 0, 0, 0); }
  void put(const Mov &op) {
    add_binary(kMov | (op.is64 ? kAlu64 : kAlu), op.dst, op.src, op.sign_extend_bits);
  }
  void put(const Endian &op) {
    uint8_t opcode = kEnd | (op.op == EndianOp::bswap ? kAlu64 : kAlu);
    if (op.op == EndianOp::to_be) opcode |= kSourceReg;
    add(opcode, op.dst.n, 0, 0, op.bits);
  }
  void put(const LoadImm64 &op) { add_wide(op.dst.n, kImm64Value, op.value, op.value >> 32); }
  void put(const LoadMap &op) { add_wide(op.dst.n, kImm64MapIndex, static_cast<uint64_t>(op.map), 0); }
  void put(const LoadMapValue &op) {
    add_wide(op.dst.n, kImm64MapIndexValue, static_cast<uint64_t>(op.map), op.offset);
  }
  void put(const LoadFunction &op) {
    add_wide(op.dst.n, kImm64Function, static_cast<uint64_t>(distance(op.target)), 0);
  }
  void put(const Load &op) {
    add(static_cast<uint8_t>(kLdx | (op.sign_extend ? kModeMemSx : kModeMem) | size_code(op.bytes)), op.dst.n,
        op.base.n, op.offset, 0);
  }
  void put(const Store &op) {
    uint8_t mode = kModeMem | size_code(op.bytes);
    if (auto *reg = std::get_if<Reg>(&op.src))
      add(kStx | mode, op.base.n, reg->n, op.offset, 0);
    else
      add(kSt | mode, op.base.n, 0, op.offset, std::get<Imm>(op.src).value);
  }
  void put(const Atomic &op) {
    for (const AtomicRow &row : kAtomicRows)
      if (row.op == op.op && row.fetch == op.fetch)
        add(kStx | kModeAtomic | size_code(op.bytes), op.base.n, op.src.n, op.offset, row.imm);
  }
  void put(const Jump &op) {
    int64_t d = distance(op.target);
    if (d == static_cast<int16_t>(d))
      add(kJmp | kJa, 0, 0, d, 0);
    else
      add(kJmp32 | kJa, 0, 0, 0, d);
  }
  void put(const JumpIf &op) {
    for (const CmpRow &row : kCmpRows)
      if (row.op == op.op)
        add_binary(row.code | (op.is64 ? kJmp : kJmp32), op.lhs, op.rhs, distance(op.target));
  }
  void put(const CallHelper &op) { add(kJmp | kCall, 0, kCallHelper, 0, op.id); }
  void put(const CallLocal &op) { add(kJmp | kCall, 0, kCallLocal, 0, distance(op.target)); }
  void put(const Exit &) { add(kJmp | kExit, 0, 0, 0, 0); }

  const std::vector<Insn> &insns_;
  std::vector<int64_t> slots_;
  std::vector<RawInsn> out_;
  size_t index_ = 0;
};

}  // namespace

std::vector<RawInsn> encode(const std::vector<Insn> &insns) { return Encoder(insns).encode(); }

}  // namespace egpu::bpf
