// Loads, stores, atomics, asynchronous copies. Cache operators, eviction hints, scopes and
// orders change nothing here: the host's memory model is stronger than the GPU's, and fences
// are host fences. Source: PTX ISA 9.0, 9.7.9, 9.7.13.
#include "lib/sim/machine/decode.h"

namespace egpu::sim {

Space space_of(const Instruction &insn) {
  for (size_t i = 1; i < insn.words.size(); ++i) {
    std::string_view word = insn.words[i].substr(0, insn.words[i].find("::"));
    if (word == "global") return Space::global;
    if (word == "const") return Space::constant;
    if (word == "shared") return Space::shared;
    if (word == "local") return Space::local;
    if (word == "param") return Space::param;
  }
  return Space::generic;
}

namespace {
std::string space_key(const Address &address) {
  if (address.kind == Address::frame) return "frame";
  if (address.kind == Address::kernel_param) return "param";
  switch (address.space) {
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::generic:
      return "generic";
    default:
      return "global";  // constants and parameters by address are host memory too
  }
}

uint8_t vector_of(const Instruction &insn) {
  for (std::string_view word : insn.words) {
    if (word == "v2") return 2;
    if (word == "v4") return 4;
    if (word == "v8") return 8;
  }
  return 1;
}

bool may_spin(const Instruction &insn) {
  for (std::string_view word : insn.words)
    if (word == "volatile" || word == "relaxed" || word == "acquire" || word == "cas" || word == "exch" ||
        word == "mmio")
      return true;
  return false;
}
}  // namespace

std::string atomic_suffix(std::string_view operation, Type type) {
  const bool is_typed = is_float(type) || operation == "min" || operation == "max";
  return is_typed ? std::string(type_row(type).name) : "b" + std::to_string(8 * size_of(type));
}

void Decoder::load() {
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  Address from = address(operand(1), space_of(*insn_));
  uint8_t n = vector_of(*insn_);
  uint32_t bytes = size_of(type);
  const Operand &d = operand(0);
  std::vector<uint32_t> refs;
  Type register_type = type;
  auto add = [&](const Operand &value) {
    if (value.name == "_") {
      refs.push_back(kNone);
      return;
    }
    Type have;
    refs.push_back(register_slot(value, &have));
    register_type = have;
  };
  if (n > 1) {
    if (d.kind != Operand::vector || d.elements.size() != n)
      return fail("'" + std::string(insn_->text) + "': expected a vector");
    for (const Operand &value : d.elements) add(value);
  } else {
    add(d);
  }
  if (register_bytes(register_type) < bytes || register_type == Type::pred)
    return fail("'" + std::string(insn_->text) + "': the register is too narrow");
  if (from.kind == Address::kernel_param &&
      (from.offset < 0 || from.offset + int64_t{bytes} * n > out_.info.parameter_bytes))
    return fail("'" + std::string(insn_->text) + "': outside the parameters");
  std::string key = "ld." + space_key(from) + (is_signed(type) ? ".s" : ".u") + std::to_string(8 * bytes) +
                    "." + std::to_string(register_bytes(register_type));
  uint32_t list = n > 1 ? add_list(refs) : kNone;
  Op &op = emit(key);
  op.d = n > 1 ? kNone : refs[0];
  op.a = from.ref;
  op.e = list;
  op.imm = from.offset;
  op.n = n;
  op.x = static_cast<uint8_t>(from.space);
  if (from.narrow) op.flags |= kAddress32;
  if (may_spin(*insn_)) op.flags |= kSpins;
  if (n == 1 && refs[0] == kNone) op.d = new_slot(register_type);
}

void Decoder::store() {
  if (has("bulk")) return store_bulk();
  if (types_.empty() || insn_->words[0] != "st") return not_simulated();
  Type type = types_.back();
  Address to = address(operand(0), space_of(*insn_));
  uint8_t n = vector_of(*insn_);
  const Operand &a = operand(1);
  std::vector<uint32_t> refs;
  uint32_t width = register_bytes(type);
  auto width_of = [&](const Operand &value) {
    Symbol symbol = value.kind == Operand::symbol ? find(value.name) : Symbol{};
    return symbol.kind == Symbol::reg ? register_bytes(symbol.type) : 0u;
  };
  // A register wider than the type: its low bits are stored. All elements alike.
  auto add = [&](const Operand &value) {
    uint32_t have = width_of(value);
    if (have && have < width) return fail("'" + std::string(insn_->text) + "': the register is too narrow");
    refs.push_back(source(value, type));
  };
  if (n > 1) {
    if (a.kind != Operand::vector || a.elements.size() != n)
      return fail("'" + std::string(insn_->text) + "': expected a vector");
    for (const Operand &value : a.elements) add(value);
  } else {
    uint32_t have = width_of(a);
    if (have > width) {  // no need for a hidden copy
      Type ignored;
      refs.push_back(register_slot(a, &ignored));
      width = have;
    } else {
      add(a);
    }
  }
  if (refs.empty()) return;
  std::string key = "st." + space_key(to) + "." + std::to_string(size_of(type)) + "." + std::to_string(width);
  uint32_t list = n > 1 ? add_list(refs) : kNone;
  Op &op = emit(key);
  op.b = n > 1 ? kNone : refs[0];
  op.a = to.ref;
  op.e = list;
  op.imm = to.offset;
  op.n = n;
  op.x = static_cast<uint8_t>(to.space);
  if (to.narrow) op.flags |= kAddress32;
  if (has("mbarrier::complete_tx::bytes")) complete_bytes(2, n * size_of(type));  // st.async
}

void Decoder::atomic() {
  bool returns = insn_->words[0] == "atom";
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  std::string what;
  for (std::string_view word : {"add", "and", "or", "xor", "exch", "cas", "min", "max", "inc", "dec"})
    if (has(word)) what = word;
  size_t at = returns ? 1 : 0;
  Address target = address(operand(at), space_of(*insn_));
  if (target.kind != Address::lanes) return not_simulated();
  const std::string suffix = atomic_suffix(what, type);
  auto element = [&](const Operand *d_operand, const Operand &b_operand, uint8_t index) {
    uint32_t b = source(b_operand, type), c = what == "cas" ? source(at + 2, type) : kNone;
    uint32_t d = d_operand && d_operand->name != "_" ? destination(*d_operand, type) : kNone;
    Op &op = emit("atom." + what + "." + suffix);
    op.d = d;
    op.a = target.ref;
    op.b = b;
    op.c = c;
    op.imm = target.offset + int64_t{index} * size_of(type);
    op.x = static_cast<uint8_t>(target.space);
    if (target.narrow) op.flags |= kAddress32;
    if (may_spin(*insn_)) op.flags |= kSpins;
    if (index) op.flags |= kHidden;
  };
  uint8_t n = vector_of(*insn_);
  if (n == 1) {
    element(returns ? &operand(0) : nullptr, operand(at + 1), 0);
    if (has("mbarrier::complete_tx::bytes")) complete_bytes(2, size_of(type));  // red.async
    return;
  }
  // PTX ISA 9.0, 9.7.13.6 "atom": of a vector, each element is atomic by itself.
  const std::vector<Operand> &b = operand(at + 1).elements;
  if (b.size() != n || (returns && operand(0).elements.size() != n))
    return fail("'" + std::string(insn_->text) + "': expected a vector");
  for (uint8_t i = 0; i < n; ++i) element(returns ? &operand(0).elements[i] : nullptr, b[i], i);
}

// cp.async.ca.shared.global [to], [from], 16{, source_size}: done at once.
void Decoder::cp_async() {
  if (has("mbarrier")) return mbarrier();
  if (has("bulk")) return bulk();
  if (has("commit_group") || has("wait_group") || has("wait_all")) {
    emit("nothing");
    return;
  }
  Address to = address(operand(0), Space::shared), from = address(operand(1), Space::global);
  if (to.kind != Address::lanes || from.kind != Address::lanes) return not_simulated();
  uint32_t c = kNone;
  if (operand_count() > 3) {
    const Operand &size = operand(3);
    Symbol symbol = size.kind == Operand::symbol ? find(size.name) : Symbol{};
    if (symbol.kind == Symbol::reg && symbol.type == Type::pred) return not_simulated();
    c = source(size, Type::u32);
  }
  int64_t size = operand(2).value;
  Op &op = emit("cp.async");
  op.a = to.ref;
  op.imm = to.offset;
  op.b = from.ref;
  op.y = static_cast<uint32_t>(from.offset);
  op.c = c;
  op.n = static_cast<uint8_t>(size);
  op.x = static_cast<uint8_t>((to.narrow ? 1 : 0) | (from.narrow ? 2 : 0));
}

// A cache policy: some number, since caches are not simulated.
void Decoder::create_policy() {
  uint32_t d = destination(0, Type::b64);
  Op &op = emit("mov.8");
  op.d = d;
  op.a = constant_of(Operand{}, Type::b64);
}

// Hints, and fences.
void Decoder::no_effect() {
  std::string_view name = insn_->words[0];
  emit(name == "fence" || name == "membar" ? "fence" : "nothing");
}

}  // namespace egpu::sim
