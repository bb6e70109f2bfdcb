// Operands of an instruction: names, registers, constants, addresses.
#include <bit>
#include <charconv>
#include <cstring>

#include "lib/sim/machine/decode.h"
#include "lib/sim/machine/narrow.h"
#include "lib/sim/machine/special.h"

namespace egpu::sim {

bool Decoder::has(std::string_view word) const {
  for (size_t i = 1; i < insn_->words.size(); ++i)
    if (insn_->words[i] == word) return true;
  return false;
}

const Operand &Decoder::operand(size_t i) {
  static const Operand kMissing{};
  if (i < insn_->operands.size()) return insn_->operands[i];
  fail("'" + std::string(insn_->text) + "' lacks operands");
  return kMissing;
}

uint8_t Decoder::mode_bits() const {
  uint8_t mode = 0;
  if (has("ftz")) mode |= kFtz;
  if (has("sat") || has("satfinite")) mode |= kSat;
  if (has("relu")) mode |= kRelu;
  if (has("NaN")) mode |= kNan;
  if (has("xorsign")) mode |= kXorSign;
  if (has("rz")) mode |= kRz;
  if (has("rm")) mode |= kRm;
  if (has("rp")) mode |= kRp;
  return mode;
}

Symbol Decoder::find(std::string_view name) {
  auto element = [](Symbol set, uint32_t index) {
    set.slot += index * (set.type == Type::pred ? 4 : register_bytes(set.type) * 32);
    set.count = 0;
    set.vector_size = 1;
    return set;
  };
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  uint32_t index = 0;
  std::from_chars(name.data() + digits, name.data() + name.size(), index);
  bool canonical = digits < name.size() && (name[digits] != '0' || digits + 1 == name.size());
  std::string_view base = name;
  uint32_t component = 0;
  if (name.size() > 2 && name[name.size() - 2] == '.') {
    size_t at = std::string_view("xyzw").find(name.back());
    if (at == std::string_view::npos) at = std::string_view("rgba").find(name.back());
    if (at != std::string_view::npos) {
      base = name.substr(0, name.size() - 2);
      component = static_cast<uint32_t>(at);
    }
  }
  for (size_t i = scopes_.size(); i-- > 0;) {
    const ScopeNames &scope = scopes_[i];
    if (auto found = scope.names.find(name); found != scope.names.end()) return found->second;
    if (canonical && !scope.sets.empty()) {
      // A prefix may itself end in digits (%r1<5> declares %r10): try every split.
      for (size_t split = name.size() - 1; split >= digits && split > 0; --split) {
        auto set = scope.sets.find(name.substr(0, split));
        if (set == scope.sets.end() || (name[split] == '0' && split + 1 != name.size())) continue;
        uint32_t at = 0;
        std::from_chars(name.data() + split, name.data() + name.size(), at);
        if (at < set->second.count) return element(set->second, at);
      }
    }
    if (base != name)
      if (auto found = scope.names.find(base);
          found != scope.names.end() && component < found->second.vector_size)
        return element(found->second, component);
  }
  auto found = module_.symbols.find(name);
  if (found == module_.symbols.end()) return {};
  Symbol symbol = found->second;
  if (symbol.kind == Symbol::shared && symbol.slot == kNone) {  // placed for this entry
    auto placed = entry_shared_.find(name);
    if (placed != entry_shared_.end()) return placed->second;
  }
  return symbol;
}

uint32_t Decoder::new_slot(Type type) {
  if (type == Type::pred) return new_predicate();
  out_.frame_bytes = (out_.frame_bytes + 63) & ~63u;
  uint32_t slot = out_.frame_bytes;
  out_.frame_bytes += register_bytes(type) * 32;
  return slot;
}

uint32_t Decoder::new_predicate() {
  uint32_t slot = out_.frame_bytes = (out_.frame_bytes + 3) & ~3u;
  out_.frame_bytes += 4;
  return slot;
}

uint32_t Decoder::constant(const void *lane, uint32_t bytes) {
  std::string key(static_cast<const char *>(lane), bytes);
  auto [at, added] = constants_.try_emplace(key, static_cast<uint32_t>(out_.constants.size()) | kConstantBit);
  if (added)
    for (int l = 0; l < 32; ++l)
      out_.constants.insert(out_.constants.end(), static_cast<const uint8_t *>(lane),
                            static_cast<const uint8_t *>(lane) + bytes);
  return at->second;
}

uint32_t Decoder::constant_of(const Operand &value, Type type) {
  uint64_t bits = static_cast<uint64_t>(value.value);
  if (value.kind == Operand::real) {
    double number = value.single ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                                 : std::bit_cast<double>(bits);
    uint32_t size = size_of(type);
    if (size == 8) {
      if (value.single) bits = std::bit_cast<uint64_t>(number);
    } else if (size == 4) {
      if (!value.single) bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    } else if (type == Type::bf16) {
      bits = narrow_float(number, kBf16, 0, false);
    } else if (size == 2) {
      bits = narrow_float(number, kF16, 0, false);
    }
  } else if (type == Type::f32) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(value.value));
  } else if (type == Type::f64) {
    bits = std::bit_cast<uint64_t>(static_cast<double>(value.value));
  }
  if (type == Type::pred) {
    uint32_t mask = bits ? 0xFFFFFFFFu : 0;
    return constant(&mask, 4);
  }
  if (type == Type::s8) bits = static_cast<uint64_t>(static_cast<int8_t>(bits));
  if (type == Type::u8 || type == Type::b8) bits = static_cast<uint8_t>(bits);
  uint64_t wide[2] = {bits, value.kind == Operand::integer && value.value < 0 ? ~uint64_t{0} : 0};
  return constant(wide, register_bytes(type));
}

