// Video instructions: vadd, vmad, vset2 and so on. Source: PTX ISA 9.0, 9.7.18.
#include "lib/sim/machine/decode.h"
#include "lib/sim/machine/video.h"

namespace egpu::sim {
namespace {
constexpr struct {
  std::string_view name;
  Video operation;
} kVideo[] = {
    {"vadd", Video::add},      {"vsub", Video::sub}, {"vabsdiff", Video::absdiff},
    {"vavrg", Video::average}, {"vmin", Video::min}, {"vmax", Video::max},
    {"vshl", Video::shl},      {"vshr", Video::shr}, {"eq", Video::eq},
    {"ne", Video::ne},         {"lt", Video::lt},    {"le", Video::le},
    {"gt", Video::gt},         {"ge", Video::ge},  // vset's comparisons
};

// "%r1.h0": the register and "h0".
struct PartOperand {
  Operand whole;
  std::string_view part;
};
PartOperand parted(const Operand &value) {
  PartOperand out{value, {}};
  if (const size_t dot = value.name.rfind('.'); value.kind == Operand::symbol && dot != value.name.npos) {
    out.part = value.name.substr(dot + 1);
    out.whole.name = value.name.substr(0, dot);
  }
  return out;
}

uint32_t digit(char c) { return static_cast<uint32_t>(c - '0') & 7; }

// video.h has the codes.
uint16_t scalar_selector(std::string_view part) {
  if (part.size() != 2) return 0;
  return static_cast<uint16_t>(digit(part[1]) + (part[0] == 'b' ? 1 : 5));
}
uint16_t simd_selector(std::string_view part, std::string_view otherwise) {
  if (part.empty()) part = otherwise;
  uint32_t selector = 0;
  for (char c : part.substr(1)) selector = selector << 4 | digit(c);
  return static_cast<uint16_t>(selector);
}
uint8_t simd_mask(std::string_view part, uint32_t parts) {
  if (part.empty()) return static_cast<uint8_t>((1u << parts) - 1);
  uint32_t mask = 0;
  for (char c : part.substr(1)) mask |= 1u << digit(c);
  return static_cast<uint8_t>(mask);
}
}  // namespace

void Decoder::video() {
  std::string_view name = insn_->words[0];
  VideoForm form;
  if (name.back() == '2' || name.back() == '4') {
    form.parts = digit(name.back()) & 7;
    name.remove_suffix(1);
  }
  const bool is_mad = name == "vmad", compares = name == "vset", is_simd = form.parts > 1;
  bool known = is_mad;
  for (const auto &row : kVideo)
    if (compares ? has(row.name) : row.name == name) {
      form.operation = row.operation;
      known = true;
    }
  if (!known || types_.size() != (compares ? 2 : 3)) return not_simulated();
  form.d_is_signed = !compares && is_signed(types_[0]);
  form.a_is_signed = is_signed(types_[types_.size() - 2]);
  form.b_is_signed = is_signed(types_.back());
  form.saturates = has("sat");
  form.wraps = has("wrap");
  form.second = has("add")   ? VideoSecond::add
                : has("min") ? VideoSecond::min
                : has("max") ? VideoSecond::max
                             : VideoSecond::none;
  const PartOperand d = parted(operand(0)), a = parted(operand(1)), b = parted(operand(2));
  form.d = is_simd ? simd_mask(d.part, form.parts) : static_cast<uint8_t>(scalar_selector(d.part));
  form.a = is_simd ? simd_selector(a.part, form.parts == 2 ? "h10" : "b3210") : scalar_selector(a.part);
  form.b = is_simd ? simd_selector(b.part, form.parts == 2 ? "h32" : "b7654") : scalar_selector(b.part);
  const uint32_t a_ref = source(a.whole, Type::u32), b_ref = source(b.whole, Type::u32);
  const uint32_t c_ref = operand_count() > 3 ? source(3, Type::u32) : kNone;
  const uint32_t d_ref = destination(d.whole, Type::u32);
  Op &op = emit(is_mad ? "video.mad" : is_simd ? "video.simd" : "video.scalar");
  op.d = d_ref;
  op.a = a_ref;
  op.b = b_ref;
  op.c = c_ref;
  op.imm = std::bit_cast<int64_t>(form);
  if (!is_mad) return;
  op.n = has("shr7") ? 7 : has("shr15") ? 15 : 0;
  op.x = static_cast<uint8_t>((a.whole.negated != b.whole.negated ? kNegatesProduct : 0) |
                              (operand(3).negated ? kNegatesAddend : 0) | (has("po") ? kPlusOne : 0));
}

}  // namespace egpu::sim
