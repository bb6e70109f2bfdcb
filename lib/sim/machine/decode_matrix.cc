// mma, wmma, ldmatrix, stmatrix, movmatrix. All lanes of the warp execute them together, so a hidden
// bar.warp.sync goes before each, and the operation itself checks that all are there.
// Source: PTX ISA 9.0, 9.7.14.4, 9.7.14.5.
#include <algorithm>

#include "lib/sim/machine/decode.h"

namespace egpu::sim {
namespace {
constexpr ElementRow kElements[] = {
    {"", Element::none, 0},      {"f16", Element::f16, 16},  {"bf16", Element::bf16, 16},
    {"tf32", Element::tf32, 32}, {"f32", Element::f32, 32},  {"f64", Element::f64, 64},
    {"e4m3", Element::e4m3, 8},  {"e5m2", Element::e5m2, 8}, {"s4", Element::s4, 4},
    {"u4", Element::u4, 4},      {"s8", Element::s8, 8},     {"u8", Element::u8, 8},
    {"s32", Element::s32, 32},   {"b1", Element::b1, 1},
};

constexpr Shape kShapes[] = {
    {"m16n8k4", 16, 8, 4},   {"m16n8k8", 16, 8, 8},     {"m16n8k16", 16, 8, 16},   {"m16n8k32", 16, 8, 32},
    {"m16n8k64", 16, 8, 64}, {"m8n8k4", 8, 8, 4},       {"m8n8k16", 8, 8, 16},     {"m8n8k32", 8, 8, 32},
    {"m8n8k128", 8, 8, 128}, {"m16n8k128", 16, 8, 128}, {"m16n8k256", 16, 8, 256},
};
constexpr Shape kWmmaShapes[] = {
    {"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16}, {"m16n16k8", 16, 16, 8},
    {"m8n8k4", 8, 8, 4},       {"m8n8k32", 8, 8, 32},   {"m8n8k128", 8, 8, 128},
};

// The shape, the elements' types and the layouts that an instruction names, in its order.
struct MatrixWords {
  Shape shape{};
  std::vector<Element> elements;
  std::vector<bool> is_column;
};
template <size_t kCount>
MatrixWords words_of(const Instruction &insn, const Shape (&shapes)[kCount]) {
  MatrixWords found;
  for (std::string_view word : insn.words) {
    for (const Shape &shape : shapes)
      if (shape.name == word) found.shape = shape;
    if (const ElementRow &row = find_element(word); row.bits) found.elements.push_back(row.element);
    if (word == "row" || word == "col") found.is_column.push_back(word == "col");
  }
  return found;
}

void set_shape(MatrixSite &site, const Shape &shape) {
  site.m = shape.m;
  site.n = shape.n;
  site.k = shape.k;
}

// Forms whose rounding nobody has seen, like f16 sums of m8n8k4, are added in order.
Sum sum_of(const MatrixSite &site, bool is_quads) {
  if (site.d == Element::f64) return Sum::fused_chain;
  if (site.d != site.c) return Sum::in_order;
  const bool is_f32 = site.d == Element::f32;
  if (is_quads) return is_f32 ? Sum::f32_chain : Sum::in_order;
  switch (site.a) {
    case Element::f16:
    case Element::bf16:
    case Element::tf32:
      return Sum::aligned;
    case Element::e4m3:
    case Element::e5m2:
      return is_f32 && site.k == 32 ? Sum::aligned_pairs : Sum::in_order;
    default:
      return Sum::in_order;
  }
}
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

// A fragment's registers, `count` elements in the warp; `copies`: wmma's f16 factors have them several times.
void Decoder::fragment(size_t index, bool is_source, Element element, uint32_t count, bool copies,
                       std::vector<uint32_t> &refs) {
  uint32_t bits = element_row(element).bits, width = bits == 64 ? 64 : 32;
  const Operand &value = operand(index);
  const std::vector<Operand> single{value};
  const std::vector<Operand> &list = value.kind == Operand::vector ? value.elements : single;
  size_t have = list.size() * 32 * width, want = size_t{count} * bits;
  if (copies ? have % want != 0 : have != want)
    return fail("'" + std::string(insn_->text) + "': wrong number of registers");
  Type type = width == 64 ? Type::b64 : Type::b32;
  for (const Operand &v : list) refs.push_back(is_source ? source(v, type) : destination(v, type));
}

Op &Decoder::emit_matrix(std::string_view key, std::unique_ptr<MatrixSite> site) {
  meet();
  Op &op = emit(key);
  op.imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(site.get()));
  out_.matrices.push_back(std::move(site));
  return op;
}

// mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c
void Decoder::mma() {
  for (std::string_view word : insn_->words)
    if (word == "sp" || word.starts_with("sp::") || word == "block_scale" || word.starts_with("kind"))
      return not_simulated();
  const MatrixWords words = words_of(*insn_, kShapes);
  const std::vector<Element> &types = words.elements;
  if (!words.shape.m || types.size() != 4 || words.is_column.size() != 2) return not_simulated();
  auto site = std::make_unique<MatrixSite>();
  set_shape(*site, words.shape);
  site->d = types[0], site->a = types[1], site->b = types[2], site->c = types[3];
  site->saturates = has("satfinite");
  site->is_xor = has("xor");
  site->a_is_column = words.is_column[0], site->b_is_column = words.is_column[1];
  // This one multiplies four pairs of matrices, each in eight lanes.
  const bool is_quads = site->m == 8 && site->k == 4 && site->a == Element::f16;
  if (!is_quads && (site->a_is_column || !site->b_is_column)) return not_simulated();
  site->sum = sum_of(*site, is_quads);
  const uint32_t products = is_quads ? 4 : 1;
  fragment(0, false, site->d, products * site->m * site->n, false, site->d_refs);
  fragment(1, true, site->a, products * site->m * site->k, false, site->a_refs);
  fragment(2, true, site->b, products * site->k * site->n, false, site->b_refs);
  fragment(3, true, site->c, products * site->m * site->n, false, site->c_refs);
  emit_matrix(is_quads ? "mma.quads" : "mma", std::move(site));
}

// wmma.mma.sync.aligned.row.col.shape.dtype{.atype.btype}.ctype d, a, b, c; f16 factors are not named
void Decoder::wmma() {
  if (insn_->words[1] != "mma") return wmma_move();
  const MatrixWords words = words_of(*insn_, kWmmaShapes);
  const std::vector<Element> &types = words.elements;
  if (!words.shape.m || (types.size() != 4 && types.size() != 2) || has("rz") || has("rm") || has("rp"))
    return not_simulated();
  auto site = std::make_unique<MatrixSite>();
  set_shape(*site, words.shape);
  site->d = types[0], site->c = types.back();
  site->a = types.size() == 4 ? types[1] : Element::f16;
  site->b = types.size() == 4 ? types[2] : Element::f16;
  site->saturates = has("satfinite");
  site->is_xor = has("xor");
  if (site->saturates && site->d != Element::s32) return not_simulated();
  // ptxas makes the HMMA of mma m16n8k16 of f16 and bf16, but of tf32 two of k = 4, whose order is not known.
  if (site->a != Element::tf32) site->sum = sum_of(*site, false);
  fragment(0, false, site->d, site->m * site->n, false, site->d_refs);
  fragment(1, true, site->a, site->m * site->k, site->a == Element::f16, site->a_refs);
  fragment(2, true, site->b, site->k * site->n, site->b == Element::f16, site->b_refs);
  fragment(3, true, site->c, site->m * site->n, false, site->c_refs);
  emit_matrix("mma", std::move(site));
}

// wmma.load.{a,b,c}.sync.aligned.layout.shape{.space}.type r, [p]{, stride}; wmma.store.d ... [p], r{,
// stride}
void Decoder::wmma_move() {
  const MatrixWords words = words_of(*insn_, kWmmaShapes);
  const bool loads = insn_->words[1] == "load";
  if (!words.shape.m || words.elements.size() != 1 || words.is_column.size() != 1 ||
      insn_->words.size() < 3 || (!loads && insn_->words[1] != "store"))
    return not_simulated();
  auto site = std::make_unique<MatrixSite>();
  set_shape(*site, words.shape);
  site->d = words.elements[0];
  site->part = insn_->words[2] == "a" ? Part::a : insn_->words[2] == "b" ? Part::b : Part::accumulator;
  site->column_major = words.is_column[0];
  const uint32_t rows = site->rows(), columns = site->columns();
  const Address at = address(operand(loads ? 1 : 0), space_of(*insn_));
  if (at.kind != Address::lanes) return not_simulated();
  Operand dense;
  dense.value = site->column_major ? rows : columns;
  const uint32_t stride = operand_count() > 2 ? source(2, Type::u32) : constant_of(dense, Type::u32);
  fragment(loads ? 0 : 1, !loads, site->d, rows * columns,
           site->part != Part::accumulator && site->d == Element::f16, site->d_refs);
  Op &op = emit_matrix(loads ? "wmma.load" : "wmma.store", std::move(site));
  op.a = at.ref;
  op.b = stride;
  op.y = static_cast<uint32_t>(at.offset);
  op.x = static_cast<uint8_t>(at.space);
  if (at.narrow) op.flags |= kAddress32;
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
  Op &op = emit_matrix(name, std::move(site));
  op.a = at.ref;
  op.y = static_cast<uint32_t>(at.offset);
  if (at.narrow) op.flags |= kAddress32;
}

}  // namespace egpu::sim
