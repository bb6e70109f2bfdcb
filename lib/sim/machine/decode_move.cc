// Comparison, selection, moves, conversions and address conversions.
// Source: PTX ISA 9.0, 9.7.6, 9.7.7, 9.7.9.
#include "lib/sim/machine/decode.h"

namespace egpu::sim {
namespace {
constexpr std::string_view kComparisons[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                             "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

// "lt.u32": how compare_rows() calls this comparison; "" if there is none.
std::string comparison_key(std::string_view word, Type type) {
  std::string bits = std::to_string(8 * size_of(type));
  char kind = type_row(type).kind;
  if (kind == 'f') return std::string(word) + "." + std::string(type_row(type).name);
  if (word == "eq" || word == "ne") return std::string(word) + ".u" + bits;
  constexpr std::string_view kUnsigned[][2] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  for (auto &row : kUnsigned)
    if (word == row[0]) return std::string(row[1]) + ".u" + bits;
  return std::string(word) + (kind == 's' ? ".s" : ".u") + bits;
}
}  // namespace

void Decoder::compare() {
  std::string_view word;
  for (std::string_view c : kComparisons)
    if (insn_->words.size() > 1 && insn_->words[1] == c) word = c;
  if (word.empty() || types_.empty()) return not_simulated();
  Type type = types_.back();
  std::string key = "setp." + comparison_key(word, type);
  uint32_t a = source(1, type), b = source(2, type), c = kNone;
  bool negated = false;
  uint8_t n = has("and") ? 1 : has("or") ? 2 : has("xor") ? 3 : 0;
  if (n) c = predicate_source(operand(3), &negated);
  const Operand &d = operand(0);
  uint32_t p = predicate_destination(d.name), q = predicate_destination(d.second);
  uint8_t mode = mode_bits();
  Op &op = emit(key);
  op.d = p;
  op.e = q;
  op.a = a;
  op.b = b;
  op.c = c;
  op.n = n;
  op.mode = mode;
  if (negated) op.flags |= kSourceNegated;
}

// set.cmp[.bool].dtype.stype d, a, b[, c]
void Decoder::set() {
  std::string_view word;
  for (std::string_view c : kComparisons)
    if (insn_->words.size() > 1 && insn_->words[1] == c) word = c;
  if (word.empty() || types_.size() != 2) return not_simulated();
  Type result = types_[0], type = types_[1];
  if (type == Type::f16x2 || type == Type::bf16x2) {
    uint32_t a = source(1, type), b = source(2, type), d = destination(0, Type::b32);
    uint8_t mode = mode_bits();
    Op &op = emit("set." + comparison_key(word, type) + (is_float(result) ? ".f" : ".u"));
    op.d = d;
    op.a = a;
    op.b = b;
    op.mode = mode;
    return;
  }
  uint32_t a = source(1, type), b = source(2, type), c = kNone;
  bool negated = false;
  uint8_t n = has("and") ? 1 : has("or") ? 2 : has("xor") ? 3 : 0;
  if (n) c = predicate_source(operand(3), &negated);
  uint32_t d = destination(0, result), p = new_predicate();
  uint8_t mode = mode_bits();
  Op &compare_op = emit("setp." + comparison_key(word, type));
  compare_op.d = p;
  compare_op.a = a;
  compare_op.b = b;
  compare_op.c = c;
  compare_op.n = n;
  compare_op.mode = mode;
  if (negated) compare_op.flags |= kSourceNegated;
  Operand one;
  if (is_float(result)) {
    one.kind = Operand::real;
    one.single = true;
    one.value = 0x3F800000;
  } else {
    one.value = -1;
  }
  uint32_t yes = constant_of(one, result), no = constant_of(Operand{}, result);
  Op &op = emit("selp." + std::to_string(register_bytes(result)));
  op.flags |= kHidden;
  op.d = d;
  op.a = yes;
  op.b = no;
  op.c = p;
}

void Decoder::select() {
  if (types_.empty()) return not_simulated();
  Type type = types_[0];
  uint32_t a = source(1, type), b = source(2, type);
  bool negated = false;
  uint32_t c = predicate_source(operand(3), &negated), d = destination(0, type);
  Op &op = emit("selp." + std::to_string(register_bytes(type)));
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  if (negated) op.flags |= kSourceNegated;
}

void Decoder::slct() {
  if (types_.size() != 2) return not_simulated();
  simple("slct." + std::to_string(register_bytes(types_[0])) + "." + std::string(type_row(types_[1]).name),
         types_[0], {types_[0], types_[0], types_[1]});
}

void Decoder::move() {
  if (types_.empty() || operand_count() != 2) return not_simulated();
  Type type = types_[0];
  const Operand &d = operand(0), &a = operand(1);
  auto part = [&](size_t count) {
    uint32_t bytes = count ? size_of(type) / static_cast<uint32_t>(count) : 0;
    return bytes == 1 ? Type::b8 : bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
  };
  if (a.kind == Operand::vector || d.kind == Operand::vector) {
    const Operand &parts = a.kind == Operand::vector ? a : d;
    Type element = part(parts.elements.size());
    if (size_of(element) * parts.elements.size() != size_of(type)) return not_simulated();
    std::vector<uint32_t> refs;
    if (a.kind == Operand::vector) {
      for (const Operand &value : a.elements) refs.push_back(source(value, element));
      uint32_t slot = destination(d, type);
      Op &op = emit("pack." + std::to_string(size_of(element)) + "." + std::to_string(register_bytes(type)));
      op.d = slot;
      op.e = add_list(refs);
      op.n = static_cast<uint8_t>(refs.size());
    } else {
      uint32_t slot = source(a, type);
      for (const Operand &value : d.elements)
        refs.push_back(value.name == "_" ? kNone : destination(value, element));
      Op &op =
          emit("unpack." + std::to_string(size_of(element)) + "." + std::to_string(register_bytes(type)));
      op.a = slot;
      op.e = add_list(refs);
      op.n = static_cast<uint8_t>(refs.size());
    }
    return;
  }
  if (type == Type::pred) {
    bool negated = false;
    uint32_t slot = predicate_source(a, &negated), target = destination(d, type);
    Op &op = emit("mov.pred");
    op.d = target;
    op.a = slot;
    op.x = negated;
    return;
  }
  uint32_t slot = source(a, type), target = destination(d, type);
  Op &op = emit("mov." + std::to_string(register_bytes(type)));
  op.d = target;
  op.a = slot;
}

// cvt.pack.sat.dtype.s32[.b32] d, a, b[, c]
void Decoder::convert_packed() {
  std::string_view to;
  for (std::string_view word : {"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"})
    if (has(word)) to = word;
  if (to.empty() || !has("s32")) return not_simulated();
  uint32_t a = source(1, Type::s32), b = source(2, Type::s32);
  uint32_t c = has("b32") ? source(3, Type::b32) : kNone, d = destination(0, Type::b32);
  Op &op = emit("cvt.pack." + std::string(to));
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
}

void Decoder::convert() {
  if (has("pack")) return convert_packed();
  if (types_.size() != 2 || has("rs")) return not_simulated();  // rs: random bits, sm_100
  Type to = types_[0], from = types_[1];
  std::string key = "cvt." + std::string(type_row(to).name) + "." + std::string(type_row(from).name);
  uint8_t mode = mode_bits();
  bool integral = false;
  constexpr struct {
    std::string_view word;
    uint8_t bits;
  } kIntegral[] = {{"rni", 0}, {"rzi", kRz}, {"rmi", kRm}, {"rpi", kRp}};
  for (auto &row : kIntegral)
    if (has(row.word)) {
      integral = true;
      mode |= row.bits;
    }
  bool packs = (to == Type::f16x2 || to == Type::bf16x2 || to == Type::e4m3x2 || to == Type::e5m2x2) &&
               from == Type::f32;
  Type to_register = to == Type::e4m3x2 || to == Type::e5m2x2 ? Type::b16 : to;
  Type from_register = from == Type::e4m3x2 || from == Type::e5m2x2 ? Type::b16 : from;
  uint32_t a = source(1, from_register), b = packs ? source(2, from_register) : kNone;
  uint32_t d = destination(0, to_register);
  Op &op = emit(key);
  op.d = d;
  op.a = a;
  op.b = b;
  op.mode = mode;
  op.x = integral;
  op.n = has("rna") ? 2 : 1;
}

void Decoder::cvta() {
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  uint32_t size = register_bytes(type);
  bool shared = false, local = false;
  for (std::string_view word : insn_->words) {
    if (word.starts_with("shared")) shared = true;
    if (word == "local") local = true;
  }
  uint32_t a = source(1, type), d = destination(0, type);
  Op &op =
      emit(!shared && !local ? "mov." + std::to_string(size)
                             : std::string(has("to") ? "cvta.to." : "cvta.from.") + std::to_string(size));
  op.d = d;
  op.a = a;
  op.imm = shared ? 1 : 2;
}

void Decoder::isspacep() {
  Space space = Space::global;
  for (std::string_view word : insn_->words) {
    if (word.starts_with("shared")) space = Space::shared;
    if (word == "local") space = Space::local;
    if (word == "const") space = Space::constant;
    if (word.starts_with("param")) space = Space::param;
  }
  Type type = Type::u64;
  if (operand(1).kind == Operand::symbol && find(operand(1).name).kind == Symbol::reg)
    type = register_bytes(find(operand(1).name).type) == 4 ? Type::u32 : Type::u64;
  uint32_t a = source(1, type), d = destination(0, Type::pred);
  Op &op = emit(type == Type::u32 ? "isspacep.4" : "isspacep.8");
  op.d = d;
  op.a = a;
  op.x = static_cast<uint8_t>(space);
  if (has("shared::cluster")) op.n = 2;
}

}  // namespace egpu::sim
