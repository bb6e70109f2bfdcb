// mma, ldmatrix, stmatrix, movmatrix. All lanes of the warp execute them together, so a hidden
// bar.warp.sync goes before each, and the operation itself checks that all are there.
// Source: PTX ISA 9.0, 9.7.14.5.
#include <algorithm>

#include "lib/sim/machine/decode.h"

namespace egpu::sim {
namespace {
constexpr ElementRow kElements[] = {
    {"", Element::none, 0},      {"f16", Element::f16, 16},  {"bf16", Element::bf16, 16},
    {"tf32", Element::tf32, 32}, {"f32", Element::f32, 32},  {"f64", Element::f64, 64},
    {"e4m3", Element::e4m3, 8},  {"e5m2", Element::e5m2, 8}, {"s4", Element::s4, 4},
    {"u4", Element::u4, 4},      {"s8", Element::s8, 8},     {"u8", Element::u8, 8},
    {"s32", Element::s32, 32},
};

struct Shape {
  std::string_view name;
  uint32_t m, n, k;
};
constexpr Shape kShapes[] = {
    {"m16n8k4", 16, 8, 4},   {"m16n8k8", 16, 8, 8}, {"m16n8k16", 16, 8, 16}, {"m16n8k32", 16, 8, 32},
    {"m16n8k64", 16, 8, 64}, {"m8n8k4", 8, 8, 4},   {"m8n8k16", 8, 8, 16},   {"m8n8k32", 8, 8, 32},
};
}  // namespace

const ElementRow &find_element(std::string_view name) {
  for (const ElementRow &row : kElements)
    if (row.name == name) return row;
  return kElements[0];
}

const ElementRow &element_row(Element element) { return kElements[static_cast<size_t>(element)]; }

void Decoder::meet() {
  Operand all;
  all.value = 0xFFFFFFFF;
  uint32_t members = constant_of(all, Type::u32);
  emit_hidden("warp.sync").y = members;
  isolating_.push_back(static_cast<uint32_t>(out_.ops.size() - 1));
}

// mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c
void Decoder::mma() {
  auto site = std::make_unique<MatrixSite>();
  std::vector<Element> elements;
  for (size_t i = 1; i < insn_->words.size(); ++i) {
    std::string_view word = insn_->words[i];
    for (const Shape &shape : kShapes)
      if (shape.name == word) {
        site->m = shape.m;
        site->n = shape.n;
        site->k = shape.k;
      }
    if (const ElementRow &row = find_element(word); row.bits) elements.push_back(row.element);
    if (word == "sp" || word == "block_scale" || word.starts_with("kind")) return not_simulated();
  }
  if (!site->m || elements.size() != 4 || !has("row") || !has("col")) return not_simulated();
  site->d = elements[0];
  site->a = elements[1];
  site->b = elements[2];
  site->c = elements[3];
  site->saturates = has("satfinite");
  // The f16 form of m8n8k4 multiplies four pairs of matrices, each in eight lanes.
  if (site->m == 8 && site->k == 4 && site->a != Element::f64) return not_simulated();
  auto collect = [&](size_t index, Element element, uint32_t count, std::vector<uint32_t> &refs) {
    uint32_t bits = element_row(element).bits, width = bits == 64 ? 64 : 32;
    const Operand &value = operand(index);
    const std::vector<Operand> single{value};
    const std::vector<Operand> &list = value.kind == Operand::vector ? value.elements : single;
    if (list.size() * 32 * width != count * bits)
      return fail("'" + std::string(insn_->text) + "': wrong number of registers");
    Type type = width == 64 ? Type::b64 : Type::b32;
    for (const Operand &v : list) refs.push_back(index ? source(v, type) : destination(v, type));
  };
  collect(0, site->d, site->m * site->n, site->d_refs);
  collect(1, site->a, site->m * site->k, site->a_refs);
  collect(2, site->b, site->k * site->n, site->b_refs);
  collect(3, site->c, site->m * site->n, site->c_refs);
  meet();
  emit("mma").imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(site.get()));
  out_.matrices.push_back(std::move(site));
}

// ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p]; stmatrix [p], r; movmatrix d, a
void Decoder::ldmatrix() {
  std::string name(insn_->words[0]);
  bool loads = name == "ldmatrix", moves = name == "movmatrix";
  if (!has("m8n8") || !has("b16")) return not_simulated();  // 8-bit elements: sm_100
  auto site = std::make_unique<MatrixSite>();
  site->transposes = has("trans");
  auto collect = [&](const Operand &value, bool is_source, std::vector<uint32_t> &refs) {
    const std::vector<Operand> single{value};
    for (const Operand &v : value.kind == Operand::vector ? value.elements : single)
      refs.push_back(is_source ? source(v, Type::b32) : destination(v, Type::b32));
  };
  Address at;
  if (moves) {
    collect(operand(0), false, site->d_refs);
    collect(operand(1), true, site->a_refs);
  } else {
    at = address(operand(loads ? 1 : 0), Space::shared);
    if (at.kind != Address::lanes) return not_simulated();
    collect(operand(loads ? 0 : 1), !loads, loads ? site->d_refs : site->a_refs);
    size_t count = std::max(site->d_refs.size(), site->a_refs.size());
    if (count != (has("x4") ? 4u : has("x2") ? 2u : 1u))
      return fail("'" + std::string(insn_->text) + "': wrong number of registers");
  }
  meet();
  Op &op = emit(name);
  op.imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(site.get()));
  op.a = at.ref;
  op.y = static_cast<uint32_t>(at.offset);
  if (at.narrow) op.flags |= kAddress32;
  out_.matrices.push_back(std::move(site));
}

}  // namespace egpu::sim