uint32_t Decoder::symbol_address(const Symbol &symbol, int64_t offset, Type type) {
  uint32_t size = register_bytes(type);
  if (size != 4 && size != 8) {
    fail("an address does not fit into ." + std::string(type_row(type).name));
    return 0;
  }
  Type word = size == 4 ? Type::u32 : Type::u64;
  Operand value;
  switch (symbol.kind) {
    case Symbol::memory:
    case Symbol::code:
      value.value = static_cast<int64_t>(symbol.address) + offset;
      return constant_of(value, word);
    case Symbol::shared:
      value.value = symbol.slot + offset;
      return constant_of(value, word);
    case Symbol::dynamic_shared:
    case Symbol::frame:
    case Symbol::kernel_param: {
      std::string key = symbol.kind == Symbol::frame          ? "address.frame"
                        : symbol.kind == Symbol::kernel_param ? "address.param"
                                                              : "address.dynamic";
      uint32_t slot = new_slot(word);
      Op &op = emit_hidden(key + (size == 4 ? ".4" : ".8"));
      op.d = slot;
      op.imm = (symbol.kind == Symbol::dynamic_shared ? 0 : symbol.slot) + offset;
      op.y = symbol.kind == Symbol::dynamic_shared ? symbol.slot : 0;  // alignment
      return slot;
    }
    default:
      fail("not an address");
      return 0;
  }
}

uint32_t Decoder::special_register(std::string_view name, Type type) {
  Special special = find_special(name);
  if (special == Special::count) return kNone;
  uint32_t size = register_bytes(type);
  if (size < 2 || size > 8) {
    fail("'" + std::string(name) + "' does not fit the type");
    return kNone;
  }
  uint32_t slot = new_slot(type);
  Op &op = emit_hidden("special." + std::to_string(size));
  op.d = slot;
  op.x = static_cast<uint8_t>(special);
  return slot;
}

uint32_t Decoder::source(const Operand &value, Type type) {
  if (value.kind == Operand::integer || value.kind == Operand::real) return constant_of(value, type);
  if (value.kind != Operand::symbol) {
    fail("'" + std::string(insn_->text) + "': unexpected operand");
    return 0;
  }
  Symbol symbol = find(value.name);
  if (symbol.kind == Symbol::reg) {
    if (value.value != 0) fail("offset on register '" + std::string(value.name) + "'");
    if ((symbol.type == Type::pred) != (type == Type::pred)) {
      fail("'" + std::string(insn_->text) + "': wrong type of operand '" + std::string(value.name) + "'");
      return 0;
    }
    if (type == Type::pred) return symbol.slot;
    uint32_t have = register_bytes(symbol.type), want = register_bytes(type);
    if (have == want) return symbol.slot;
    if (have < want) {
      fail("'" + std::string(insn_->text) + "': operand '" + std::string(value.name) + "' is too narrow");
      return 0;
    }
    uint32_t slot = new_slot(type);
    Op &op = emit_hidden("resize." + std::to_string(have) + ".u" + std::to_string(want));
    op.d = slot;
    op.a = symbol.slot;
    return slot;
  }
  if (symbol.kind != Symbol::none) return symbol_address(symbol, value.value, type);
  if (value.name == "WARP_SZ") {
    Operand size;
    size.value = 32 + value.value;
    return constant_of(size, type);
  }
  uint32_t slot = special_register(value.name, type);
  if (slot == kNone) {
    fail("unknown symbol '" + std::string(value.name) + "'");
    return 0;
  }
  return slot;
}

