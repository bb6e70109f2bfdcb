// Floating-point instructions. Source: PTX ISA 9.0, 9.7.3 to 9.7.5.
#include "lib/sim/machine/decode.h"

namespace egpu::sim {

// add sub mul fma mad div min max abs neg. Common forms have handlers of their own ("add.f32",
// "add.f32.ftz"); the others share one per operation that reads the mode ("add.f32.mode").
void Decoder::float_arithmetic(Type type) {
  std::string name(insn_->words[0]);
  if (name == "mad") name = "fma";
  if (types_.size() == 2) return mixed_precision(name, type);
  if (has("oob")) name += ".oob";
  std::string key = name + "." + std::string(type_row(type).name);
  if (name == "div" && (has("approx") || has("full")))
    key = (has("full") ? "div.full." : "div.approx.") + std::string(type_row(type).name);
  uint8_t mode = mode_bits();
  if (mode == kFtz && type == Type::f32 && find_handler(key + ".ftz"))
    key += ".ftz";
  else if (mode)
    key += ".mode";
  size_t sources = name == "abs" || name == "neg" ? 1 : name.starts_with("fma") ? 3 : 2;
  if ((name == "min" || name == "max") && operand_count() == 4) {
    Op &op = simple(name + "3." + std::string(type_row(type).name), type, {type, type, type});
    if (has("abs")) op.mode |= kAbs;
    return;
  }
  if (sources == 1)
    simple(key, type, {type});
  else if (sources == 2)
    simple(key, type, {type, type});
  else
    simple(key, type, {type, type, type});
}

// add sub fma .f32.f16|bf16: all operands but the last are halves. Widening them is exact, so what follows is
// the instruction of f32.
void Decoder::mixed_precision(const std::string &name, Type half) {
  if (types_[0] != Type::f32 || (half != Type::f16 && half != Type::bf16)) return not_simulated();
  const size_t sources = name == "fma" ? 3 : 2;
  uint32_t refs[3] = {kNone, kNone, kNone};
  for (size_t i = 0; i + 1 < sources; ++i) {
    const uint32_t from = source(i + 1, half);
    refs[i] = new_slot(Type::f32);
    Op &widen = emit_hidden("cvt.f32." + std::string(type_row(half).name));
    widen.d = refs[i];
    widen.a = from;
  }
  refs[sources - 1] = source(sources, Type::f32);
  const uint32_t d = destination(0, Type::f32);
  Op &op = emit(name + (mode_bits() ? ".f32.mode" : ".f32"));
  op.d = d;
  op.a = refs[0];
  op.b = refs[1];
  op.c = refs[2];
  op.mode = mode_bits();
}

void Decoder::float_function() {
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  std::string name(insn_->words[0]), suffix = "." + std::string(type_row(type).name);
  if (name == "testp") {
    std::string key = name;
    for (std::string_view word : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
      if (has(word)) key += "." + std::string(word);
    simple(key + suffix, Type::pred, {type});
    return;
  }
  if (name == "copysign") {
    simple(name + suffix, type, {type, type});
    return;
  }
  if (name == "rcp" || name == "sqrt") {
    if (!has("approx") && mode_bits())
      suffix += ".mode";
    else if (has("approx"))
      suffix = ".approx" + suffix;
    simple(name + suffix, type, {type});
    return;
  }
  simple(name + suffix, type, {type});  // rsqrt sin cos lg2 ex2 tanh: approximations
}

}  // namespace egpu::sim
