#include "lib/sim/machine/decode.h"

#include <algorithm>

namespace egpu::sim {

void Decoder::fail(const std::string &what) {
  if (error_.empty()) error_ = "ptx line " + std::to_string(line_) + ": " + what;
}

Op &Decoder::emit_hidden(std::string_view key) {
  Op op;
  op.run = find_handler(key);
  if (!op.run) {
    op.run = find_handler("not_simulated");
  }
  op.flags = kHidden;
  out_.ops.push_back(op);
  out_.sites.push_back({line_, file_, source_line_, insn_ ? insn_->text : std::string_view()});
  flow_.emplace_back();
  return out_.ops.back();
}

Op &Decoder::emit(std::string_view key) {
  Op &op = emit_hidden(key);
  op.flags = guard_negated_ ? kGuardNegated : 0;
  op.guard = guard_;
  return op;
}

void Decoder::not_simulated() {
  extends_.clear();
  emit("not_simulated");
}

uint32_t Decoder::label(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto &names = labels_[scopes_[i].id];
    if (auto found = names.find(name); found != names.end()) return found->second;
  }
  fail("unknown label '" + std::string(name) + "'");
  return 0;
}

// Labels may be used before they stand; scopes are numbered in the order of their braces.
void Decoder::collect_labels() {
  std::vector<uint32_t> open;
  uint32_t next = 0, next_label = 0;
  labels_.clear();
  for (const Statement &s : text_.body) {
    if (s.kind == Statement::open) {
      open.push_back(next++);
      labels_.emplace_back();
    } else if (s.kind == Statement::close) {
      open.pop_back();
    } else if (s.kind == Statement::targets) {
      targets_[s.name] = s.names;
    } else if (s.kind == Statement::label) {
      if (!labels_[open.back()].try_emplace(s.name, next_label++).second) {
        line_ = s.line;
        fail("label '" + std::string(s.name) + "' stands twice in one scope");
      }
    }
  }
  label_pc_.assign(next_label, 0);
}

static uint64_t element_bytes(const Declaration &decl) {
  return uint64_t{size_of(decl.type)} * decl.vector_size;
}

static uint32_t align_of(const Declaration &decl) {
  uint64_t natural = element_bytes(decl);
  return decl.align ? decl.align : static_cast<uint32_t>(natural ? natural : 1);
}

static uint32_t round_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

void Decoder::declare_parameters() {
  scopes_.emplace_back();
  auto add = [&](const Declaration &decl, std::vector<Slot> *slots, std::vector<uint32_t> *registers) {
    Symbol symbol;
    uint64_t size = element_bytes(decl) * decl.elements;
    if (size > (1u << 20)) {
      line_ = decl.line;
      fail("parameter '" + std::string(decl.name) + "' is too large");
      return;
    }
    symbol.size_bytes = size;
    symbol.type = decl.type;
    if (decl.is_register) {
      symbol.kind = Symbol::reg;
      symbol.slot = new_slot(decl.type);
      slots->push_back({0, register_bytes(decl.type)});
      registers->push_back(symbol.slot);
    } else if (out_.is_entry) {
      uint32_t align = align_of(decl);
      symbol.kind = Symbol::kernel_param;
      symbol.slot = round_up(out_.info.parameter_bytes, align);
      out_.info.parameters.push_back({symbol.slot, static_cast<uint32_t>(size), align});
      out_.info.parameter_bytes = symbol.slot + static_cast<uint32_t>(size);
    } else {
      symbol.kind = Symbol::frame;
      symbol.slot = local_bytes_ = round_up(local_bytes_, std::max(align_of(decl), 8u));
      local_bytes_ += static_cast<uint32_t>(size);
      slots->push_back({symbol.slot, static_cast<uint32_t>(size)});
      registers->push_back(kNone);
    }
    if (decl.name != "_") scopes_.back().names[decl.name] = symbol;
  };
  for (const Declaration &decl : text_.results) add(decl, &out_.results, &out_.result_registers);
  for (const Declaration &decl : text_.parameters) add(decl, &out_.parameters, &out_.parameter_registers);
}

void Decoder::declare(const Declaration &decl) {
  Symbol symbol;
  symbol.type = decl.type;
  symbol.vector_size = decl.vector_size;
  symbol.space = decl.space;
  symbol.size_bytes = element_bytes(decl) * decl.elements;
  auto &scope = scopes_.back();
  if (decl.is_register) {
    symbol.kind = Symbol::reg;
    uint32_t total = std::max(decl.count, 1u) * decl.vector_size;
    if (uint64_t{total} * std::max(register_bytes(decl.type), 1u) * 32 + out_.frame_bytes > (1u << 30)) {
      fail("too many registers");
      return;
    }
    symbol.slot = new_slot(decl.type);
    for (uint32_t i = 1; i < total; ++i) new_slot(decl.type);
    symbol.count = decl.count;
    if (decl.count)
      scope.sets[decl.name] = symbol;
    else
      scope.names[decl.name] = symbol;
    return;
  }
  if (symbol.size_bytes > (1u << 30)) {
    fail("variable '" + std::string(decl.name) + "' is too large");
    return;
  }
  uint32_t size = static_cast<uint32_t>(symbol.size_bytes);
  switch (decl.space) {
    case Space::local:
    case Space::param:
      symbol.kind = Symbol::frame;
      symbol.slot = local_bytes_ = round_up(local_bytes_, std::max(align_of(decl), 8u));
      local_bytes_ += size;
      break;
    case Space::shared:
      if (decl.elements == 0) {
        symbol.kind = Symbol::dynamic_shared;
        symbol.slot = align_of(decl);
      } else {
        uint32_t &used = out_.is_entry ? shared_bytes_ : module_.common_shared_bytes;
        symbol.kind = Symbol::shared;
        symbol.slot = used = round_up(used, align_of(decl));
        used += size;
      }
      break;
    default: {
      uint64_t address = module_.program->memory->allocate(std::max<uint64_t>(size, 1), decl.align);
      if (!decl.initial.empty()) fail("initialised variables inside functions are not supported");
      module_.program
          ->globals[text_.name.data() ? std::string(text_.name) + "." + std::string(decl.name) : ""] = {
          address, size, decl.space == Space::constant, false};
      symbol.kind = Symbol::memory;
      symbol.address = address;
    }
  }
  scope.names[decl.name] = symbol;
}