uint32_t Decoder::register_slot(const Operand &value, Type *type) {
  Symbol symbol = value.kind == Operand::symbol ? find(value.name) : Symbol{};
  if (symbol.kind != Symbol::reg) {
    fail(value.kind == Operand::symbol && symbol.kind == Symbol::none
             ? "unknown symbol '" + std::string(value.name) + "'"
             : "'" + std::string(insn_->text) + "': expected a register");
    *type = Type::b32;
    return 0;
  }
  *type = symbol.type;
  return symbol.slot;
}

uint32_t Decoder::destination(const Operand &value, Type type) {
  if (value.kind == Operand::symbol && value.name == "_") return new_slot(type);
  Type have_type;
  uint32_t slot = register_slot(value, &have_type);
  if ((have_type == Type::pred) != (type == Type::pred)) {
    fail("'" + std::string(insn_->text) + "': wrong type of operand '" + std::string(value.name) + "'");
    return 0;
  }
  if (type == Type::pred) return slot;
  uint32_t have = register_bytes(have_type), want = register_bytes(type);
  if (have == want) return slot;
  if (have < want) {
    fail("'" + std::string(insn_->text) + "': operand '" + std::string(value.name) + "' is too narrow");
    return 0;
  }
  uint32_t temporary = new_slot(type);
  extends_.push_back({temporary, slot, type, have_type});
  return temporary;
}

uint32_t Decoder::predicate_source(const Operand &value, bool *negated) {
  *negated = value.negated;
  return source(value, Type::pred);
}

uint32_t Decoder::predicate_destination(std::string_view name) {
  if (name.empty() || name == "_") return kNone;
  Operand value;
  value.kind = Operand::symbol;
  value.name = name;
  return destination(value, Type::pred);
}

uint32_t Decoder::add_list(const std::vector<uint32_t> &refs) {
  uint32_t at = static_cast<uint32_t>(out_.lists.size());
  out_.lists.insert(out_.lists.end(), refs.begin(), refs.end());
  return at;
}

Address Decoder::address(const Operand &value, Space space) {
  Address out;
  out.space = space;
  const Operand *base = &value;
  if (value.kind == Operand::address) {
    if (value.elements.size() != 1) {
      fail("'" + std::string(insn_->text) + "': unsupported address");
      return out;
    }
    base = &value.elements[0];
  }
  if (base->kind == Operand::integer) {
    out.ref = constant_of(*base, Type::u64);
    return out;
  }
  Symbol symbol = base->kind == Operand::symbol ? find(base->name) : Symbol{};
  switch (symbol.kind) {
    case Symbol::reg: {
      uint32_t size = register_bytes(symbol.type);
      if (size != 4 && size != 8) fail("'" + std::string(base->name) + "' cannot hold an address");
      out.ref = symbol.slot;
      out.narrow = size == 4;
      out.offset = base->value;
      return out;
    }
    case Symbol::memory:
    case Symbol::code:
      out.ref = symbol_address(symbol, 0, Type::u64);
      out.offset = base->value;
      if (space == Space::generic) out.space = symbol.space;
      return out;
    case Symbol::shared:
    case Symbol::dynamic_shared:
      out.ref = symbol_address(symbol, 0, Type::u64);
      out.offset = base->value;
      out.space = Space::shared;
      return out;
    case Symbol::frame:
      out.kind = Address::frame;
      out.space = Space::local;
      out.offset = symbol.slot + base->value;
      return out;
    case Symbol::kernel_param:
      out.kind = Address::kernel_param;
      out.space = Space::param;
      out.offset = symbol.slot + base->value;
      return out;
    default:
      fail(base->kind == Operand::symbol ? "unknown symbol '" + std::string(base->name) + "'"
                                         : "unsupported address");
      return out;
  }
}

}  // namespace egpu::sim
