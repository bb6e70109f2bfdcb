// Branches, calls, barriers and the operations that lanes of a warp do together.
// Source: PTX ISA 9.0, 9.7.12, 9.7.13, 7.1 (the call ABI).
#include "lib/sim/machine/calls.h"
#include "lib/sim/machine/decode.h"

namespace egpu::sim {

void Decoder::branch() {
  if (operand(0).kind != Operand::symbol) return not_simulated();
  uint32_t target = label(operand(0).name);
  emit("bra");
  flow_.back() = {Flow::branch, guard_ != kNone, {target}};
}

// brx.idx index, targets;
void Decoder::branch_indexed() {
  auto found = targets_.find(operand(1).name);
  if (found == targets_.end()) return fail("unknown branch targets '" + std::string(operand(1).name) + "'");
  std::vector<uint32_t> labels;
  for (std::string_view name : found->second) labels.push_back(label(name));
  uint32_t index = source(0, Type::u32), list = add_list(labels);
  label_lists_.emplace_back(list, static_cast<uint32_t>(labels.size()));
  Op &op = emit("brx");
  op.a = index;
  op.e = list;
  op.imm = static_cast<int64_t>(labels.size());
  flow_.back() = {Flow::branch, guard_ != kNone, labels};
}

// call [(results),] target [, (arguments)] [, prototype or targets];
void Decoder::call() {
  auto &operands = insn_->operands;
  size_t at = 0;
  const Operand *results = nullptr, *arguments = nullptr;
  if (operands.size() > 1 && operands[0].kind == Operand::vector) results = &operands[at++];
  const Operand &target = operand(at++);
  if (at < operands.size() && operands[at].kind == Operand::vector) arguments = &operands[at++];
  auto site = std::make_unique<CallSite>();
  auto add = [&](const Operand *list, std::vector<Slot> &slots, std::vector<uint32_t> &registers) {
    if (!list) return;
    for (const Operand &value : list->elements) {
      Symbol symbol = value.kind == Operand::symbol ? find(value.name) : Symbol{};
      if (symbol.kind == Symbol::frame) {
        slots.push_back({symbol.slot, static_cast<uint32_t>(symbol.size_bytes)});
        registers.push_back(kNone);
      } else if (symbol.kind == Symbol::reg && symbol.type != Type::pred) {
        slots.push_back({0, register_bytes(symbol.type)});
        registers.push_back(symbol.slot);
      } else {
        fail("call: bad parameter '" + std::string(value.name) + "'");
      }
    }
  };
  add(results, site->results, site->result_registers);
  add(arguments, site->arguments, site->argument_registers);
  Symbol symbol = target.kind == Operand::symbol ? find(target.name) : Symbol{};
  std::string key = "call";
  if (symbol.kind == Symbol::code) {
    site->target = symbol.function;
    if (site->target->ops.empty() && !module_.heads.count(target.name))
      return fail("unresolved extern function '" + std::string(target.name) + "'");
    if (site->target->parameters.size() != site->arguments.size() && !site->target->parameters.empty())
      return fail("call of '" + std::string(target.name) + "': wrong number of arguments");
    out_.callees.push_back(site->target);
  } else if (symbol.kind == Symbol::reg) {
    site->pointer = source(target, Type::u64);
    out_.calls_indirectly = true;
    key = "call.indirect";
  } else if (find_builtin(target.name)) {
    site->builtin = find_builtin(target.name);
    key = "call.builtin";
  } else {
    return fail("unresolved extern function '" + std::string(target.name) + "'");
  }
  Op &op = emit(key);
  op.imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(site.get()));
  out_.calls.push_back(std::move(site));
  isolating_.push_back(static_cast<uint32_t>(out_.ops.size() - 1));
}

void Decoder::leave() {
  emit(insn_->words[0] == "ret" && !out_.is_entry ? "ret" : "exit");
  flow_.back() = {Flow::leave, guard_ != kNone, {}};
}

void Decoder::halt() { emit(insn_->words[0] == "trap" ? "trap" : "nothing"); }

// alloca, stacksave, stackrestore
void Decoder::allocate() {
  std::string_view name = insn_->words[0];
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  if (register_bytes(type) < 4) return not_simulated();
  std::string size = register_bytes(type) == 4 ? ".4" : ".8";
  if (name == "alloca") {
    uint32_t a = source(1, type), d = destination(0, type);
    int64_t align = operand_count() > 2 ? operand(2).value : 8;
    Op &op = emit("alloca" + size);
    op.d = d;
    op.a = a;
    op.imm = align < 8 ? 8 : align;
  } else if (name == "stacksave") {
    uint32_t d = destination(0, type);
    emit("stacksave" + size).d = d;
  } else {
    uint32_t a = source(0, type);
    emit("stackrestore" + size).a = a;
  }
}