void Decoder::decode_instruction(const Instruction &insn) {
  insn_ = &insn;
  types_.clear();
  for (size_t i = 1; i < insn.words.size(); ++i)
    if (Type type = find_type(insn.words[i]); type != Type::none) types_.push_back(type);
  guard_ = kNone;
  guard_negated_ = insn.guard_negated;
  if (!insn.guard.empty()) {
    Operand guard;
    guard.kind = Operand::symbol;
    guard.name = insn.guard;
    guard_ = source(guard, Type::pred);
  }
  Family decode = family(insn.words[0]);
  if (decode)
    (this->*decode)();
  else
    not_simulated();
  // A result narrower than its register is extended as its type says.
  for (const Extend &extend : extends_) {
    bool sign = is_signed(extend.type);
    Op &op = emit("resize." + std::to_string(register_bytes(extend.type)) + (sign ? ".s" : ".u") +
                  std::to_string(register_bytes(extend.to_type)));
    op.flags |= kHidden;
    op.d = extend.to;
    op.a = extend.from;
  }
  extends_.clear();
}

bool Decoder::run() {
  collect_labels();
  declare_parameters();
  if (out_.is_entry) {
    shared_bytes_ = module_.common_shared_bytes;
    for (const Instruction &insn : text_.instructions) {  // module-level .shared that only entries use
      auto visit = [&](auto &self, const Operand &value) -> void {
        for (const Operand &element : value.elements) self(self, element);
        if (value.kind != Operand::symbol) return;
        auto found = module_.symbols.find(value.name);
        if (found == module_.symbols.end() || found->second.kind != Symbol::shared ||
            found->second.slot != kNone)
          return;
        if (entry_shared_.count(value.name)) return;
        Symbol symbol = found->second;
        symbol.slot = shared_bytes_ =
            round_up(shared_bytes_, std::max(symbol.count, 1u));  // count: alignment here
        symbol.count = 0;
        shared_bytes_ += static_cast<uint32_t>(symbol.size_bytes);
        entry_shared_[value.name] = symbol;
      };
      for (const Operand &value : insn.operands) visit(visit, value);
    }
  }
  uint32_t local_high = local_bytes_, label_at = 0;
  for (const Statement &s : text_.body) {
    line_ = s.line;
    switch (s.kind) {
      case Statement::open:
        scopes_.emplace_back();
        scopes_.back().id = scope_count_++;
        scopes_.back().local_bytes = local_bytes_;
        break;
      case Statement::close:
        local_bytes_ = scopes_.back().local_bytes;
        scopes_.pop_back();
        break;
      case Statement::declaration:
        declare(text_.declarations[s.index]);
        break;
      case Statement::label:
        label_pc_[label_at++] = static_cast<uint32_t>(out_.ops.size());
        break;
      case Statement::targets:
      case Statement::prototype:
        break;
      case Statement::location:
        file_ = s.file;
        source_line_ = s.source_line;
        break;
      case Statement::instruction:
        decode_instruction(text_.instructions[s.index]);
        break;
    }
    local_high = std::max(local_high, local_bytes_);
    if (!error_.empty()) return false;
  }
  local_bytes_ = local_high;
  finish();
  return error_.empty();
}

void Decoder::finish() {
  insn_ = nullptr;
  guard_ = kNone;
  guard_negated_ = false;
  emit("ret").flags |= kHidden;  // falling off the end
  flow_.back().kind = Flow::leave;
  for (auto [at, count] : label_lists_)
    for (uint32_t i = 0; i < count; ++i) out_.lists[at + i] = label_pc_[out_.lists[at + i]];
  for (size_t i = 0; i < flow_.size(); ++i) {
    for (uint32_t &target : flow_[i].targets) {
      target = label_pc_[target];
      out_.ops[target].flags |= kLeader;
    }
    if (flow_[i].kind == Flow::branch && flow_[i].targets.size() == 1 && out_.ops[i].e == kNone)
      out_.ops[i].imm = flow_[i].targets[0];
  }
  std::vector<uint32_t> joins = join_points(flow_);
  for (size_t i = 0; i < flow_.size(); ++i) {
    if (flow_[i].kind != Flow::branch) continue;
    out_.ops[i].y = joins[i];
    if (joins[i] != kNone) out_.ops[joins[i]].flags |= kLeader;
  }
  for (uint32_t i : isolating_) out_.ops[i + 1].flags |= kLeader;
  out_.local_bytes = round_up(local_bytes_, 16);
  out_.frame_bytes = round_up(out_.frame_bytes, 64);
  if (out_.is_entry) {
    out_.info.name = out_.name;
    out_.info.static_shared_bytes = shared_bytes_;
    std::copy(text_.cluster, text_.cluster + 3, out_.info.cluster.begin());
    if (text_.max_threads) out_.info.max_threads_per_block = std::min(text_.max_threads, 1024u);
  }
}

}  // namespace egpu::sim
