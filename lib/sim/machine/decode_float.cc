// Floating-point instructions. Source: PTX ISA 9.0, 9.7.3, 9.7.4.
#include "lib/sim/machine/decode.h"

namespace egpu::sim {

// add sub mul fma mad div min max abs neg. Common forms have handlers of their own ("add.f32",
// "add.f32.ftz"); the others share one per operation that reads the mode ("add.f32.mode").
void Decoder::float_arithmetic(Type type) {
  std::string name(insn_->words[0]);
  if (name == "mad") name = "fma";
  if (has("f32x2") || has("oob")) return not_simulated();
  std::string key = name + "." + std::string(type_row(type).name);
  if (name == "div" && (has("approx") || has("full")))
    key = (has("full") ? "div.full." : "div.approx.") + std::string(type_row(type).name);
  uint8_t mode = mode_bits();
  if (mode == kFtz && type == Type::f32 && find_handler(key + ".ftz"))
    key += ".ftz";
  else if (mode)
    key += ".mode";
  size_t sources = name == "abs" || name == "neg" ? 1 : name == "fma" ? 3 : 2;
  if (operand_count() != sources + 1) return not_simulated();  // min and max of three: sm_100
  if (types_.size() > 1) return not_simulated();               // mixed precision: sm_100
  if (sources == 1)
    simple(key, type, {type});
  else if (sources == 2)
    simple(key, type, {type, type});
  else
    simple(key, type, {type, type, type});
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
