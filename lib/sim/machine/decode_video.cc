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

// "%r1.h0": the register and "h0". (v.b is an element of a vector.)
struct PartOperand {
  Operand whole;
  std::string_view part;
};
PartOperand parted(const Operand &value) {
  PartOperand out{value, {}};
  const size_t dot = value.name.rfind('.');
  if (value.kind != Operand::symbol || dot == value.name.npos || value.name.size() - dot < 3) return out;
  out.part = value.name.substr(dot + 1);
  out.whole.name = value.name.substr(0, dot);
  return out;
}

// The numbers of the parts that "b3210" names, 4 bits each; false: there are no such parts.
bool read_parts(std::string_view part, char letter, size_t most_digits, uint32_t below, uint16_t *numbers) {
  *numbers = 0;
  if (part.size() < 2 || part[0] != letter || part.size() > most_digits + 1) return false;
  for (char c : part.substr(1)) {
    const uint32_t digit = static_cast<uint32_t>(c - '0');
    if (digit >= below) return false;
    *numbers = static_cast<uint16_t>(*numbers << 4 | digit);
  }
  return true;
}

// video.h has the codes.
bool read_scalar_selector(std::string_view part, uint16_t *code) {
  const bool is_byte = read_parts(part, 'b', 1, 4, code);
  if (!is_byte && !part.empty() && !read_parts(part, 'h', 1, 2, code)) return false;
  if (!part.empty()) *code = static_cast<uint16_t>(*code + (is_byte ? 1 : 5));
  return true;
}
bool read_simd_selector(std::string_view part, std::string_view otherwise, uint16_t *code) {
  if (part.empty()) part = otherwise;
  const uint32_t parts = static_cast<uint32_t>(otherwise.size()) - 1;
  return part.size() == otherwise.size() && read_parts(part, otherwise[0], parts, 2 * parts, code);
}
bool read_simd_mask(std::string_view part, std::string_view all, uint8_t *mask) {
  uint16_t numbers = 0;
  if (part.empty()) part = all;
  if (!read_parts(part, all[0], all.size() - 1, static_cast<uint32_t>(all.size()) - 1, &numbers))
    return false;
  *mask = 0;
  for (size_t i = 0; i + 1 < part.size(); ++i)
    *mask = static_cast<uint8_t>(*mask | 1u << (numbers >> 4 * i & 15));
  return true;
}

bool read_parts_of(std::string_view d, std::string_view a, std::string_view b, VideoForm *form) {
  if (form->parts == 1) {
    uint16_t code = 0;
    if (!read_scalar_selector(d, &code)) return false;
    form->d = static_cast<uint8_t>(code);
    return read_scalar_selector(a, &form->a) && read_scalar_selector(b, &form->b);
  }
  const bool halves = form->parts == 2;
  return read_simd_mask(d, halves ? "h10" : "b3210", &form->d) &&
         read_simd_selector(a, halves ? "h10" : "b3210", &form->a) &&
         read_simd_selector(b, halves ? "h32" : "b7654", &form->b);
}
}  // namespace

void Decoder::video() {
  std::string_view name = insn_->words[0];
  VideoForm form;
  if (name.back() == '2' || name.back() == '4') {
    form.parts = name.back() == '2' ? 2 : 4;
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
  if (!read_parts_of(d.part, a.part, b.part, &form))
    return fail("'" + std::string(insn_->text) + "': no such part of an operand");
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