void Decoder::barrier() {
  if (has("warp")) return together();
  if (has("cluster")) {
    emit(has("wait") ? "cluster.wait" : "cluster.arrive");
    isolating_.push_back(static_cast<uint32_t>(out_.ops.size() - 1));
    return;
  }
  bool arrives = has("arrive"), reduces = has("red");
  if (!arrives && !reduces && !has("sync")) return not_simulated();
  size_t at = reduces ? 1 : 0, count = operand_count();
  uint32_t a = source(at, Type::u32), b = kNone, c = kNone, d = kNone;
  bool negated = false;
  uint8_t kind = arrives ? 1 : 0;
  if (reduces) {
    kind = has("popc") ? 2 : has("and") ? 3 : 4;
    if (count > 3) b = source(2, Type::u32);
    c = predicate_source(operand(count - 1), &negated);
    d = destination(0, kind == 2 ? Type::u32 : Type::pred);
  } else if (count > 1) {
    b = source(1, Type::u32);
  }
  Op &op = emit("bar");
  op.a = a;
  op.b = b;
  op.c = c;
  op.d = d;
  op.x = kind;
  if (negated) op.flags |= kSourceNegated;
  isolating_.push_back(static_cast<uint32_t>(out_.ops.size() - 1));
}

void Decoder::together() {
  std::string name(insn_->words[0]), key = name;
  bool sync = has("sync");
  size_t count = operand_count();
  uint32_t a = kNone, b = kNone, c = kNone, d = kNone, e = kNone, members = kNone;
  bool negated = false;
  int modifiers = 0;
  auto member_mask = [&](size_t i) { return sync && i < count ? source(i, Type::u32) : kNone; };
  if (name == "activemask") {
    d = destination(0, Type::u32);
  } else if (name == "bar" || name == "barrier") {
    key = "warp.sync";
    members = source(0, Type::u32);
  } else if (name == "elect") {
    members = source(1, Type::u32);
    const Operand &target = operand(0);
    d = target.name == "_" ? kNone : destination(target, Type::u32);
    e = predicate_destination(target.second);
  } else if (name == "shfl") {
    for (std::string_view mode : {"up", "down", "bfly", "idx"})
      if (has(mode)) key += "." + std::string(mode);
    a = source(1, Type::b32);
    b = source(2, Type::u32);
    c = source(3, Type::u32);
    members = member_mask(4);
    const Operand &target = operand(0);
    d = target.name == "_" ? new_slot(Type::b32) : destination(target, Type::b32);
    e = predicate_destination(target.second);
  } else if (name == "vote") {
    for (std::string_view mode : {"all", "any", "uni", "ballot"})
      if (has(mode)) key += "." + std::string(mode);
    a = predicate_source(operand(1), &negated);
    members = member_mask(2);
    d = destination(0, has("ballot") ? Type::u32 : Type::pred);
  } else if (name == "match") {
    Type type = types_.empty() ? Type::b32 : types_.back();
    key += std::string(has("all") ? ".all" : ".any") + (size_of(type) == 8 ? ".8" : ".4");
    a = source(1, type);
    members = member_mask(2);
    const Operand &target = operand(0);
    d = target.name == "_" ? new_slot(Type::b32) : destination(target, Type::b32);
    e = predicate_destination(target.second);
  } else if (name == "redux") {
    Type type = types_.empty() ? Type::u32 : types_.back();
    for (std::string_view word : {"add", "min", "max", "and", "or", "xor"})
      if (has(word)) key += "." + std::string(word);
    if (has("min") || has("max")) key += "." + std::string(type_row(type).name);
    if (is_float(type)) modifiers = mode_bits() | (has("abs") ? kAbs : 0);
    a = source(1, type);
    members = member_mask(2);
    d = destination(0, type);
  }
  Op &op = emit(key);
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  op.e = e;
  op.y = members;
  op.mode = static_cast<uint8_t>(modifiers);
  if (negated) op.flags |= kSourceNegated;
  isolating_.push_back(static_cast<uint32_t>(out_.ops.size() - 1));
}

// mapa{.shared::cluster}.type d, a, rank; getctarank{.shared::cluster}.type d, a
void Decoder::mapa() {
  if (types_.empty()) return not_simulated();
  Type type = types_.back();
  bool maps = insn_->words[0] == "mapa";
  uint32_t a = source(1, type), b = maps ? source(2, Type::u32) : kNone;
  uint32_t d = destination(0, maps ? type : Type::u32);
  Op &op = emit((maps ? "mapa." : "getctarank.") + std::to_string(register_bytes(type)));
  op.d = d;
  op.a = a;
  op.b = b;
}

