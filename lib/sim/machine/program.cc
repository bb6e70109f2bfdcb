// A loaded module: variables placed and initialised, functions decoded.
#include "lib/sim/machine/program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "lib/sim/machine/decode.h"
#include "lib/sim/machine/narrow.h"

namespace egpu::sim {

Program::~Program() {
  if (memory)
    for (auto &[name, info] : globals) memory->free(info.address);
}

const KernelInfo *Program::find_kernel(const std::string &name) const {
  const Function *function = find_function(name);
  return function && function->is_entry ? &function->info : nullptr;
}

const GlobalInfo *Program::find_global(const std::string &name) const {
  auto found = globals.find(name);
  return found == globals.end() ? nullptr : &found->second;
}

std::vector<std::string> Program::kernel_names() const {
  std::vector<std::string> names;
  for (auto &function : functions)
    if (function->is_entry) names.push_back(function->name);
  return names;
}

const Function *Program::find_function(const std::string &name) const {
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Function *Program::function_at(uint64_t address) const {
  auto found = by_address.find(address);
  return found == by_address.end() ? nullptr : found->second;
}

namespace {

struct Builder {
  std::shared_ptr<Program> program;
  ModuleText text;
  ModuleScope scope;
  std::string error;

  bool fail(uint32_t line, const std::string &what) {
    if (error.empty()) error = "ptx line " + std::to_string(line) + ": " + what;
    return false;
  }

  // Definitions win over declarations of the same name.
  bool place_variables() {
    std::set<std::string_view> defined;
    for (const Declaration &decl : text.variables)
      if (!decl.is_extern) defined.insert(decl.name);
    for (const Declaration &decl : text.variables) {
      if (decl.is_extern && defined.count(decl.name)) continue;
      if (scope.symbols.count(decl.name)) {
        if (decl.is_extern || decl.is_weak) continue;
        return fail(decl.line, "variable '" + std::string(decl.name) + "' is defined twice");
      }
      Symbol symbol;
      symbol.type = decl.type;
      symbol.space = decl.space;
      uint32_t natural = size_of(decl.type) * decl.vector_size;
      symbol.size_bytes = uint64_t{natural} * decl.elements;
      uint32_t align = decl.align ? decl.align : std::max(natural, 1u);
      if (decl.space == Space::shared) {
        symbol.kind = decl.is_extern && decl.elements == 0 ? Symbol::dynamic_shared : Symbol::shared;
        symbol.slot = symbol.kind == Symbol::dynamic_shared ? align : kNone;
        symbol.count = align;
      } else if (decl.space == Space::global || decl.space == Space::constant) {
        if (decl.is_extern)
          return fail(decl.line, "unresolved extern variable '" + std::string(decl.name) + "'");
        if (symbol.size_bytes > (uint64_t{1} << 36))
          return fail(decl.line, "variable '" + std::string(decl.name) + "' is too large");
        uint64_t address = program->memory->allocate(std::max<uint64_t>(symbol.size_bytes, 1), align);
        if (!address) return fail(decl.line, "no memory for variable '" + std::string(decl.name) + "'");
        std::memset(reinterpret_cast<void *>(address), 0, std::max<uint64_t>(symbol.size_bytes, 1));
        program->globals[std::string(decl.name)] = {address, symbol.size_bytes, decl.space == Space::constant,
                                                    decl.is_managed};
        symbol.kind = Symbol::memory;
        symbol.address = address;
      } else {
        return fail(decl.line, "variable '" + std::string(decl.name) + "' cannot stand outside a function");
      }
      scope.symbols[decl.name] = symbol;
    }
    return true;
  }

  void declare_functions() {
    for (const FunctionText &head : text.functions) {
      if (!head.has_body) continue;
      if (program->by_name.count(head.name)) continue;  // weak copies
      auto function = std::make_unique<Function>();
      function->name = std::string(head.name);
      function->is_entry = head.is_entry;
      Symbol symbol;
      symbol.kind = Symbol::code;
      symbol.function = function.get();
      symbol.address = reinterpret_cast<uint64_t>(function.get());
      symbol.space = Space::global;
      scope.symbols[head.name] = symbol;
      scope.heads[head.name] = &head;
      program->by_name[function->name] = function.get();
      program->by_address[symbol.address] = function.get();
      program->functions.push_back(std::move(function));
    }
    for (auto [alias, target] : text.aliases)
      if (auto found = scope.symbols.find(target); found != scope.symbols.end()) {
        scope.symbols[alias] = found->second;
        scope.heads[alias] = scope.heads[target];
      }
  }

  bool initialize(const Declaration &decl) {
    auto found = scope.symbols.find(decl.name);
    if (decl.initial.empty() || found == scope.symbols.end() || found->second.kind != Symbol::memory)
      return true;
    uint32_t size = size_of(decl.type);
    if (decl.initial.size() * size > found->second.size_bytes)
      return fail(decl.line, "variable '" + std::string(decl.name) + "': too many values");
    uint8_t *at = reinterpret_cast<uint8_t *>(found->second.address);
    for (const Initializer &value : decl.initial) {
      uint64_t bits = static_cast<uint64_t>(value.value.value);
      if (value.value.kind == Operand::symbol) {
        auto symbol = scope.symbols.find(value.value.name);
        if (symbol == scope.symbols.end())
          return fail(decl.line, "unknown symbol '" + std::string(value.value.name) + "'");
        if (symbol->second.kind != Symbol::memory && symbol->second.kind != Symbol::code)
          return fail(decl.line, "'" + std::string(value.value.name) + "' has no address at load time");
        bits += symbol->second.address;
        if (value.byte_mask) bits = (bits & value.byte_mask) >> (std::countr_zero(value.byte_mask) & ~7);
      } else if (value.value.kind == Operand::real) {
        double number = value.value.single
                            ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                            : std::bit_cast<double>(bits);
        if (size == 8 && value.value.single) bits = std::bit_cast<uint64_t>(number);
        if (size == 4 && !value.value.single) bits = std::bit_cast<uint32_t>(static_cast<float>(number));
        if (size == 2) bits = narrow_float(number, decl.type == Type::bf16 ? kBf16 : kF16, 0, false);
      } else if (decl.type == Type::f32) {
        bits = std::bit_cast<uint32_t>(static_cast<float>(value.value.value));
      } else if (decl.type == Type::f64) {
        bits = std::bit_cast<uint64_t>(static_cast<double>(value.value.value));
      }
      std::memcpy(at, &bits, std::min(size, 8u));
      at += size;
    }
    return true;
  }

  // A shared variable that a .func uses must be at the same place for all of its callers.
  void place_common_shared() {
    for (const FunctionText &function : text.functions) {
      if (function.is_entry) continue;
      auto visit = [&](auto &self, const Operand &value) -> void {
        for (const Operand &element : value.elements) self(self, element);
        if (value.kind != Operand::symbol) return;
        auto found = scope.symbols.find(value.name);
        if (found == scope.symbols.end() || found->second.kind != Symbol::shared ||
            found->second.slot != kNone)
          return;
        Symbol &symbol = found->second;
        uint32_t align = std::max(symbol.count, 1u);
        symbol.slot = scope.common_shared_bytes = (scope.common_shared_bytes + align - 1) / align * align;
        scope.common_shared_bytes += static_cast<uint32_t>(symbol.size_bytes);
      };
      for (const Instruction &insn : function.instructions)
        for (const Operand &value : insn.operands) visit(visit, value);
    }
  }

  bool decode(bool entries) {
    for (auto &function : program->functions) {
      if (function->is_entry != entries) continue;
      Decoder decoder(scope, *scope.heads[function->name], *function);
      if (!decoder.run()) {
        error = decoder.error();
        return false;
      }
    }
    return true;
  }

  // Local bytes of the deepest call chain; recursion and pointers get a fixed stack.
  static uint64_t stack_bytes(const Function &function, std::vector<const Function *> &chain,
                              bool &unbounded) {
    if (std::find(chain.begin(), chain.end(), &function) != chain.end()) {
      unbounded = true;
      return 0;
    }
    unbounded |= function.calls_indirectly;
    if (unbounded || chain.size() > 64) {
      unbounded = true;
      return 0;
    }
    chain.push_back(&function);
    uint64_t deepest = 0;
    for (const Function *callee : function.callees)
      deepest = std::max(deepest, stack_bytes(*callee, chain, unbounded));
    chain.pop_back();
    return function.local_bytes + deepest;
  }

  void measure() {
    for (auto &function : program->functions) {
      if (!function->is_entry) continue;
      std::vector<const Function *> chain;
      bool unbounded = false;
      uint64_t bytes = stack_bytes(*function, chain, unbounded);
      for (const Op &op : function->ops)
        unbounded |= op.run == find_handler("alloca.8") || op.run == find_handler("alloca.4");
      constexpr uint64_t kRecursionStack = 64 * 1024;
      function->info.local_bytes =
          static_cast<uint32_t>(unbounded ? kRecursionStack + function->local_bytes : bytes);
      function->info.register_count = std::min(255u, 8 + function->frame_bytes / 128 / 8);
    }
  }
};
}  // namespace

Result<std::shared_ptr<Program>> build_program(const std::string &text, const DeviceConfig &config,
                                               std::shared_ptr<Memory> memory) {
  Builder builder;
  builder.program = std::make_shared<Program>();
  builder.program->text = text;
  builder.program->memory = std::move(memory);
  TRY(builder.text, parse(builder.program->text));
  builder.scope.program = builder.program.get();
  builder.scope.config = &config;
  for (auto [number, name] : builder.text.files) {
    if (number > 100000) continue;
    if (builder.program->files.size() <= number) builder.program->files.resize(number + 1);
    builder.program->files[number] = std::string(name);
  }
  bool ok = builder.place_variables();
  if (ok) builder.declare_functions();
  for (const Declaration &decl : builder.text.variables) ok = ok && builder.initialize(decl);
  if (ok) builder.place_common_shared();
  ok = ok && builder.decode(false) && builder.decode(true);
  if (!ok) return Error{builder.error};
  builder.measure();
  return builder.program;
}

}  // namespace egpu::sim
