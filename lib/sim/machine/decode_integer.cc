// Integer arithmetic, logic, shifts and bit fields. Source: PTX ISA 9.0, 9.7.1, 9.7.2, 9.7.8.
#include "lib/sim/machine/decode.h"

namespace egpu::sim {
namespace {
std::string name_of(Type type) { return std::string(type_row(type).name); }
std::string width_of(Type type) { return std::to_string(8 * size_of(type)); }
// Signed and unsigned alike.
std::string untyped(Type type) { return ".b" + width_of(type); }
std::string typed(Type type) {
  return "." + std::string(type_row(type).kind == 'b' ? "u" + width_of(type) : name_of(type));
}
Type wider(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}
}  // namespace

Op &Decoder::simple(const std::string &key, Type destination_type, std::initializer_list<Type> source_types) {
  uint32_t refs[4] = {kNone, kNone, kNone, kNone};
  size_t i = 1;
  for (Type type : source_types) {
    refs[i - 1] = source(i, type);
    ++i;
  }
  uint32_t d = destination(operand(0), destination_type);
  Op &op = emit(key);
  op.d = d;
  op.a = refs[0];
  op.b = refs[1];
  op.c = refs[2];
  op.e = refs[3];
  op.mode = mode_bits();
  return op;
}

void Decoder::arithmetic() {
  std::string name(insn_->words[0]);
  bool packed = has("u16x2") || has("s16x2");
  if (packed) {
    std::string key = name + (name == "add" ? ".16x2" : has("s16x2") ? ".s16x2" : ".u16x2");
    if (has("relu")) key += ".relu";
    simple(key, Type::b32, {Type::b32, Type::b32});
    return;
  }
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  if (is_float(type)) return float_arithmetic(type);
  if (has("cc") || name == "addc" || name == "subc") return carry();
  if (name == "abs" || name == "neg") {
    simple(name + "." + name_of(type), type, {type});
    return;
  }
  std::string key = name;
  if (name == "add" || name == "sub")
    key += has("sat") ? ".sat.s32" : untyped(type);
  else
    key += typed(type) + (has("relu") ? ".relu" : "");
  if (name == "sad")
    simple(key, type, {type, type, type});
  else
    simple(key, type, {type, type});
}

void Decoder::multiply() {
  std::string name(insn_->words[0]);
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  if (is_float(type)) return float_arithmetic(type);
  if (has("cc") || name == "madc") return carry();
  bool adds = name.starts_with("mad"), wide = has("wide");
  std::string key = name + (wide ? ".wide" : has("hi") ? ".hi" : ".lo");
  bool low = key == "mul.lo" || key == "mad.lo";
  key += has("sat") ? ".sat" : "";
  key += low ? untyped(type) : typed(type);
  Type result = wide ? wider(type) : type;
  if (adds)
    simple(key, result, {type, type, result});
  else
    simple(key, result, {type, type});
}

// add.cc, addc, sub.cc, subc, mad.cc, madc: the condition code is one bit a lane.
void Decoder::carry() {
  std::string name(insn_->words[0]);
  Type type = types_.empty() ? Type::u32 : types_.back();
  if (carry_slot_ == kNone) carry_slot_ = new_predicate();
  bool in = name.back() == 'c', out = has("cc");
  std::string base = in ? name.substr(0, name.size() - 1) : name;
  bool product = base == "mad";
  std::string key =
      "carry." + base + (product ? (has("hi") ? ".hi" + typed(type) : ".lo" + untyped(type)) : untyped(type));
  Op &op = product ? simple(key, type, {type, type, type}) : simple(key, type, {type, type});
  op.e = carry_slot_;
  op.x = static_cast<uint8_t>((in ? 1 : 0) | (out ? 2 : 0));
}

void Decoder::logic() {
  std::string name(insn_->words[0]);
  if (name == "lop3") {
    bool boolean = has("and") || has("or");
    uint32_t a = source(1, Type::b32), b = source(2, Type::b32), c = source(3, Type::b32);
    const Operand &d = operand(0);
    bool negated = false;
    uint32_t q = boolean ? predicate_source(operand(5), &negated) : kNone;
    uint32_t slot = d.name == "_" ? new_slot(Type::b32) : destination(d, Type::b32);
    uint32_t p = boolean ? predicate_destination(d.second) : kNone;
    uint32_t table = static_cast<uint32_t>(operand(4).value);
    Op &op = emit("lop3.b32");
    op.d = slot;
    op.a = a;
    op.b = b;
    op.c = c;
    op.e = p;
    op.x = static_cast<uint8_t>(table);
    if (boolean) {  // x: table, n: 1 and, 2 or; imm: q
      op.n = has("and") ? 2 : 3;
      op.imm = q;
      if (negated) op.flags |= kSourceNegated;
    }
    return;
  }
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  if (type == Type::pred) {
    bool na = false, nb = false;
    uint32_t a = predicate_source(operand(1), &na), b = kNone;
    if (name != "not") b = predicate_source(operand(2), &nb);
    uint32_t d = destination(operand(0), Type::pred);
    Op &op = emit(name + ".pred");
    op.d = d;
    op.a = a;
    op.b = b;
    op.x = static_cast<uint8_t>((na ? 1 : 0) | (nb ? 2 : 0));
    return;
  }
  if (name == "not" || name == "cnot")
    simple(name + untyped(type), type, {type});
  else
    simple(name + untyped(type), type, {type, type});
}

void Decoder::shift() {
  std::string name(insn_->words[0]);
  if (name == "shf") {
    simple(std::string("shf") + (has("l") ? ".l" : ".r") + (has("clamp") ? ".clamp" : ".wrap"), Type::b32,
           {Type::b32, Type::b32, Type::b32});
    return;
  }
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  simple(name + (name == "shl" ? untyped(type) : typed(type)), type, {type, Type::u32});
}

void Decoder::bits() {
  std::string name(insn_->words[0]);
  if (name == "bmsk") {
    simple(has("clamp") ? "bmsk.clamp" : "bmsk.wrap", Type::b32, {Type::b32, Type::b32});
    return;
  }
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  if (name == "bfe")
    simple(name + typed(type), type, {type, Type::u32, Type::u32});
  else if (name == "bfi")
    simple(name + untyped(type), type, {type, type, Type::u32, Type::u32});
  else if (name == "bfind")
    simple(name + (has("shiftamt") ? ".shiftamt" : "") + typed(type), Type::u32, {type});
  else if (name == "brev")
    simple(name + untyped(type), type, {type});
  else if (name == "popc" || name == "clz")
    simple(name + untyped(type), Type::u32, {type});
  else if (name == "fns")
    simple("fns", Type::b32, {Type::b32, Type::b32, Type::s32});
  else if (name == "szext")
    simple(std::string("szext") + (has("clamp") ? ".clamp" : ".wrap") + typed(type), type, {type, Type::u32});
  else if (name == "prmt") {
    std::string mode;
    for (std::string_view m : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
      if (has(m)) mode = "." + std::string(m);
    simple("prmt" + mode, Type::b32, {Type::b32, Type::b32, Type::b32});
  }
}

// dp4a.atype.btype d, a, b, c; dp2a.lo|hi.atype.btype
void Decoder::packed_dot() {
  if (types_.size() != 2) return not_simulated();
  std::string key(insn_->words[0]);
  if (key == "dp2a") key += has("hi") ? ".hi" : ".lo";
  key += "." + name_of(types_[0]) + "." + name_of(types_[1]);
  simple(key, Type::b32, {Type::b32, Type::b32, Type::b32});
}

}  // namespace egpu::sim