Decoder::Family Decoder::family(std::string_view opcode) {
  using D = Decoder;
  static const std::unordered_map<std::string_view, Family> kFamilies = {
      {"add", &D::arithmetic},
      {"sub", &D::arithmetic},
      {"addc", &D::arithmetic},
      {"subc", &D::arithmetic},
      {"div", &D::arithmetic},
      {"rem", &D::arithmetic},
      {"min", &D::arithmetic},
      {"max", &D::arithmetic},
      {"abs", &D::arithmetic},
      {"neg", &D::arithmetic},
      {"sad", &D::arithmetic},
      {"mul", &D::multiply},
      {"mad", &D::multiply},
      {"fma", &D::multiply},
      {"madc", &D::multiply},
      {"mul24", &D::multiply},
      {"mad24", &D::multiply},
      {"and", &D::logic},
      {"or", &D::logic},
      {"xor", &D::logic},
      {"not", &D::logic},
      {"cnot", &D::logic},
      {"lop3", &D::logic},
      {"shl", &D::shift},
      {"shr", &D::shift},
      {"shf", &D::shift},
      {"bfe", &D::bits},
      {"bfi", &D::bits},
      {"bfind", &D::bits},
      {"brev", &D::bits},
      {"popc", &D::bits},
      {"clz", &D::bits},
      {"fns", &D::bits},
      {"szext", &D::bits},
      {"prmt", &D::bits},
      {"bmsk", &D::bits},
      {"dp4a", &D::packed_dot},
      {"dp2a", &D::packed_dot},
      {"sqrt", &D::float_function},
      {"rcp", &D::float_function},
      {"rsqrt", &D::float_function},
      {"sin", &D::float_function},
      {"cos", &D::float_function},
      {"lg2", &D::float_function},
      {"ex2", &D::float_function},
      {"tanh", &D::float_function},
      {"copysign", &D::float_function},
      {"testp", &D::float_function},
      {"setp", &D::compare},
      {"set", &D::set},
      {"selp", &D::select},
      {"slct", &D::slct},
      {"mov", &D::move},
      {"cvt", &D::convert},
      {"cvta", &D::cvta},
      {"isspacep", &D::isspacep},
      {"ld", &D::load},
      {"ldu", &D::load},
      {"st", &D::store},
      {"atom", &D::atomic},
      {"red", &D::atomic},
      {"cp", &D::cp_async},
      {"prefetch", &D::no_effect},
      {"prefetchu", &D::no_effect},
      {"applypriority", &D::no_effect},
      {"discard", &D::no_effect},
      {"fence", &D::no_effect},
      {"membar", &D::no_effect},
      {"pmevent", &D::no_effect},
      {"createpolicy", &D::create_policy},
      {"setmaxnreg", &D::no_effect},
      {"griddepcontrol", &D::no_effect},
      {"nanosleep", &D::pause},
      {"mbarrier", &D::mbarrier},
      {"mapa", &D::mapa},
      {"getctarank", &D::mapa},
      {"vadd", &D::video},
      {"vsub", &D::video},
      {"vabsdiff", &D::video},
      {"vmin", &D::video},
      {"vmax", &D::video},
      {"vshl", &D::video},
      {"vshr", &D::video},
      {"vmad", &D::video},
      {"vset", &D::video},
      {"vadd2", &D::video},
      {"vsub2", &D::video},
      {"vavrg2", &D::video},
      {"vabsdiff2", &D::video},
      {"vmin2", &D::video},
      {"vmax2", &D::video},
      {"vset2", &D::video},
      {"vadd4", &D::video},
      {"vsub4", &D::video},
      {"vavrg4", &D::video},
      {"vabsdiff4", &D::video},
      {"vmin4", &D::video},
      {"vmax4", &D::video},
      {"vset4", &D::video},
      {"mma", &D::mma},
      {"wmma", &D::wmma},
      {"ldmatrix", &D::ldmatrix},
      {"stmatrix", &D::ldmatrix},
      {"movmatrix", &D::ldmatrix},
      {"shfl", &D::together},
      {"vote", &D::together},
      {"match", &D::together},
      {"redux", &D::together},
      {"activemask", &D::together},
      {"elect", &D::together},
      {"bar", &D::barrier},
      {"barrier", &D::barrier},
      {"bra", &D::branch},
      {"brx", &D::branch_indexed},
      {"call", &D::call},
      {"ret", &D::leave},
      {"exit", &D::leave},
      {"trap", &D::halt},
      {"brkpt", &D::halt},
      {"alloca", &D::allocate},
      {"stacksave", &D::allocate},
      {"stackrestore", &D::allocate},
  };
  auto found = kFamilies.find(opcode);
  return found == kFamilies.end() ? nullptr : found->second;
}

void Decoder::pause() {
  uint32_t a = source(0, Type::u32);
  Op &op = emit("nanosleep");
  op.a = a;
  op.flags |= kSpins;
}

}  // namespace egpu::sim
